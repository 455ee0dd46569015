"""Log events of many logs as columns.

Holding events as columns belongs here; which events a table wants, and what they mean, does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl

from pipelines.parsing._log_json import Event, Metadata
from pipelines.parsing._log_lines import Offsets

_ROWS_HELD_AS_OBJECTS = 1_000
"""More would have left the processor's cache by the time they become columns, fewer cost more calls."""

ColumnReader = Callable[[list[Any]], list[Any]]
"""Reads one member of each of many values, or of many metadata."""


class EventColumns:
    """Columns of events: `log` (its number), `line`, `time_ms` and what the readers give, numbers but for TEXTS."""

    def __init__(self, of_value: Mapping[str, ColumnReader], of_metadata: Mapping[str, ColumnReader]) -> None:
        self._of_value = of_value
        self._of_metadata = of_metadata
        self._events: list[Event] = []
        self._logs: list[Offsets] = [np.empty(0, np.int64)]
        self._lines: list[Offsets] = [np.empty(0, np.int64)]
        self._columns: dict[str, list[pl.Series]] = {
            "time_ms": [pl.Series(dtype=pl.Int64)],
            **{name: [pl.Series(dtype=_type(name))] for name in (*of_value, *of_metadata)},
        }

    def add(self, events: list[Event], logs: Offsets, lines: Offsets) -> None:
        """Gather events, which come after those gathered before."""
        self._events += events
        self._logs.append(logs)
        self._lines.append(lines)
        if len(self._events) > _ROWS_HELD_AS_OBJECTS:
            self._hold_as_columns()

    def frame(self) -> pl.DataFrame:
        """Return the columns."""
        self._hold_as_columns()
        columns = {name: pl.concat(parts) for name, parts in self._columns.items()}
        return pl.DataFrame({"log": np.concatenate(self._logs), "line": np.concatenate(self._lines), **columns})

    def _hold_as_columns(self) -> None:
        events = self._events
        self._columns["time_ms"].append(pl.Series([event.time_ms for event in events], dtype=pl.Int64))
        if self._of_value:
            values = [event.value for event in events]
            for name, read in self._of_value.items():
                self._columns[name].append(_series(name, read(values)))
        if self._of_metadata:
            metadata = [event.metadata for event in events]
            for name, read in self._of_metadata.items():
                self._columns[name].append(_series(name, read(metadata)))
        self._events = []


def _series(name: str, values: list[Any]) -> pl.Series:
    dtype = _type(name)
    if not any(values) and values.count(None) == len(values):
        return pl.Series([None], dtype=dtype).new_from_index(0, len(values))
    # Polars looks for the first value in a Python loop, which a long run of None makes slow.
    return pl.Series(["" if dtype == pl.String else 0.0, *values], dtype=dtype).slice(1)


def _type(name: str) -> type[pl.DataType]:
    return pl.String if name in TEXTS else pl.Float64


TEXTS = frozenset({"metric"})
"""Columns that hold text."""


def read_steps(metadata: list[Metadata]) -> list[float | None]:
    """Return the step that each event names, if it is a number."""
    steps = [entry.step if entry.step_num is None else entry.step_num for entry in metadata]
    return [step if type(step) is float else None for step in steps]


def read_samples(metadata: list[Metadata]) -> list[float | None]:
    """Return the samples consumed at each event."""
    return [entry.samples_count for entry in metadata]
