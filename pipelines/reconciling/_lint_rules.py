"""The rules of the linter by name, and what one of them says about a file.

Which rule a file breaks is found in the modules beside this one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

import polars as pl

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: what breaks it, how bad that is, and what to do about it."""

    id: str
    severity: Severity
    """error: the official check refuses it, or two published files contradict each other; warning: a reviewer would
    ask; info: it is read as it stands."""
    meaning: str
    advice: str


_RULES = (
    Rule("log.no_event", "error", "The file holds no log event.", "Log through mllog; lines begin with :::MLLOG."),
    Rule(
        "log.broken_line",
        "error",
        "A log event does not parse, and one such line rejects the run.",
        "Restore the line from the original log, or run again; do not edit it by hand.",
    ),
    Rule("log.key_missing", "error", "A key that the ruleset asks for is not logged.", "Log the key."),
    Rule(
        "log.key_repeated",
        "error",
        "A key that may stand once stands more often.",
        "Log it from one rank only; of two run_start or run_stop events keep the run that they belong to.",
    ),
    Rule(
        "log.value", "error", "The value of a key is not one that the rules know.", "Log the value that was expected."
    ),
    Rule(
        "log.order",
        "error",
        "run_stop comes before run_start.",
        "Look whether two logs were joined or the clock was set; run again.",
    ),
    Rule(
        "log.init_over_limit",
        "error",
        "Initialisation, from the first init_start to init_stop, is over the limit.",
        "Shorten what is done before init_stop; only the data may be touched after it.",
    ),
    Rule(
        "log.non_converged",
        "error",
        "The run stopped without success.",
        "Nothing, where the rule allows as many non-converged runs; else run again.",
    ),
    Rule(
        "log.target_not_met",
        "error",
        "The run says success, but no evaluation meets the target.",
        "Check the target of the training script against the rules of the round.",
    ),
    Rule(
        "log.not_finite",
        "warning",
        "An event holds NaN or infinity, which JSON does not have.",
        "Look for a division by zero or an overflow; log null instead.",
    ),
    Rule(
        "log.carriage_return",
        "info",
        "Lines end in a carriage return and a newline.",
        "Convert the file (sed -i 's/\\r$//'); a reader that is strict about lines may refuse it.",
    ),
    Rule(
        "log.last_line",
        "info",
        "The last line does not end, so the file may have been cut.",
        "Compare its length with the original.",
    ),
    Rule(
        "log.benchmark",
        "error",
        "The log is of another benchmark than its folder.",
        "Move the log, or correct submission_benchmark.",
    ),
    Rule(
        "log.division",
        "error",
        "The log and the system description name different divisions.",
        "Correct the one that is wrong.",
    ),
    Rule(
        "log.rank_missing",
        "warning",
        "Not every rank logged: the events are neither one, one a node, nor one an accelerator.",
        "Look for the rank that did not start, or for lines lost when logs were merged.",
    ),
    Rule(
        "log.seed",
        "error",
        "The seed is missing, no whole number, or that of another run.",
        "Draw a seed for each run.",
    ),
    Rule("result.run_count", "error", "The result has not as many runs as the rule asks for.", "Add or remove runs."),
    Rule(
        "result.too_few_counted",
        "error",
        "More runs do not count than the olympic drop allows.",
        "Run again those that do not count.",
    ),
    Rule(
        "result.batch_differs",
        "error",
        "The runs of one result log different global batch sizes.",
        "Run all with one batch size; the RCP check refuses several.",
    ),
    Rule(
        "result.benchmark_unknown",
        "error",
        "The round does not have this benchmark.",
        "Check the folder's name, or choose the round with --ruleset.",
    ),
    Rule(
        "result.no_description",
        "error",
        "The system of the result is not described.",
        "Add SUBMITTER/systems/SYSTEM.json; its name is that of the results folder.",
    ),
    Rule(
        "launch.batch",
        "error",
        "The launch files contradict the logged batch.",
        "Publish the configuration that was run, and what its command line overrode.",
    ),
    Rule(
        "launch.log_unresolved",
        "warning",
        "The logs name none of the configurations here, or several that are called alike.",
        "Publish the file that config_filename names, under a name that no other file of the benchmark has.",
    ),
    Rule(
        "launch.logs_disagree",
        "warning",
        "The logs of one result name different configurations.",
        "Run all with one configuration; log its name as config_filename in each.",
    ),
    Rule(
        "system.unreadable",
        "error",
        "The description is no JSON object; official tools cannot read it.",
        "Make it a JSON object; a JSON linter shows where.",
    ),
    Rule("system.field_missing", "error", "A required field is not there.", "Add the field; it may be blank."),
    Rule(
        "system.field_repeated",
        "warning",
        "A field stands twice in one object; the last value wins in silence.",
        "Remove one.",
    ),
    Rule(
        "system.status",
        "error",
        "The status is not one of those that the rules know.",
        "Use one of the expected texts.",
    ),
    Rule(
        "system.value",
        "warning",
        "The value cannot be read.",
        "Write it as expected: one figure with its unit, or a whole number.",
    ),
    Rule(
        "system.count_name", "error", "A number in the name contradicts the counts.", "Correct the counts or the name."
    ),
    Rule(
        "system.part_name",
        "error",
        "The name states another accelerator.",
        "Correct accelerator_model_name or the name.",
    ),
    Rule(
        "system.memory_part",
        "error",
        "The accelerator memory is not that of the part.",
        "Correct accelerator_memory_capacity; nvidia-smi and rocm-smi print it.",
    ),
    Rule(
        "system.links_part",
        "error",
        "The accelerator interconnect is not that of the part.",
        "Correct accelerator_interconnect: generation, links and rate.",
    ),
    Rule(
        "system.no_result",
        "warning",
        "The described system has no result.",
        "Remove the description, or add the result.",
    ),
    Rule(
        "factor.unreadable",
        "error",
        "scaling.json is no JSON object with a factor.",
        "Delete it; the RCP checker writes it.",
    ),
    Rule(
        "layout.outside",
        "warning",
        "The file lies outside the layout, and no official tool reads it.",
        "Remove it, or move it where it belongs.",
    ),
)

RULES: dict[str, Rule] = {rule.id: rule for rule in _RULES}
"""Every rule by its name, in the order in which they are listed."""

NOT_CHECKED = (
    "the values of hyper-parameters (only that their keys are there)",
    "convergence against the RCPs (rackrecon score does)",
    "power logs",
    "the source code",
    "that the runs are those of the described system",
)
"""What the linter does not look at, so that nobody takes its silence for a pass."""


@dataclass(frozen=True, slots=True)
class Remark:
    """One file that breaks one rule."""

    rule: str
    file: str
    line: int | None = None
    detail: str = ""
    """What is special about this case, a sentence or nothing."""
    expected: str | None = None
    found: str | None = None
    severity: Severity | None = None
    """Where it is not the rule's own."""


def remark_frame(remarks: list[Remark]) -> pl.DataFrame:
    """Return remarks as rows, errors first, then by file and line.

    Returns:
        `severity, rule, file, line, explanation, advice, expected, found`.
    """
    rows = [_row(remark) for remark in dict.fromkeys(remarks)]
    names = ("severity", "rule", "file", "line", "explanation", "advice", "expected", "found")
    schema: dict[str, type[pl.DataType]] = dict.fromkeys(names, pl.String) | {"line": pl.Int64}
    order = pl.col("severity").replace_strict({"error": 0, "warning": 1, "info": 2}, return_dtype=pl.Int8)
    return pl.DataFrame(rows, schema=schema, orient="row").sort(order, "file", "line", "rule", maintain_order=True)


def _row(remark: Remark) -> dict[str, object]:
    rule = RULES[remark.rule]
    return asdict(remark) | {
        "severity": remark.severity or rule.severity,
        "explanation": " ".join(filter(None, (rule.meaning, remark.detail))),
        "advice": rule.advice,
    }
