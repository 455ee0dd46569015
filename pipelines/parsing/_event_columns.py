"""Log events of many logs as columns.

Holding events as columns belongs here; which events a table wants, and what they mean, does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.parsing._log_events import Event, Metadata

_ROWS_HELD_AS_EVENTS = 1000
"""Columns are read off a thousand events at once: more would leave the processor's cache, fewer cost more calls."""

Reader = Callable[[Any], Any]


class EventColumns:
    """Columns of events, gathered log by log: `log` (its number), `line`, `time_ms` and what the readers give."""

    def __init__(self, of_value: Mapping[str, Reader], of_metadata: Mapping[str, Reader]) -> None:
        self._of_value = of_value
        self._of_metadata = of_metadata
        self._row_counts: list[int] = []
        self._events: list[Event] = []
        self._lines: list[npt.NDArray[np.int64]] = []
        self._chunks: list[pl.DataFrame] = []

    def add(self, events: Iterable[Event], lines: npt.NDArray[np.int64]) -> None:
        """Gather the events of the next log; it may have none."""
        self._row_counts.append(len(lines))
        if len(lines):
            self._events += events
            self._lines.append(lines)
            if len(self._events) > _ROWS_HELD_AS_EVENTS:
                self._hold_as_columns()

    def frame(self) -> pl.DataFrame:
        """Return the columns."""
        self._hold_as_columns()
        log = np.repeat(np.arange(len(self._row_counts)), np.array(self._row_counts, np.int64))
        return pl.concat(self._chunks).with_columns(log=log)

    def _hold_as_columns(self) -> None:
        events = self._events
        columns = {
            "line": pl.Series(np.concatenate([np.empty(0, np.int64), *self._lines])),
            "time_ms": pl.Series([event.time_ms for event in events], dtype=pl.Int64),
        }
        for source, readers in (("value", self._of_value), ("metadata", self._of_metadata)):
            entries = [getattr(event, source) for event in events] if readers else []
            for name, read in readers.items():
                dtype = pl.String if name in TEXTS else pl.Float64
                columns[name] = pl.Series(list(map(read, entries)), dtype=dtype)
        self._chunks.append(pl.DataFrame(columns))
        self._events, self._lines = [], []


TEXTS = frozenset({"metric"})
"""Columns that hold text; all others hold numbers."""


def step_of(metadata: Metadata) -> float | None:
    """Return the step that an event names, if it is a number."""
    if metadata.step_num is not None:
        return metadata.step_num
    step = metadata.step
    return step if type(step) is float else None


SAMPLES, EPOCH, RATE, METRIC = map(attrgetter, ("samples_count", "epoch_num", "lr", "metric"))
