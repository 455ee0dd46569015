"""What result logs say about their runs: settings, start and stop, and what could not be read.

Settings and single events belong here; evaluations and training statistics are read in modules of their own.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from pipelines.parsing._event_columns import Marks
from pipelines.parsing._log_evals import EVAL_ROWS, RESULT
from pipelines.parsing._log_events import EventsByKey, Log, Reading, first_on_each_line
from pipelines.parsing._log_json import LARGEST_INTEGER, LINES_A_LOG, Event, as_number, quoted
from pipelines.parsing._log_shapes import KnownRows
from pipelines.parsing.layout import Placed, result_id
from pipelines.parsing.published import ParseFinding, PublishedFile
from pipelines.schemas.core import Runs

IDENTITY = ("round", "source_path", "source_sha256", "result_id", "run_id")

_LINES_QUOTED = 20
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_OF_THE_LOG = (
    *IDENTITY,
    "submitter_folder",
    "system",
    "benchmark",
    "scaling_mode",
    "size_bytes",
    "line_count",
    "event_count",
    "broken_line_count",
    "first_broken_line",
    "run_start_count",
    "run_start_ms",
    "run_start_line",
    "run_stop_count",
    "run_stop_ms",
    "run_stop_line",
    "status",
    "init_stop_ms",
    "init_stop_line",
    "stated_step_count",
)
_TEXTS = {
    "submission_benchmark": "submission_benchmark",
    "submission_organisation": "submission_org",
    "submission_division": "submission_division",
    "submission_status": "submission_status",
    "submission_platform": "submission_platform",
    "config_filename": "config_filename",
    "seed": "seed",
    "linear_precision": "lowest_numerical_precision_in_linear",
    "linear_precision_short": "lowest_numerical_precision_linear",
    "precision": "precision",
    "precision_mode": "precision_mode",
}
_COUNTS = {
    "global_batch_size": "global_batch_size",
    "max_sequence_length": "max_sequence_length",
    "train_samples": "train_samples",
    "eval_samples": "eval_samples",
    "number_of_nodes": "number_of_nodes",
    "accelerators_per_node": "accelerators_per_node",
}
_COUNTS_FROM_ONE = {
    "tensor_parallel": "tensor_parallelism",
    "pipeline_parallel": "pipeline_parallelism",
    "context_parallel": "context_parallelism",
    "expert_parallel": "expert_parallelism",
    "micro_batch": "micro_batch_size",
}
_NUMBERS = {"target_quality": "target_accuracy"}
_NUMBERS_FROM_ZERO = {"gradient_accumulation_steps": "gradient_accumulation_steps"}
_SETTINGS = _TEXTS | _COUNTS | _COUNTS_FROM_ONE | _NUMBERS | _NUMBERS_FROM_ZERO
SETTINGS = frozenset(_SETTINGS.values())
"""Keys of the settings that are read."""


class RunTable:
    """Settings and single events, gathered from logs.

    Of a setting that a log repeats the last value counts, as it does to the official reader.
    """

    def __init__(self) -> None:
        self.findings: list[ParseFinding] = []
        self._logs: list[tuple[Any, ...]] = []
        self._settings: list[tuple[Any, ...]] = []
        self._are_utf_16: list[bool] = []

    def add(self, files: Sequence[tuple[PublishedFile, Placed]], reading: Reading, events: EventsByKey) -> None:
        """Gather logs: what was known of their events, and the decoded ones."""
        starts, stops, init_stops = (_by_log(events.get(key, [])) for key in ("run_start", "run_stop", "init_stop"))
        last_samples = _last_samples(reading.rows[EVAL_ROWS], events.get(RESULT, []))
        settings = {key: _by_log(events[key]) for key in SETTINGS & events.keys()}
        for number, ((file, placed), log) in enumerate(zip(files, reading.logs, strict=True), reading.first_log):
            last = log.last_values({key: found[number][-1] for key, found in settings.items() if number in found})
            self._settings.append(tuple(map(last.get, _SETTINGS.values())))
            batch = _whole(last.get(_SETTINGS["global_batch_size"]))
            stop = stops[number][0] if number in stops else None
            self._add_log(
                file,
                placed,
                log,
                _times(starts.get(number, []), stops.get(number, []), init_stops.get(number, [])),
                _stated_step_count(stop, last_samples.get(number), batch),
            )

    def _add_log(
        self, file: PublishedFile, placed: Placed, log: Log, times: tuple[Any, ...], stated_step_count: int | None
    ) -> None:
        result = result_id(file.round, placed)
        broken = log.broken
        self._are_utf_16.append(file.content.startswith(_UTF_16_MARKS))
        self._logs.append(
            (
                file.round,
                file.path,
                file.sha256,
                result,
                f"{result}/{placed.name.removesuffix('.txt')}",
                placed.submitter_folder,
                placed.system,
                placed.benchmark,
                placed.scaling_mode,
                len(file.content),
                log.line_count,
                log.event_count,
                len(broken),
                broken[0].line if broken else None,
                *times,
                stated_step_count,
            )
        )
        if broken or log.unread:
            self._report_lines(log)

    def frame(self, marks: Mapping[str, Marks]) -> pl.DataFrame:
        """Return the columns of `core.runs` that are read here, and `stated_step_count`.

        Args:
            marks: By key, those of initialisation among them.
        """
        types = {name: column.dtype for name, column in Runs.columns().items()}
        values = zip(*self._logs, strict=True) if self._logs else [()] * len(_OF_THE_LOG)
        columns = {
            name: pl.Series(name, column, types.get(name, pl.Int64))
            for name, column in zip(_OF_THE_LOG, values, strict=True)
        }
        settings = zip(*self._settings, strict=True) if self._settings else [()] * len(_SETTINGS)
        stated = dict(zip(_SETTINGS, settings, strict=True))
        for names, read, expected, dtype in _READERS:
            for name in names:
                columns[name] = pl.Series(name, self._read(name, stated[name], read, expected), dtype)
        columns["init_start_ms"] = self._earliest(marks["init_start"])
        runs = pl.DataFrame(columns).with_columns(
            precision=pl.coalesce("linear_precision", "linear_precision_short", "precision", "precision_mode")
        )
        self._report_runs(runs)
        return runs

    def _earliest(self, marks: Marks) -> pl.Series:
        logs, firsts = np.unique(marks.places // LINES_A_LOG, return_index=True)
        earliest = np.minimum.reduceat(marks.time_ms, firsts) if len(firsts) else marks.time_ms
        return pl.Series([None], dtype=pl.Int64).new_from_index(0, len(self._logs)).scatter(logs, earliest)

    def _read(self, column: str, values: tuple[Any, ...], read: Callable[[Any], Any], expected: str) -> list[Any]:
        numbers = [None if value is None else read(value) for value in values]
        if numbers.count(None) == values.count(None):
            return numbers
        for log, (value, number) in enumerate(zip(values, numbers, strict=True)):
            if number is None and value is not None:
                self._report(
                    log,
                    "log.value",
                    "The value of this setting cannot be read, so its column is empty.",
                    place=_SETTINGS[column],
                    expected=expected,
                    found=quoted(value),
                )
        return numbers

    def _report_runs(self, runs: pl.DataFrame) -> None:
        starts, stops = pl.col("run_start_count"), pl.col("run_stop_count")
        logged = pl.col("submission_benchmark")
        utf_16 = pl.lit(pl.Series(self._are_utf_16, dtype=pl.Boolean))
        none = pl.when(utf_16).then(pl.lit("none: the file begins as UTF-16 does")).otherwise(pl.lit("none"))
        checks = (
            ("log.no_events", pl.col("event_count") == 0, "The file has no log event.", "events in UTF-8", none),
            ("log.run_start", starts != 1, "A run has one start.", "one run_start", starts),
            ("log.run_stop", stops != 1, "A run has one stop; this one may have been cut off.", "one run_stop", stops),
            (
                "log.benchmark",
                logged != pl.col("benchmark"),
                "The log names another benchmark.",
                "the folder's",
                logged,
            ),
        )
        # The text of what was found, where a check fails.
        failures = runs.select(
            pl.when(has_failed).then(found.cast(pl.String)).alias(kind) for kind, has_failed, _, _, found in checks
        )
        for kind, _, explanation, expected, _ in checks:
            for log in failures[kind].is_not_null().arg_true():
                self._report(log, kind, explanation, expected=expected, found=failures[kind][log])

    def _report_lines(self, log: Log) -> None:
        number = len(self._logs) - 1
        for broken in first_on_each_line(log.broken)[:_LINES_QUOTED]:
            self._report(
                number,
                "log.not_an_event" if broken.is_json else "log.broken_line",
                "The official reader refuses the whole run for such a line.",
                place=f"line {broken.line}",
                severity="error",
                expected="a JSON object with time_ms, key, value and metadata",
                found=f"{broken.reason}: {broken.text[:200].decode('latin-1')}",
            )
        for line, members in list(dict(log.unread).items())[:_LINES_QUOTED]:
            self._report(
                number,
                "log.member",
                "These members of the event cannot be read, so their columns are empty.",
                place=f"line {line}",
                expected="numbers and text that a column can hold",
                found=", ".join(members),
            )
        for kind, lines in (("log.broken_lines", log.broken), ("log.members", log.unread)):
            if len(lines) > _LINES_QUOTED:
                self._report(
                    number,
                    kind,
                    f"There are {len(lines):,} such lines; the first {_LINES_QUOTED} are listed one by one.",
                    found=str(len(lines)),
                )

    def _report(
        self,
        log: int,
        kind: str,
        explanation: str,
        *,
        place: str = "",
        severity: Literal["error", "warning", "info"] = "warning",
        expected: str | None = None,
        found: str | None = None,
    ) -> None:
        round_name, path, sha256, *_ = self._logs[log]
        self.findings.append(
            ParseFinding(round_name, path, kind, explanation, place, severity, expected, found, sha256)
        )


def _by_log(events: list[Event]) -> dict[int, list[Event]]:
    of_log = defaultdict(list)
    for event in events:
        of_log[event.place // LINES_A_LOG].append(event)
    return of_log


def _times(starts: list[Event], stops: list[Event], init_stops: list[Event]) -> tuple[Any, ...]:
    """Return run_start, run_stop, status and initialisation, in the order of the columns."""
    start, stop = starts[0] if starts else None, stops[0] if stops else None
    init_stop: Event | None = max(init_stops, key=lambda event: event.time_ms, default=None)
    return (
        len(starts),
        None if start is None else start.time_ms,
        None if start is None else start.line,
        len(stops),
        None if stop is None else stop.time_ms,
        None if stop is None else stop.line,
        None if stop is None else stop.metadata.status,
        None if init_stop is None else init_stop.time_ms,
        None if init_stop is None else init_stop.line,
    )


def _last_samples(known: KnownRows, decoded: list[Event]) -> dict[int, float | None]:
    """Return the samples consumed at the last result of each log that has some."""
    logs = known.places // LINES_A_LOG
    lasts = np.diff(logs, append=-1).nonzero()[0]
    samples = known.numbers.get("samples_count", np.full(len(logs), math.nan))[lasts].tolist()
    found = {
        place: None if math.isnan(count) else count
        for place, count in zip(known.places[lasts].tolist(), samples, strict=True)
    }
    found |= {event.place: event.metadata.samples_count for event in decoded}
    return {place // LINES_A_LOG: found[place] for place in sorted(found)}


def _stated_step_count(stop: Event | None, samples_at_last_eval: float | None, global_batch: int | None) -> int | None:
    """Return the optimizer steps as stated at run_stop, else from the samples at the end and the batch."""
    samples = None
    if stop is not None:
        stated = stop.metadata
        samples = stated.samples_count
        if stated.step_num is not None:
            return _count(stated.step_num)
        if samples is not None and type(stated.step) is float:
            return _count(stated.step)
    if samples is None:
        samples = samples_at_last_eval
    return None if samples is None or not global_batch else _count(round(samples / global_batch))


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) else None


def _whole(value: Any) -> int | None:
    number = value if type(value) is int else as_number(value)
    if number is None or not -LARGEST_INTEGER <= number <= LARGEST_INTEGER:
        return None
    return int(number) if number == int(number) else None


def _count(value: Any) -> int | None:
    whole = _whole(value)
    return None if whole is None or whole < 0 else whole


def _count_from_one(value: Any) -> int | None:
    whole = _whole(value)
    return None if whole is None or whole < 1 else whole


def _number(value: Any) -> float | None:
    number = as_number(value)
    return None if number is None else float(number)


def _number_from_zero(value: Any) -> float | None:
    number = _number(value)
    return None if number is None or number < 0 else number


_READERS = (
    (_TEXTS, _text, "text", pl.String),
    (_COUNTS, _count, "a whole number from 0", pl.Int64),
    (_COUNTS_FROM_ONE, _count_from_one, "a whole number from 1", pl.Int64),
    (_NUMBERS, _number, "a number", pl.Float64),
    (_NUMBERS_FROM_ZERO, _number_from_zero, "a number from 0", pl.Float64),
)
