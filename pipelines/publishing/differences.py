"""What differs between two states of the tables: rows added, removed and changed, by table and column.

A state is a data folder, a lake or a release. What a difference means belongs to who reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import polars as pl

from pipelines.lake.queries import Ask
from pipelines.lake.storage import SHARED, LakeError
from pipelines.lake.tables import Lake
from pipelines.schemas import TABLES, Table

DESCRIPTOR = "datapackage.json"
"""File by which a release is known."""

DIFFERENCES: Mapping[str, type[pl.DataType]] = {
    "table_name": pl.String,
    "change": pl.String,
    "row_key": pl.String,
    "column_name": pl.String,
    "old_value": pl.String,
    "new_value": pl.String,
}
"""One row per table, row and column that differs; `column_name` and the values are null for a whole row."""

_WHOLE = "all"


class NoSuchStateError(LakeError):
    """A place holds neither a lake nor a release."""


class State(Protocol):
    """All tables at one time."""

    def parts(self, name: str) -> dict[str, str]:
        """Return the parts of a table, each with a digest of its rows."""

    def read(self, name: str, parts: Iterable[str]) -> pl.DataFrame:
        """Return the rows of those parts, with the columns that they were written with."""


class LakeState:
    """The tables of a lake."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake

    def parts(self, name: str) -> dict[str, str]:
        """Return the partitions with their SHA-256."""
        found = {}
        for partition in self._lake.partitions(name):
            manifest = self._lake.manifest(name, partition)
            found[partition] = manifest.sha256 if manifest else "unknown"
        return found

    def read(self, name: str, parts: Iterable[str]) -> pl.DataFrame:
        """Return the rows of those partitions."""
        frames = [self._lake.read_as_written(name, part) for part in parts]
        return pl.concat(frames, how="diagonal_relaxed")


class ReleaseState:
    """The tables of a release."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def parts(self, name: str) -> dict[str, str]:
        """Return the one file of a table, which counts as different from any other."""
        path = self._path(name)
        return {_WHOLE: f"{path}"} if path.is_file() else {}

    def read(self, name: str, parts: Iterable[str]) -> pl.DataFrame:
        """Return its rows."""
        try:
            return pl.read_parquet(self._path(name), hive_partitioning=False)
        except pl.exceptions.PolarsError as error:
            raise LakeError(f"{self._path(name)}: not a whole Parquet file: {error}") from error

    def _path(self, name: str) -> Path:
        return self._folder / "parquet" / f"{name}.parquet"


class WarehouseState:
    """The answers in a warehouse, as it stands before another takes its place."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._tables = set(ask("SELECT schema_name || '.' || table_name AS name FROM duckdb_tables()")["name"])

    def parts(self, name: str) -> dict[str, str]:
        """Return the table as its one part, which counts as different from any other."""
        return {_WHOLE: "in the warehouse"} if name in self._tables else {}

    def read(self, name: str, parts: Iterable[str]) -> pl.DataFrame:
        """Return its rows."""
        return self._ask(f"FROM {name}")


def open_state(location: Path | str) -> State:
    """Return the state at a data folder, a release, or a lake: a folder or `s3://bucket/prefix`.

    Raises:
        NoSuchStateError: it is none of these.
    """
    if str(location).startswith(SHARED):
        return _shared_state(str(location))
    place = Path(location)
    if (place / DESCRIPTOR).is_file():
        return ReleaseState(place)
    for folder in (place / "lake", place):
        if any((folder / entry.layer).is_dir() for entry in TABLES.values()):
            return LakeState(Lake.at(str(folder)))
    raise NoSuchStateError(f"{place}: expected a data folder, a lake or a release, found none of them")


def _shared_state(location: str) -> State:
    lake = Lake.at(location)
    if not any(lake.partitions(name) for name in TABLES):
        raise NoSuchStateError(f"{location}: expected a lake, found none")
    return LakeState(lake)


def differences(old: State, new: State, names: Sequence[str] = tuple(TABLES)) -> pl.DataFrame:
    """Return the differences of those tables as `DIFFERENCES`, in the order of the tables and of their keys."""
    frames = [frame for name in names for frame in _of_table(old, new, TABLES[name])]
    return pl.concat([pl.DataFrame(schema=DIFFERENCES), *frames])


def summary(found: pl.DataFrame) -> pl.DataFrame:
    """Return how many rows differ: one row per table, kind of change and column."""
    return found.group_by("table_name", "change", "column_name", maintain_order=True).agg(row_count=pl.len())


def compare_frames(name: str, old: pl.DataFrame, new: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the differences of two states of one table as `DIFFERENCES`.

    Args:
        name: What the rows of the answer call the table.
        old: Rows before; bytes are compared by what else a row says of them.
        new: Rows after.
        keys: Columns that name a row; unique in both.
    """
    old, new = (frame.select(pl.exclude(pl.Binary)) for frame in (old, new))
    columns = [_columns_differ(name, old, new)]
    lacking = [key for key in keys if key not in old.columns or key not in new.columns]
    if lacking:
        columns.append(_rows(name, "not_comparable", [f"no column {', '.join(lacking)} on both sides"]))
        return pl.concat(columns)
    label = pl.concat_str([pl.col(key).cast(pl.String).fill_null("") for key in keys], separator=" | ")
    old, new = (frame.with_columns(label.alias("_row")).sort(keys) for frame in (old, new))
    added = new.join(old, on="_row", how="anti", maintain_order="left")
    removed = old.join(new, on="_row", how="anti", maintain_order="left")
    return pl.concat(
        [
            *columns,
            _rows(name, "added", added["_row"]),
            _rows(name, "removed", removed["_row"]),
            *_changed(name, old, new, [column for column in new.columns if column not in (*keys, "_row")]),
        ]
    )


def _of_table(old: State, new: State, entry: Table) -> Iterator[pl.DataFrame]:
    before, after = old.parts(entry.name), new.parts(entry.name)
    for left, right in _pairs(before, after):
        if left == right and all(before[part] == after[part] for part in left):
            continue
        yield compare_frames(entry.name, _read(old, entry, left), _read(new, entry, right), entry.schema.primary_key())


def _read(state: State, entry: Table, parts: Sequence[str]) -> pl.DataFrame:
    return state.read(entry.name, parts) if parts else entry.schema.create_empty()


def _pairs(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[tuple[list[str], list[str]]]:
    """Give what is to be compared: part by part, or all at once where one side is a single file."""
    if (_WHOLE in before) != (_WHOLE in after):
        yield sorted(before), sorted(after)
        return
    for part in sorted({*before, *after}):
        yield [part] * (part in before), [part] * (part in after)


def _columns_differ(name: str, old: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    frames = []
    for change, ours, theirs in (("column_added", new, old), ("column_removed", old, new)):
        for column in ours.columns:
            if column not in theirs.columns and not (ours.is_empty() or theirs.is_empty()):
                frames.append(_rows(name, change, [""]).with_columns(column_name=pl.lit(column)))
    return pl.concat([pl.DataFrame(schema=DIFFERENCES), *frames])


def _changed(name: str, old: pl.DataFrame, new: pl.DataFrame, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    both = new.join(old, on="_row", how="inner", suffix=":old", maintain_order="left")
    for column in columns:
        if f"{column}:old" not in both.columns:
            continue
        before, after = pl.col(f"{column}:old"), pl.col(column)
        if both.schema[column] != both.schema[f"{column}:old"]:
            before, after = before.cast(pl.String), after.cast(pl.String)
        yield both.filter(before.ne_missing(after)).select(
            table_name=pl.lit(name),
            change=pl.lit("changed"),
            row_key="_row",
            column_name=pl.lit(column),
            old_value=before.cast(pl.String),
            new_value=after.cast(pl.String),
        )


def _rows(name: str, change: str, rows: Sequence[str] | pl.Series) -> pl.DataFrame:
    nothing = pl.lit(None, dtype=pl.String)
    return pl.DataFrame({"row_key": rows}, schema={"row_key": pl.String}).select(
        table_name=pl.lit(name),
        change=pl.lit(change),
        row_key="row_key",
        column_name=nothing,
        old_value=nothing,
        new_value=nothing,
    )
