"""The gate in front of every table: rows that break a rule of the schema go to quarantine, the rest pass.

What the rules are belongs in `schemas`; where either kind of row is written belongs in `partitions`.
"""

from __future__ import annotations

from dataclasses import dataclass

import dataframely as dy
import polars as pl

from pipelines.lake.storage import LakeError
from pipelines.schemas import Table

QUARANTINE_SCHEMA = {"rule": pl.String(), "column": pl.String(), "row": pl.String()}
"""Columns of a table's quarantine: the rule broken, the column it is on (null for a rule on the row), the row."""

_WIDENED: dict[pl.DataType, tuple[type[pl.DataType], ...]] = {
    pl.Int64(): (pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16, pl.UInt32),
    pl.Float64(): (pl.Float32,),
}


class ColumnsError(LakeError):
    """A frame does not have the columns of the table that it is written to."""


@dataclass(frozen=True)
class Gated:
    """A frame sorted into what passes and what does not."""

    good: pl.DataFrame
    """Rows that keep every rule, sorted by primary key."""
    quarantine: pl.DataFrame
    """One row per broken rule of each row that does not pass."""
    bad_count: int
    duplicate_count: int


def gate(table: Table, frame: pl.DataFrame) -> Gated:
    """Collapse exact duplicates, then hold each row against the schema's rules.

    Duplicates go first, since rows that share a primary key all break the rule.

    Raises:
        ColumnsError: a column is missing, unknown or of another type.
    """
    frame, key = typed(table, frame), table.schema.primary_key()
    # Equal rows have equal keys, which are looked at in a third of the time; `select` would copy all columns.
    distinct = frame if frame[key].is_unique().all() else frame.unique(maintain_order=True)
    good, failure = table.schema.filter(distinct)
    details = failure.details()
    return Gated(
        good=good.sort(key),
        quarantine=_quarantine(table.schema, details),
        bad_count=details.height,
        duplicate_count=frame.height - distinct.height,
    )


def typed(table: Table, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with the table's columns in their order, narrower numbers widened.

    Raises:
        ColumnsError: a column is missing, unknown or of another type.
    """
    wanted = {name: column.dtype for name, column in table.schema.columns().items()}
    found = dict(frame.schema)
    if list(found.items()) == list(wanted.items()):
        return frame
    missing = [name for name in wanted if name not in found]
    unknown = [name for name in found if name not in wanted]
    other = [
        f"{name} ({found[name]} for {dtype})"
        for name, dtype in wanted.items()
        if name in found and not _fits(found[name], dtype)
    ]
    problems = {"missing": missing, "unknown": unknown, "of another type": other}
    if any(problems.values()):
        named = "; ".join(f"{problem}: {', '.join(names)}" for problem, names in problems.items() if names)
        raise ColumnsError(f"{table.name}: expected the columns of the schema; found {named}")
    return frame.select(pl.col(name).cast(dtype) for name, dtype in wanted.items())


def _fits(found: pl.DataType, wanted: pl.DataType) -> bool:
    return found in (wanted, pl.Null) or found in _WIDENED.get(wanted, ())


def _quarantine(schema: type[dy.Schema], details: pl.DataFrame) -> pl.DataFrame:
    if details.is_empty():
        return pl.DataFrame(schema=QUARANTINE_SCHEMA)
    names = schema.column_names()
    rules = [name for name in details.columns if name not in names]
    rows = details.select(_row_text(details.select(names)), *rules)
    broken = rows.unpivot(on=rules, index="row", variable_name="rule", value_name="outcome").filter(
        pl.col("outcome").cast(pl.String) == "invalid"
    )
    column, rule = pl.col("rule").str.extract(r"^(.*)\|"), pl.col("rule").str.extract(r"([^|]*)$")
    return broken.select(rule.alias("rule"), column.alias("column"), "row").sort("row", "column", "rule")


def _row_text(frame: pl.DataFrame) -> pl.Expr:
    """Return each row as a JSON object; bytes as base64, NaN and infinity, which JSON lacks, as text."""
    return pl.struct(_json_value(frame[name]) for name in frame.columns).struct.json_encode().alias("row")


def _json_value(column: pl.Series) -> pl.Expr:
    if column.dtype == pl.Binary:
        return pl.col(column.name).bin.encode("base64")
    if column.dtype == pl.Float64 and not (column.is_finite().all(ignore_nulls=True)):
        return pl.col(column.name).cast(pl.String)
    return pl.col(column.name)
