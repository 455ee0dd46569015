"""What a reviewer would stop in the files of a submission: each with file, line, rule and what to do.

What a log or a description breaks is found in the private modules beside this one; which rules there are is listed in
`_lint_rules`. Nothing is scored here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from pipelines.parsing.log_keys import LogKeys
from pipelines.parsing.published import ParseFinding
from pipelines.reconciling._lint_logs import Log, ResultOfLogs, lint_log, lint_seeds, qualities_by_log
from pipelines.reconciling._lint_rules import NOT_CHECKED, RULES, Remark, Rule, remark_frame
from pipelines.reconciling._lint_systems import lint_system, part_facts
from pipelines.scoring.rules import Rules
from pipelines.scoring.rulesets import with_renamed_benchmarks

__all__ = ["NOT_CHECKED", "RULES", "LintedLogs", "LintedTree", "Rule", "lint"]

_SYSTEM = ("submitter_folder", "system")
_OF_CHECKER = frozenset({"package_checker_params"})
"""Names of files beside results that no parser here reads and the official package checker does."""
_OF_PARSER = {
    "system.broken_json": "system.unreadable",
    "system.mended_json": "system.unreadable",
    "system.no_object": "system.unreadable",
    "system.duplicate_key": "system.field_repeated",
    "system.unreadable_count": "system.value",
    "system.unreadable_memory": "system.value",
    "system.unknown_accelerator": "system.value",
    "scaling.unreadable": "factor.unreadable",
    "scaling.mended_json": "factor.unreadable",
}
"""Rule that a finding of a parser breaks; other findings of parsers are no matter of the rules."""
_NAMED_LAUNCH = frozenset({"launch.log_unresolved", "launch.logs_disagree"})
"""Findings about the configurations that logs name, each a rule of the same name."""


@dataclass(frozen=True, slots=True)
class LintedLogs:
    """The logs of one tree that fall under one ruleset: frames of `core` tables, `round` being the ruleset's."""

    ruleset: str
    runs: pl.DataFrame
    evals: pl.DataFrame
    launches: pl.DataFrame
    keys: Mapping[str, LogKeys]
    """Keys of each log, by its path."""
    launch_findings: Sequence[ParseFinding] = ()
    """What could not be read or resolved of the launches."""


@dataclass(frozen=True, slots=True)
class LintedTree:
    """One working tree: its logs, its descriptions, and what no parser reads."""

    logs: Sequence[LintedLogs]
    systems: pl.DataFrame
    """Frame of `core.systems`."""
    fields: Mapping[str, Mapping[str, int]]
    """Line of each field of each description, by its path."""
    ruleset: str | None
    """Round whose rules the descriptions fall under."""
    findings: Sequence[ParseFinding] = ()
    """Of descriptions and factors."""
    outside: Sequence[str] = field(default=())
    """Paths of files of a result or a system that no parser reads."""


def lint(tree: LintedTree, rules: Rules, facts: pl.DataFrame) -> pl.DataFrame:
    """Return what breaks a rule.

    As in the official check, what makes a run not count is a warning where the result has all its runs and no more of
    them fail than the olympic drop allows.

    Args:
        tree: what was read.
        rules: the rules of the rounds.
        facts: `core.spec_facts` of the parts that descriptions can name.

    Returns:
        `severity, rule, file, line, explanation, advice, expected, found`, errors first; `file` is a path inside the
        tree.
    """
    remarks = [remark for logs in tree.logs for remark in _lint_logs(logs, tree.systems, rules)]
    parts = part_facts(facts)
    for system in tree.systems.iter_rows(named=True):
        remarks += lint_system(system, tree.fields.get(system["source_path"], {}), tree.ruleset, parts)
    remarks += _systems_without_results(tree)
    remarks += _of_parsers(tree)
    remarks += [Remark("layout.outside", path) for path in tree.outside if path.rpartition("/")[2] not in _OF_CHECKER]
    return remark_frame(remarks)


def _lint_logs(logs: LintedLogs, systems: pl.DataFrame, rules: Rules) -> Iterator[Remark]:
    rules = with_renamed_benchmarks(rules, logs.ruleset)
    described = {tuple(row[name] for name in _SYSTEM): row for row in systems.iter_rows(named=True)}
    qualities = qualities_by_log(logs.evals)
    limits = rules.rounds.filter(round=logs.ruleset)
    init_limit_ms = {
        division: limits[f"init_limit_{division}_ms"][0] for division in ("closed", "open") if limits.height
    }
    for (result_id,), rows in logs.runs.sort("source_path").group_by("result_id", maintain_order=True):
        runs = rows.rows(named=True)
        first = runs[0]
        result = ResultOfLogs(
            ruleset=logs.ruleset,
            benchmark=rules.aliases.get(first["benchmark"], first["benchmark"]),
            logs=[Log(run, logs.keys[run["source_path"]], qualities.get(run["source_path"], ())) for run in runs],
            system=described.get((first["submitter_folder"], first["system"])),
            init_limit_ms=init_limit_ms,
        )
        yield from _lint_result(str(result_id), result, first, rules)
    yield from _launches(logs.launches)
    yield from _named_launches(logs)


def _lint_result(result_id: str, result: ResultOfLogs, first: Mapping[str, Any], rules: Rules) -> Iterator[Remark]:
    folder = first["source_path"].rpartition("/")[0]
    rule = rules.benchmarks.filter(round=result.ruleset, benchmark=result.benchmark, scaling_mode=first["scaling_mode"])
    if result.system is None:
        described = f"{first['submitter_folder']}/systems/{first['system']}.json"
        yield Remark("result.no_description", folder, expected=described)
    if rule.is_empty():
        expected = f"a benchmark of {result.ruleset}"
        yield Remark("result.benchmark_unknown", folder, expected=expected, found=result.benchmark)
    batches = {log.run["global_batch_size"] for log in result.logs} - {None}
    if len(batches) > 1:
        found = ", ".join(str(batch) for batch in sorted(batches))
        yield Remark("result.batch_differs", folder, expected="one", found=found)
    by_log = [list(lint_log(log, result)) for log in result.logs]
    failed = sum(any(_severity(remark) == "error" for remark in remarks) for remarks in by_log)
    required, drop = rule.select("required_run_count", "olympic_drop").row(0) if rule.height else (None, 0)
    is_weak = first["scaling_mode"] == "weak"
    is_complete = required is not None and (len(by_log) >= required if is_weak else len(by_log) == required)
    if required is not None and not is_complete:
        expected = f"at least {required}" if is_weak else str(required)
        yield Remark("result.run_count", folder, expected=expected, found=str(len(by_log)))
    is_forgiven = is_complete and not is_weak and failed <= drop
    if is_complete and not is_weak and failed > drop:
        yield Remark("result.too_few_counted", folder, expected=f"at most {drop} that fail", found=str(failed))
    for remarks in by_log:
        yield from (_forgiven(remark) if is_forgiven else remark for remark in remarks)
    yield from lint_seeds(result)


def _severity(remark: Remark) -> str:
    return remark.severity or RULES[remark.rule].severity


def _forgiven(remark: Remark) -> Remark:
    if _severity(remark) != "error":
        return remark
    detail = " ".join(filter(None, (remark.detail, "The rule forgives this run: it is dropped as the slowest.")))
    return replace(remark, detail=detail, severity="warning")


def _launches(launches: pl.DataFrame) -> Iterator[Remark]:
    for row in launches.filter(batch_check="contradicted").iter_rows(named=True):
        factors = (row["micro_batch"], row["data_parallel"], row["gradient_accumulation_steps"])
        if None in factors:
            expected = f"{row['minibatch_per_replica']} per replica x {row['data_parallel']} replicas"
        else:
            product = factors[0] * factors[1] * factors[2]
            expected = "micro-batch {} x {} replicas x {:g} accumulated = {:g}".format(*factors, product)
        detail = f"It is the launch of {row['system']}/{row['benchmark']}."
        yield Remark(
            "launch.batch", row["source_path"], None, detail, expected, f"{row['global_batch_size']} in the logs"
        )


def _named_launches(logs: LintedLogs) -> Iterator[Remark]:
    for finding in logs.launch_findings:
        if finding.kind in _NAMED_LAUNCH:
            path, detail = finding.source_path, f"It is the launch of {finding.place}."
            use = logs.keys[path].keys.get("config_filename")
            yield Remark(finding.kind, path, use.line if use else None, detail, finding.expected, finding.found)


def _systems_without_results(tree: LintedTree) -> Iterator[Remark]:
    """Give the described systems without a result, where their submitter has others here."""
    with_results: dict[str, set[str]] = defaultdict(set)
    for logs in tree.logs:
        for submitter, system in logs.runs.select(_SYSTEM).unique().iter_rows():
            with_results[submitter].add(system)
    for submitter, system, path in tree.systems.select(*_SYSTEM, "source_path").iter_rows():
        if submitter in with_results and system not in with_results[submitter]:
            yield Remark("system.no_result", path)


def _of_parsers(tree: LintedTree) -> Iterator[Remark]:
    for finding in tree.findings:
        rule = _OF_PARSER.get(finding.kind)
        if rule is not None:
            detail = f"It is {finding.place}." if finding.place else ""
            line = tree.fields.get(finding.source_path, {}).get(finding.place)
            yield Remark(rule, finding.source_path, line, detail, finding.expected, finding.found)
