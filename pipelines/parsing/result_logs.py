"""Result logs to frames of runs, evaluations and training steps, one pass over each log.

How logs become frames belongs here; what one log says is read in `_log_runs`, whether a run counts in `scoring`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from threading import local

import polars as pl

from pipelines.parsing._event_columns import MARK_ROWS, Marks, RowColumns, marks_by_key
from pipelines.parsing._log_evals import ERROR, EVAL_ROWS, EvalTable
from pipelines.parsing._log_events import EventsByKey, LogReader
from pipelines.parsing._log_runs import IDENTITY, SETTINGS, RunTable
from pipelines.parsing._log_steps import STEP_ROWS, UNREAD_STEPS, StepTable
from pipelines.parsing.layout import Placed, classify
from pipelines.parsing.published import ParseFinding, PublishedFile, findings_frame
from pipelines.schemas.core import Evals, Runs, Steps

DEFAULT_BATCH_BYTES = 256_000_000
_WITHOUT_LIMIT = 2**62
_STATISTICS_A_BATCH = 70_000
"""Training statistics after which a batch ends too: their rows are what most memory goes to."""
_BYTES_READ_TOGETHER = 5_000_000
"""Small logs are read together up to about this size, which the processor's cache holds."""


_READ_AS_ROWS = (MARK_ROWS, EVAL_ROWS)
_READ_IN_FULL = frozenset({ERROR, "run_start", "run_stop", "init_stop"})
"""Keys of events of which more is read than when they came or what the last of them says, rows excepted."""


@dataclass(frozen=True, slots=True)
class ParsedLogs:
    """What a set of result logs says: frames of `core.runs`, `evals`, `steps` and `parse_findings`."""

    runs: pl.DataFrame
    evals: pl.DataFrame
    steps: pl.DataFrame
    findings: pl.DataFrame


def parse_result_logs(files: Iterable[PublishedFile], *, with_steps: bool = True) -> ParsedLogs:
    """Return everything that the logs say, in the order of the files.

    Published content never raises: what cannot be read is a finding.

    Args:
        files: Result logs; a file that `layout` does not place as one becomes a finding and no row. An iterator is
            read once, and of its files one at a time is held.
        with_steps: Whether training statistics are read. A score needs none: without them every line is validated
            all the same, `steps` is empty, and what `runs` takes from them is null.
    """
    # It is the steps that would take much memory at once.
    batch_bytes = DEFAULT_BATCH_BYTES if with_steps else _WITHOUT_LIMIT
    batches = list(parse_result_log_batches(files, batch_bytes, with_steps=with_steps))
    return ParsedLogs(
        runs=pl.concat([batch.runs for batch in batches]),
        evals=pl.concat([batch.evals for batch in batches]),
        steps=pl.concat([batch.steps for batch in batches]),
        findings=pl.concat([batch.findings for batch in batches]),
    )


def parse_result_log_batches(
    files: Iterable[PublishedFile], batch_bytes: int = DEFAULT_BATCH_BYTES, *, with_steps: bool = True
) -> Iterator[ParsedLogs]:
    """Yield what the logs say in batches of about `batch_bytes` of log text or less; at least one, maybe empty."""
    reader = _reader(with_steps=with_steps)
    batch = _Batch(reader, with_steps=with_steps)
    is_any_yielded = False
    for file in files:
        batch.add(file)
        if batch.size_bytes >= batch_bytes or batch.statistics_count >= _STATISTICS_A_BATCH:
            yield batch.frames()
            batch, is_any_yielded = _Batch(reader, with_steps=with_steps), True
    if batch.file_count or not is_any_yielded:
        yield batch.frames()


def _reader(*, with_steps: bool) -> LogReader:
    """Return the reader of this thread: what it learnt of some events holds for those of any round."""
    if with_steps not in _OF_THREAD.readers:
        _OF_THREAD.readers[with_steps] = new_reader(with_steps=with_steps)
    return _OF_THREAD.readers[with_steps]


def new_reader(*, with_steps: bool = True) -> LogReader:
    """Return a reader of what the tables need, to which all events are new."""
    return LogReader((*_READ_AS_ROWS, STEP_ROWS if with_steps else UNREAD_STEPS), _READ_IN_FULL, SETTINGS)


class _OfThread(local):
    def __init__(self) -> None:
        self.readers: dict[bool, LogReader] = {}


_OF_THREAD = _OfThread()


class _Batch:
    """What several logs say, as plain values until they become frames."""

    def __init__(self, reader: LogReader, *, with_steps: bool) -> None:
        self._reader = reader
        self.file_count = 0
        self.size_bytes = 0
        self._log_count = 0
        self._waiting: list[tuple[PublishedFile, Placed]] = []
        self._waiting_bytes = 0
        self._runs = RunTable()
        self._marks = RowColumns(MARK_ROWS)
        self._evals = EvalTable()
        self._steps = StepTable() if with_steps else None
        self._misplaced: list[ParseFinding] = []

    @property
    def statistics_count(self) -> int:
        """Training statistics of the logs that were read."""
        return 0 if self._steps is None else len(self._steps)

    def add(self, file: PublishedFile) -> None:
        """Read one log, now or with the next ones."""
        self.file_count += 1
        self.size_bytes += len(file.content)
        placed = classify(file.path)
        if placed is None or placed.kind != "result_log":
            self._misplaced.append(_misplaced(file))
            return
        if self._waiting_bytes + len(file.content) > _BYTES_READ_TOGETHER:
            self._read()
        self._waiting.append((file, placed))
        self._waiting_bytes += len(file.content)

    def _read(self) -> None:
        if not self._waiting:
            return
        reading = self._reader.read([file.content for file, _ in self._waiting], self._log_count)
        events = EventsByKey(list)
        for decoded in reading.events():
            for event in decoded:
                events[event.key].append(event)
        self._marks.add(reading.rows[MARK_ROWS], [event for key in MARK_ROWS.keys for event in events.get(key, [])])
        if self._steps is not None:
            self._steps.add(reading, events)
        self._evals.add(reading, events)
        self._runs.add(self._waiting, reading, events)
        self._log_count += len(self._waiting)
        self._waiting, self._waiting_bytes = [], 0

    def frames(self) -> ParsedLogs:
        """Return the frames of what was read."""
        self._read()
        marks = marks_by_key(self._marks.frame(MARK_ROWS.columns))
        runs = self._runs.frame(marks)
        evals, eval_summary = self._evals.frames(runs, marks)
        all_runs, steps = self._with_steps(runs.hstack(eval_summary), marks)
        return ParsedLogs(
            all_runs.select(Runs.column_names()),
            _rows_frame(runs, evals, Evals.column_names()),
            steps,
            findings_frame(self._misplaced + self._runs.findings),
        )

    def _with_steps(self, runs: pl.DataFrame, marks: Mapping[str, Marks]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the runs with what their training statistics say, and these."""
        if self._steps is None:
            return _without_steps(runs), Steps.create_empty()
        steps, summary = self._steps.frames(runs, marks)
        return _with_summary(runs.hstack(summary)), _rows_frame(runs, steps, Steps.column_names())


def _with_summary(runs: pl.DataFrame) -> pl.DataFrame:
    unit = pl.when(pl.col("benchmark") == "gpt3").then(pl.lit("tokens/s")).otherwise(pl.lit("samples/s"))
    return runs.with_columns(
        step_count=pl.coalesce("stated_step_count", "spanned_step_count"),
        throughput_unit=pl.when(pl.col("throughput_median").is_not_null()).then(unit),
    )


def _without_steps(runs: pl.DataFrame) -> pl.DataFrame:
    runs = runs.rename({"stated_step_count": "step_count"})
    nothing = pl.lit(None)
    absent = {name: column.dtype for name, column in Runs.columns().items() if name not in runs.columns}
    return runs.with_columns(nothing.cast(dtype).alias(name) for name, dtype in absent.items())


def _rows_frame(runs: pl.DataFrame, rows: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """Return rows that carry the number of their log as columns of a table, numbered from 0 within each log."""
    log = rows["log"]
    first_rows = log.search_sorted(pl.Series(range(len(runs)), dtype=log.dtype))
    sequence = pl.int_range(len(rows), eager=True) - first_rows.gather(log)
    of_logs = [runs[name].gather(log) for name in IDENTITY]
    return rows.with_columns(sequence.alias("sequence"), *of_logs).select(columns)


def _misplaced(file: PublishedFile) -> ParseFinding:
    return ParseFinding(
        file.round,
        file.path,
        "log.layout",
        "The path is not that of a result log, so the file was not read.",
        expected="<submitter>/results/<system>/<benchmark>/result_*.txt",
        found=file.path,
        source_sha256=file.sha256,
    )
