"""Rows of many logs as columns, and marks among them as arrays.

Holding events as columns belongs here; which events a table wants, and what they mean, does not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.parsing._log_json import LINES_A_LOG, Event, Metadata
from pipelines.parsing._log_lines import Floats, Offsets
from pipelines.parsing._log_shapes import KnownRows, RowKind

_ROWS_HELD_AS_TUPLES = 4_096
_PARTS_JOINED = 8

MARK_ROWS = RowKind(
    keys=("eval_start", "eval_stop", "block_start", "block_stop", "init_start"),
    columns=("samples_count",),
    read=lambda event: (event.metadata.samples_count,),
)
"""Events of which no more is read than when they came and, of some, how many samples were consumed by then."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Marks with one key in many logs, in order."""

    places: Offsets
    """Log times `LINES_A_LOG` plus line."""
    time_ms: Offsets
    samples_count: Floats
    """Samples consumed by then, NaN where not named."""


def marks_by_key(rows: pl.DataFrame) -> dict[str, Marks]:
    """Return the marks with each key out of the rows of all."""
    keys = rows["key"].to_numpy()
    columns = rows["place"].to_numpy(), rows["time_ms"].to_numpy(), rows["samples_count"].to_numpy()
    chosen = {key: (keys == number).nonzero()[0] for number, key in enumerate(MARK_ROWS.keys)}
    return {key: Marks(*(column[places] for column in columns)) for key, places in chosen.items()}


class RowColumns:
    """Rows of one kind out of many logs.

    Columns: `log` (its number), `line`, `place` (log times `LINES_A_LOG` plus line), `time_ms`, `key` (its place among
    the keys of the kind) and those of the kind.
    """

    def __init__(self, kind: RowKind, texts: Collection[str] = ()) -> None:
        """Take the kind, and which of its columns hold text; the others hold numbers."""
        whole = {"place": pl.Int64(), "time_ms": pl.Int64(), "key": pl.Int8()}
        self._schema = whole | {name: pl.String() if name in texts else pl.Float64() for name in kind.columns}
        self._kind = kind
        self._keys = {key: number for number, key in enumerate(kind.keys)}
        self._known_count = 0
        self._known = {name: _Column(name, dtype) for name, dtype in whole.items()}
        self._decoded: list[tuple[Any, ...]] = []
        self._decoded_frames: list[pl.DataFrame] = []

    def add(self, known: KnownRows, events: Sequence[Event]) -> None:
        """Gather rows that were known, and those that decoded events make."""
        of_all: dict[str, npt.NDArray[Any]] = {"place": known.places, "time_ms": known.time_ms, "key": known.keys}
        for name, values in (of_all | known.numbers | known.texts).items():
            self._column(name).add(self._known_count, values)
        self._known_count += len(known.places)
        rows = ((event, self._kind.read(event)) for event in events)
        self._decoded += [
            (event.place, event.time_ms, self._keys[event.key], *row) for event, row in rows if row is not None
        ]
        if len(self._decoded) > _ROWS_HELD_AS_TUPLES:
            self._hold_as_frame()

    def __len__(self) -> int:
        return self._known_count + sum(map(len, self._decoded_frames)) + len(self._decoded)

    def frame(self, needed: Collection[str]) -> pl.DataFrame:
        """Return the columns in the order of places; they are no longer held here.

        Of the kind's columns those that are not needed may be absent if no row has a value in them: of the many names
        of statistics most logs use few.
        """
        for name in needed:
            self._column(name)
        columns, self._known = list(self._known.values()), {}
        rows = pl.DataFrame([column.series(self._known_count) for column in columns])
        self._hold_as_frame()
        if self._decoded_frames:
            rows = pl.concat([rows, *self._decoded_frames], how="diagonal").sort("place", maintain_order=True)
        log, line = np.divmod(rows["place"].to_numpy(), LINES_A_LOG)
        return rows.select(pl.Series("log", log), pl.Series("line", line), pl.all())

    def _column(self, name: str) -> _Column:
        if name not in self._known:
            self._known[name] = _Column(name, self._schema[name])
        return self._known[name]

    def _hold_as_frame(self) -> None:
        if self._decoded:
            named = zip(self._schema.items(), zip(*self._decoded, strict=True), strict=True)
            columns = [pl.Series(name, list(values), dtype) for (name, dtype), values in named]
            self._decoded_frames.append(pl.DataFrame(columns))
            self._decoded = []


class _Column:
    """A column out of parts.

    Some parts at once are joined: small arrays that stay lie scattered between the larger ones that come and go.
    """

    def __init__(self, name: str, dtype: pl.DataType) -> None:
        self._name = name
        self._dtype = dtype
        self._joined: list[npt.NDArray[Any]] = []
        # Of the column's own type: joined with whole numbers, an empty array of others makes all of them floats.
        self._parts: list[npt.NDArray[Any]] = [pl.Series(dtype=dtype).to_numpy()]
        self._row_count = 0

    def add(self, first_row: int, values: npt.NDArray[Any]) -> None:
        """Add values, of which the first belongs to that row; rows that are passed over have none."""
        self._fill(first_row)
        self._parts.append(values)
        self._row_count += len(values)
        if len(self._parts) >= _PARTS_JOINED:
            self._joined.append(np.concatenate(self._parts))
            self._parts = []

    def series(self, row_count: int) -> pl.Series:
        """Return the column with so many rows."""
        self._fill(row_count)
        values = np.concatenate(self._joined + self._parts)
        if self._dtype == pl.String:
            return pl.Series(self._name, values.tolist(), self._dtype)
        return pl.Series(self._name, values, self._dtype, nan_to_null=True)

    def _fill(self, row_count: int) -> None:
        missing_count = row_count - self._row_count
        if missing_count:
            self._parts.append(np.full(missing_count, None if self._dtype == pl.String else math.nan))
            self._row_count = row_count


def step_of(metadata: Metadata) -> float | None:
    """Return the step that an event names, if it is a number."""
    step = metadata.step if metadata.step_num is None else metadata.step_num
    return step if type(step) is float else None
