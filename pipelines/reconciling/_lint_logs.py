"""What in the logs of one result breaks a rule.

The rules themselves are listed in `_lint_rules`; which of a result's failures are forgiven is decided in `lint`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from pipelines.parsing.log_keys import LogKeys
from pipelines.reconciling._lint_rules import Remark
from pipelines.scoring.submission_rules import asks_for_seeds, quality_targets, required_keys

_MARKS = frozenset({"run_start", "run_stop", "init_stop"})
"""Keys whose repetition leaves open which run the log is of, even where their values are the same."""
_RANK_KEYS = ("init_start", "cache_clear")
_MOST_BROKEN_LINES = 20


@dataclass(frozen=True, slots=True)
class Log:
    """One log: its row of `core.runs`, its keys, its evaluations."""

    run: Mapping[str, Any]
    keys: LogKeys
    qualities: tuple[tuple[str | None, float], ...]
    """Metric and value of each evaluation result."""


@dataclass(frozen=True, slots=True)
class ResultOfLogs:
    """The logs of one result and what they are held against."""

    ruleset: str
    benchmark: str
    """As the round names it."""
    logs: Sequence[Log]
    system: Mapping[str, Any] | None
    """Row of `core.systems`."""
    init_limit_ms: Mapping[str, int]
    """Of each division."""


def lint_log(log: Log, result: ResultOfLogs) -> Iterator[Remark]:
    """Give what one log breaks by itself."""
    file = log.run["source_path"]
    yield from _lint_text(log, file)
    if log.run["event_count"] == 0:
        yield Remark("log.no_event", file)
        return
    division = _division(log, result)
    yield from _lint_keys(log, result, division)
    yield from _lint_values(log, result)
    yield from _lint_times(log, result, division)
    yield from _lint_convergence(log, result, division)
    yield from _lint_ranks(log, result)


def _division(log: Log, result: ResultOfLogs) -> str:
    described = result.system["division"] if result.system else None
    for division in (log.run["submission_division"], described):
        if division and division.lower() in ("closed", "open"):
            return str(division.lower())
    return "closed"


def _lint_text(log: Log, file: str) -> Iterator[Remark]:
    for line, reason in log.keys.broken_lines[:_MOST_BROKEN_LINES]:
        yield Remark("log.broken_line", file, line, found=reason)
    more = len(log.keys.broken_lines) - _MOST_BROKEN_LINES
    if more > 0:
        yield Remark("log.broken_line", file, detail=f"{more} more such lines follow.")
    for line, key in log.keys.not_finite_lines[:1]:
        others = len(log.keys.not_finite_lines) - 1
        yield Remark("log.not_finite", file, line, f"{others} more such lines follow." if others else "", found=key)
    if log.keys.first_carriage_return is not None:
        yield Remark("log.carriage_return", file, log.keys.first_carriage_return)
    if not log.keys.ends_in_newline:
        yield Remark("log.last_line", file, log.run["line_count"])


def _lint_keys(log: Log, result: ResultOfLogs, division: str) -> Iterator[Remark]:
    file, stated = log.run["source_path"], log.keys.keys
    repeated = []
    for names, occurrence in required_keys(result.ruleset, result.benchmark, division).items():
        uses = [stated[name] for name in names if name in stated]
        wanted = " or ".join(names)
        if not uses:
            yield Remark("log.key_missing", file, detail=f"It is {wanted}.", expected=wanted)
        elif occurrence == "exactly_one" and uses[0].count > 1:
            repeated.append(uses[0])
    # The official checker warns of a repeated value and refuses different ones.
    same = [use for use in repeated if len(use.values) == 1 and use.key not in _MARKS]
    for use in repeated:
        if use not in same:
            found = f"{use.count} times: {', '.join(list(use.values)[:5])}"
            yield Remark("log.key_repeated", file, use.second_line, f"It is {use.key}.", "once", found)
    if same:
        detail = f"The value is the same each time: {', '.join(use.key for use in same)}."
        most = max(use.count for use in same)
        line = min(use.second_line or use.line for use in same)
        yield Remark("log.key_repeated", file, line, detail, "once", f"up to {most} times", "warning")


def _lint_values(log: Log, result: ResultOfLogs) -> Iterator[Remark]:
    run, file = log.run, log.run["source_path"]
    benchmark, division = run["submission_benchmark"], run["submission_division"]
    if benchmark is not None and benchmark not in (run["benchmark"], result.benchmark):
        yield Remark("log.benchmark", file, _line(log, "submission_benchmark"), "", run["benchmark"], benchmark)
    if division is not None and division.lower() not in ("closed", "open"):
        line = _line(log, "submission_division")
        yield Remark("log.value", file, line, "It is submission_division.", "closed or open", division)
    described = result.system["division"] if result.system else None
    if division is not None and described is not None and division.lower() != described:
        yield Remark("log.division", file, _line(log, "submission_division"), "", described, division)
    if run["run_stop_count"] and run["status"] not in ("success", "aborted"):
        found = str(run["status"])
        yield Remark("log.value", file, run["run_stop_line"], "It is the status.", "success or aborted", found)
    for key in ("submission_org", "submission_platform"):
        use = log.keys.keys.get(key)
        if use is not None and use.value == "":
            yield Remark("log.value", file, use.line, f"It is {key}.", "a name", "nothing")


def _lint_times(log: Log, result: ResultOfLogs, division: str) -> Iterator[Remark]:
    run, file = log.run, log.run["source_path"]
    start, stop = run["run_start_ms"], run["run_stop_ms"]
    if start is not None and stop is not None:
        is_before = stop < start or run["run_stop_line"] < run["run_start_line"]
        if is_before:
            yield Remark("log.order", file, run["run_stop_line"], expected=f"after line {run['run_start_line']}")
    limit = result.init_limit_ms.get(division)
    if limit is None or run["init_start_ms"] is None or run["init_stop_ms"] is None:
        return
    taken = run["init_stop_ms"] - run["init_start_ms"]
    if taken >= limit:
        expected, found = f"under {limit // 60_000} minutes ({division})", f"{taken / 60_000:.2f} minutes"
        yield Remark("log.init_over_limit", file, run["init_stop_line"], "", expected, found)


def _lint_convergence(log: Log, result: ResultOfLogs, division: str) -> Iterator[Remark]:
    run, file = log.run, log.run["source_path"]
    if run["run_stop_count"] and run["status"] == "aborted":
        yield Remark("log.non_converged", file, run["run_stop_line"], found="aborted")
    if run["status"] != "success" or division != "closed":
        return
    for target in quality_targets(result.ruleset, result.benchmark):
        values = [value for metric, value in log.qualities if target.metric in (None, metric)]
        if values and not any(target.is_met(value, run["target_quality"]) for value in values):
            found = f"{values[-1]:g} at the last evaluation"
            yield Remark("log.target_not_met", file, run["run_stop_line"], "", f"quality {target}", found)


def _lint_ranks(log: Log, result: ResultOfLogs) -> Iterator[Remark]:
    file, run = log.run["source_path"], log.run
    nodes, per_node = run["number_of_nodes"], run["accelerators_per_node"]
    if result.system is not None and (nodes is None or per_node is None):
        nodes, per_node = result.system["number_of_nodes"], result.system["accelerators_per_node"]
    for key in _RANK_KEYS:
        counts = [_count(other, key) for other in result.logs]
        own = _count(log, key)
        if nodes and per_node:
            allowed = {1, nodes, nodes * per_node}
        elif len(counts) > 1:
            allowed = {1, max(counts)}
        else:
            return
        if own and own not in allowed:
            expected = " or ".join(f"{count:,}" for count in sorted(allowed))
            yield Remark("log.rank_missing", file, _line(log, key), f"It is {key}.", expected, f"{own:,}")
            return


def lint_seeds(result: ResultOfLogs) -> Iterator[Remark]:
    """Give the logs of a closed result without a usable seed of their own, where the ruleset asks for one."""
    if not asks_for_seeds(result.ruleset):
        return
    first_with: dict[tuple[str, ...], Log] = {}
    for log in result.logs:
        if log.run["event_count"] == 0 or _division(log, result) != "closed":
            continue
        file, use = log.run["source_path"], log.keys.keys.get("seed")
        if use is None:
            yield Remark("log.seed", file, expected="a seed", found="none")
            continue
        values = tuple(sorted(use.values))
        if not all(_is_whole(value) for value in values):
            yield Remark("log.seed", file, use.line, expected="a whole number", found=", ".join(values)[:100])
        other = first_with.setdefault(values, log)
        if other is not log:
            shared = f"{', '.join(values)[:100]}, as in {other.run['source_path'].rpartition('/')[2]}"
            yield Remark("log.seed", file, use.line, expected="another seed than the other runs'", found=shared)


def _is_whole(value: str) -> bool:
    try:
        int(value.strip("'\""))
    except ValueError:
        return False
    return True


def _count(log: Log, key: str) -> int:
    use = log.keys.keys.get(key)
    return use.count if use else 0


def _line(log: Log, key: str) -> int | None:
    use = log.keys.keys.get(key)
    return use.line if use else None


def qualities_by_log(evals: pl.DataFrame) -> dict[str, tuple[tuple[str | None, float], ...]]:
    """Return metric and value of the evaluation results of each log, by its path, in the order of the log."""
    found: dict[str, list[tuple[str | None, float]]] = defaultdict(list)
    ordered = evals.filter(pl.col("quality").is_not_null()).sort("source_path", "sequence")
    for path, metric, quality in ordered.select("source_path", "metric", "quality").iter_rows():
        found[path].append((metric, quality))
    return {path: tuple(values) for path, values in found.items()}
