"""Short constructors for columns, so that a schema reads as a list of facts.

Integers are always Int64: a sum of Int64 and UInt64 becomes Int128, which DuckDB reads from Parquet as BLOB.
"""

from __future__ import annotations

from typing import Any

import dataframely as dy

ROUND = "Round as a readable name, such as training-v5.0"
SUBMITTER_FOLDER = "Submitter's folder in the repository; not always the submitter's name"
SYSTEM = "System folder: the name of its description file without .json"
RESULT = "Result by its readable name: round/submitter folder/system/benchmark, and /weak for a weak result"
"""What columns that many tables have say of themselves."""


def key(description: str) -> dy.String:
    """Return a text column that is part of the primary key."""
    return dy.String(primary_key=True, description=description)


def key_count(description: str) -> dy.Int64:
    """Return a whole-number column that is part of the primary key."""
    return dy.Int64(primary_key=True, description=description)


def text(description: str, *, nullable: bool = True, one_of: tuple[str, ...] | None = None) -> dy.String:
    """Return a text column; `one_of` names the only words that it may hold."""
    check = (lambda column: column.is_in(one_of)) if one_of else None
    metadata = {"one_of": one_of} if one_of else None
    return dy.String(nullable=nullable, description=description, check=check, metadata=metadata)


def count(description: str, *, unit: str | None = None, nullable: bool = True, minimum: int | None = 0) -> dy.Int64:
    """Return a whole-number column, at least `minimum`."""
    return dy.Int64(nullable=nullable, description=description, min=minimum, metadata=_unit(unit))


def number(
    description: str,
    *,
    unit: str | None = None,
    nullable: bool = True,
    minimum: float | None = None,
    any_float: bool = False,
) -> dy.Float64:
    """Return a floating-point column; `any_float` admits NaN and infinity, as logs can hold them."""
    return dy.Float64(
        nullable=nullable,
        description=description,
        min=minimum,
        allow_nan=any_float,
        allow_inf=any_float,
        metadata=_unit(unit),
    )


def flag(description: str, *, nullable: bool = True) -> dy.Bool:
    """Return a true-or-false column."""
    return dy.Bool(nullable=nullable, description=description)


def blob(description: str) -> dy.Binary:
    """Return a column of bytes as published."""
    return dy.Binary(nullable=True, description=description)


def _unit(unit: str | None) -> dict[str, Any] | None:
    return {"unit": unit} if unit else None
