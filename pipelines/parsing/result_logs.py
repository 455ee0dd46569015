"""Result logs to frames of runs, evaluations and training steps, one pass over each log.

How logs become frames belongs here; what one log says is read in `_log_runs`, whether a run counts in `scoring`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from pipelines.parsing._log_runs import LogReading
from pipelines.parsing.layout import classify
from pipelines.parsing.published import ParseFinding, PublishedFile, findings_frame
from pipelines.schemas.core import Evals, Runs, Steps

DEFAULT_BATCH_BYTES = 32_000_000

_IDENTITY = ("round", "source_path", "source_sha256", "run_id")


@dataclass(frozen=True, slots=True)
class ParsedLogs:
    """What a set of result logs says: frames of `core.runs`, `evals`, `steps` and `parse_findings`."""

    runs: pl.DataFrame
    evals: pl.DataFrame
    steps: pl.DataFrame
    findings: pl.DataFrame


def parse_result_logs(files: Iterable[PublishedFile]) -> ParsedLogs:
    """Return everything that the logs say, in the order of the files.

    Published content never raises: what cannot be read is a finding.

    Args:
        files: Result logs; a file that `layout` does not place as one becomes a finding and no row. An iterator is
            read once, and of its files one at a time is held.
    """
    batches = list(parse_result_log_batches(files))
    return ParsedLogs(
        runs=pl.concat([batch.runs for batch in batches]),
        evals=pl.concat([batch.evals for batch in batches]),
        steps=pl.concat([batch.steps for batch in batches]),
        findings=pl.concat([batch.findings for batch in batches]),
    )


def parse_result_log_batches(
    files: Iterable[PublishedFile], batch_bytes: int = DEFAULT_BATCH_BYTES
) -> Iterator[ParsedLogs]:
    """Yield what the logs say in batches of about `batch_bytes` of log text; at least one, maybe empty."""
    batch = _Batch()
    is_any_yielded = False
    for file in files:
        batch.add(file)
        if batch.size_bytes >= batch_bytes:
            yield batch.frames()
            batch, is_any_yielded = _Batch(), True
    if batch.file_count or not is_any_yielded:
        yield batch.frames()


class _Batch:
    """What several logs say, as columns of plain values until they become frames."""

    def __init__(self) -> None:
        self.file_count = 0
        self.size_bytes = 0
        self._runs: list[dict[str, Any]] = []
        self._evals = _Rows(Evals.create_empty())
        self._steps = _Rows(Steps.create_empty())
        self._findings: list[ParseFinding] = []

    def add(self, file: PublishedFile) -> None:
        """Read one log."""
        self.file_count += 1
        self.size_bytes += len(file.content)
        placed = classify(file.path)
        if placed is None or placed.kind != "result_log":
            self._findings.append(_misplaced(file))
            return
        reading = LogReading(file, placed)
        self._runs.append(reading.run())
        identity = (file.round, file.path, file.sha256, reading.run_id)
        self._evals.add(identity, reading.eval_columns())
        self._steps.add(identity, reading.step_columns())
        self._findings += reading.findings

    def frames(self) -> ParsedLogs:
        """Return the columns as frames."""
        schema = Runs.create_empty().schema
        runs = pl.DataFrame({name: [run[name] for run in self._runs] for name in schema}, schema=schema)
        return ParsedLogs(runs, self._evals.frame(), self._steps.frame(), findings_frame(self._findings))


class _Rows:
    """A table of many rows a log: a list for what differs by row, one value a log for what does not."""

    def __init__(self, empty: pl.DataFrame) -> None:
        self._schema = empty.schema
        self._identities: list[tuple[str, ...]] = []
        self._counts: list[int] = []
        self._columns: dict[str, list[Any]] = {
            name: [] for name in empty.columns if name not in (*_IDENTITY, "sequence")
        }

    def add(self, identity: tuple[str, ...], columns: dict[str, Sequence[Any]]) -> None:
        """Add the rows of one log."""
        self._identities.append(identity)
        self._counts.append(len(columns["line"]))
        for name, values in self._columns.items():
            values += columns[name]

    def frame(self) -> pl.DataFrame:
        """Return the rows, numbered from 0 within each log."""
        counts = np.array(self._counts, np.int64)
        log = np.repeat(np.arange(len(counts)), counts)
        first_rows = np.cumsum(counts) - counts
        columns = {name: pl.Series(name, values, self._schema[name]) for name, values in self._columns.items()}
        columns["sequence"] = pl.Series("sequence", np.arange(len(log)) - first_rows[log], pl.Int64)
        for place, name in enumerate(_IDENTITY):
            of_logs = pl.Series(name, [identity[place] for identity in self._identities], pl.String)
            columns[name] = of_logs.gather(log)
        return pl.DataFrame([columns[name] for name in self._schema])


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
