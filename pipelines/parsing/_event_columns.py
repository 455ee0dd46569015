"""Log events of many logs as columns, and known marks among them as arrays.

Holding events as columns belongs here; which events a table wants, and what they mean, does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from pipelines.parsing._log_events import LogMarks
from pipelines.parsing._log_json import LINES_A_LOG, Event, Metadata, StepEvent, as_float
from pipelines.parsing._log_known import MARK_CODES
from pipelines.parsing._log_lines import Floats, Offsets

# What is held longer has left the processor's cache when it is needed; what is held shorter costs more calls.
_ROWS_HELD_AS_EVENTS = 256
_ROWS_HELD_AS_LISTS = 1_024

ColumnReader = Callable[[list[Any]], list[Any]]
"""Reads one member of each of many values, or of many metadata."""


class MarkColumns:
    """Events of one key in many logs: when they came, and the samples consumed by then."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._places: list[Offsets] = [np.empty(0, np.int64)]
        self._time_ms: list[Offsets] = [np.empty(0, np.int64)]
        self._samples_count: list[Floats] = [np.empty(0, np.float64)]

    def add(self, marks: LogMarks) -> None:
        """Gather the known events with the key."""
        chosen = (marks.codes == MARK_CODES[self._key]).nonzero()[0]
        self._places.append(marks.places[chosen])
        self._time_ms.append(marks.time_ms[chosen])
        self._samples_count.append(marks.samples_count[chosen])

    def add_events(self, events: Mapping[str, Sequence[Event]]) -> None:
        """Gather the decoded events with the key."""
        found = events.get(self._key)
        if found:
            self._places.append(places_of(found))
            self._time_ms.append(np.array([event.time_ms for event in found], np.int64))
            samples = [event.metadata.samples_count for event in found]
            self._samples_count.append(np.array([math.nan if count is None else count for count in samples]))

    def in_order(self) -> tuple[Offsets, Offsets, Floats]:
        """Return places, times and samples (NaN where none), in the order of places."""
        places, time_ms = np.concatenate(self._places), np.concatenate(self._time_ms)
        samples_count = np.concatenate(self._samples_count)
        if (places[1:] > places[:-1]).all():
            return places, time_ms, samples_count
        order = places.argsort()
        return places[order], time_ms[order], samples_count[order]


class EventColumns:
    """Columns of events: `log` (its number), `line`, `time_ms` and what the readers give, numbers but for TEXTS."""

    def __init__(self, of_value: Mapping[str, ColumnReader], of_metadata: Mapping[str, ColumnReader]) -> None:
        self._of_value = of_value
        self._of_metadata = of_metadata
        self._row_count = 0
        self._places = [np.empty(0, np.int64)]
        self._events: list[Event | StepEvent] = []
        self._lists: dict[str, list[Any]] = {name: [] for name in ("time_ms", *of_value, *of_metadata)}
        self._columns = {name: [pl.Series(dtype=_type(name))] for name in self._lists}

    def add(self, events: Sequence[Event | StepEvent], places: Offsets) -> None:
        """Gather events, which stand at these places; they come after those gathered before."""
        self._row_count += len(events)
        self._places.append(places)
        self._events += events
        if len(self._events) > _ROWS_HELD_AS_EVENTS:
            self._hold_as_lists()

    def __len__(self) -> int:
        return self._row_count

    def frame(self) -> pl.DataFrame:
        """Return the columns, which are no longer held here."""
        self._hold_as_lists()
        self._hold_as_columns()
        columns = {name: pl.concat(self._columns.pop(name)) for name in self._lists}
        log, line = np.divmod(np.concatenate(self._places), LINES_A_LOG)
        return pl.DataFrame({"log": log, "line": line, **columns})

    def _hold_as_lists(self) -> None:
        events = self._events
        self._lists["time_ms"] += [event.time_ms for event in events]
        if self._of_value:
            values = [event.value for event in events]
            for name, read in self._of_value.items():
                self._lists[name] += read(values)
        if self._of_metadata:
            metadata = [event.metadata for event in events]
            for name, read in self._of_metadata.items():
                self._lists[name] += read(metadata)
        self._events = []
        if len(self._lists["time_ms"]) > _ROWS_HELD_AS_LISTS:
            self._hold_as_columns()

    def _hold_as_columns(self) -> None:
        for name, values in self._lists.items():
            self._columns[name].append(_series(name, values))
            values.clear()


def _series(name: str, values: list[Any]) -> pl.Series:
    dtype = _type(name)
    if not any(values) and values.count(None) == len(values):
        return pl.Series([None], dtype=dtype).new_from_index(0, len(values))
    # Polars looks for the first value in a Python loop, which a long run of None makes slow.
    return pl.Series(["" if name in TEXTS else 0, *values], dtype=dtype).slice(1)


def _type(name: str) -> type[pl.DataType]:
    return pl.String if name in TEXTS else pl.Int64 if name in WHOLE_NUMBERS else pl.Float64


WHOLE_NUMBERS = frozenset({"time_ms"})
TEXTS = frozenset({"metric"})
"""Columns that hold text."""


def places_of(events: Sequence[Event]) -> Offsets:
    """Return the places of decoded events."""
    return np.array([event.place for event in events], np.int64)


def read_numbers(values: list[Any]) -> list[float | None]:
    """Return the values that are numbers."""
    return [value if type(value) is float else as_float(value) for value in values]


def read_steps(metadata: list[Metadata]) -> list[float | None]:
    """Return the step that each event names, if it is a number."""
    steps = [entry.step if entry.step_num is None else entry.step_num for entry in metadata]
    return [step if type(step) is float else None for step in steps]


def read_samples(metadata: list[Metadata]) -> list[float | None]:
    """Return the samples consumed at each event."""
    return [entry.samples_count for entry in metadata]
