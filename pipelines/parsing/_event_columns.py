"""Log events of many logs as columns, and known marks among them as arrays.

Holding events as columns belongs here; which events a table wants, and what they mean, does not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from pipelines.parsing._log_json import LINES_A_LOG, Event, Metadata
from pipelines.parsing._log_lines import Floats, Offsets
from pipelines.parsing._log_shapes import KnownRows, RowKind

_ROWS_HELD_AS_TUPLES = 4_096


MARK_ROWS = RowKind(
    keys=("eval_start", "eval_stop", "block_start", "block_stop", "init_start"),
    columns=("samples_count",),
    read=lambda event: (event.metadata.samples_count,),
)
"""Events of which no more is read than when they came and, of some, how many samples were consumed by then."""


class MarkColumns:
    """Marks with one key in many logs: when they came, and the samples consumed by then."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._places: list[Offsets] = [np.empty(0, np.int64)]
        self._time_ms: list[Offsets] = [np.empty(0, np.int64)]
        self._samples_count: list[Floats] = [np.empty(0, np.float64)]

    def add(self, known: KnownRows, events: Mapping[str, Sequence[Event]]) -> None:
        """Gather marks with the key, known and decoded ones."""
        chosen = (known.keys == MARK_ROWS.keys.index(self._key)).nonzero()[0]
        samples = known.numbers.get("samples_count")
        self._places.append(known.places[chosen])
        self._time_ms.append(known.time_ms[chosen])
        self._samples_count.append(np.full(len(chosen), math.nan) if samples is None else samples[chosen])
        found = events.get(self._key)
        if found:
            self._places.append(places_of(found))
            self._time_ms.append(np.array([event.time_ms for event in found], np.int64))
            counts = [event.metadata.samples_count for event in found]
            self._samples_count.append(np.array([math.nan if count is None else count for count in counts]))

    def in_order(self) -> tuple[Offsets, Offsets, Floats]:
        """Return places, times and samples (NaN where none), in the order of places."""
        places, time_ms = np.concatenate(self._places), np.concatenate(self._time_ms)
        samples_count = np.concatenate(self._samples_count)
        if (places[1:] > places[:-1]).all():
            return places, time_ms, samples_count
        order = places.argsort()
        return places[order], time_ms[order], samples_count[order]


class RowColumns:
    """Rows of one kind out of many logs: `log` (its number), `line`, `time_ms` and the columns of the kind."""

    def __init__(self, kind: RowKind, texts: Collection[str] = ()) -> None:
        """Take the kind, and which of its columns hold text; the others hold numbers."""
        self._types = {name: pl.String() if name in texts else pl.Float64() for name in kind.columns}
        self._kind = kind
        self._known: list[KnownRows] = []
        self._decoded: list[tuple[Any, ...]] = []
        self._frames: list[pl.DataFrame] = []
        self._row_count = 0

    def add(self, known: KnownRows, events: Sequence[Event]) -> None:
        """Gather rows that were known, and those that decoded events make."""
        self._known.append(known)
        rows = ((event, self._kind.read(event)) for event in events)
        decoded = [(event.place, event.time_ms, *row) for event, row in rows if row is not None]
        self._row_count += len(known.places) + len(decoded)
        self._decoded += decoded
        if len(self._decoded) > _ROWS_HELD_AS_TUPLES:
            self._hold_as_frame()

    def __len__(self) -> int:
        return self._row_count

    def frame(self) -> pl.DataFrame:
        """Return the columns in the order of places."""
        self._hold_as_frame()
        rows = self._known_frame()
        if decoded := [frame for frame in self._frames if len(frame)]:
            rows = rows.merge_sorted(pl.concat(decoded).sort("place", maintain_order=True), "place")
        place = rows["place"].to_numpy()
        log, line = np.divmod(place, LINES_A_LOG)
        return rows.select(pl.Series("log", log), pl.Series("line", line), pl.exclude("place"))

    def _hold_as_frame(self) -> None:
        schema = {"place": pl.Int64(), "time_ms": pl.Int64(), **self._types}
        columns = zip(*self._decoded, strict=True) if self._decoded else [()] * len(schema)
        series = [pl.Series(name, list(column), schema[name]) for name, column in zip(schema, columns, strict=True)]
        self._frames.append(pl.DataFrame(series))
        self._decoded = []

    def _known_frame(self) -> pl.DataFrame:
        none = np.empty(0, np.int64)
        columns = [
            pl.Series("place", np.concatenate([none, *(known.places for known in self._known)])),
            pl.Series("time_ms", np.concatenate([none, *(known.time_ms for known in self._known)])),
        ]
        row_count = len(columns[0])
        for name, dtype in self._types.items():
            if dtype == pl.String():
                texts = [known.texts.get(name) or [None] * len(known.places) for known in self._known]
                columns.append(pl.Series(name, list(chain.from_iterable(texts)), dtype))
            elif any(name in known.numbers for known in self._known):
                columns.append(pl.Series(name, self._known_numbers(name, row_count), dtype, nan_to_null=True))
            else:
                columns.append(pl.Series(name, [None], dtype).new_from_index(0, row_count))
        return pl.DataFrame(columns)

    def _known_numbers(self, name: str, row_count: int) -> Floats:
        numbers = np.full(row_count, math.nan)
        first = 0
        for known in self._known:
            end = first + len(known.places)
            if name in known.numbers:
                numbers[first:end] = known.numbers[name]
            first = end
        return numbers


def places_of(events: Sequence[Event]) -> Offsets:
    """Return the places of decoded events."""
    return np.array([event.place for event in events], np.int64)


def step_of(metadata: Metadata) -> float | None:
    """Return the step that an event names, if it is a number."""
    step = metadata.step if metadata.step_num is None else metadata.step_num
    return step if type(step) is float else None
