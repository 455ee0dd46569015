"""Findings about published specifications as rows of `mart.findings`, and what changed between two states of the facts.

What is wrong in a sheet is found by its reader; which of two figures is believed in `facts`.
"""

from __future__ import annotations

import polars as pl

from pipelines.schemas.facts_core import SpecFacts
from pipelines.schemas.findings import findings_frame

_TOLD = ("error", "warning")
_KEY = tuple(SpecFacts.primary_key())
_SHOWN = ("printed", "printed_unit", "value", "value_low", "value_high", "words", "unit", "source_address")

FACT_CHANGES = {
    **dict.fromkeys(_KEY, pl.String),
    "change": pl.String,
    "before": pl.String,
    "after": pl.String,
    "source_address": pl.String,
}
"""Columns of `fact_changes`."""


def sheet_remarks(findings: pl.DataFrame) -> pl.DataFrame:
    """Return what a person should look at: the errors and warnings of `core.sheet_findings`."""
    place = pl.concat_str(
        pl.col("source"),
        pl.col("path").replace("", None),
        pl.col("place").replace("", None),
        separator=" ",
        ignore_nulls=True,
    )
    told = findings.filter(pl.col("severity").is_in(_TOLD))
    return findings_frame(told.with_columns(place.alias("subject"), pl.col("source_address").alias("evidence")))


def fact_changes(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Return which facts changed from what to what.

    Args:
        before: Rows of `core.spec_facts`.
        after: Rows of the same table, later.

    Returns:
        A row for each fact that was added, removed, or that prints something else, with the columns of
        `FACT_CHANGES`, sorted by its key. Bytes that changed around a fact are no change of it.
    """
    old, new = (frame.select(*_KEY, *_SHOWN, _told().alias("told")) for frame in (before, after))
    joined = old.join(new, on=_KEY, how="full", coalesce=True, suffix="_after", nulls_equal=True)
    differs = pl.col("told").ne_missing(pl.col("told_after"))
    change = (
        pl.when(pl.col("told").is_null())
        .then(pl.lit("added"))
        .when(pl.col("told_after").is_null())
        .then(pl.lit("removed"))
        .otherwise(pl.lit("changed"))
    )
    return (
        joined.filter(differs)
        .select(
            *_KEY,
            change.alias("change"),
            pl.col("told").alias("before"),
            pl.col("told_after").alias("after"),
            pl.coalesce("source_address_after", "source_address").alias("source_address"),
        )
        .sort(_KEY)
    )


def _told() -> pl.Expr:
    """Return what a fact prints, with its unit where the text does not hold it."""
    unit = pl.col("printed_unit")
    has_it = unit.is_null() | pl.col("printed").str.contains(unit, literal=True)
    return pl.when(has_it).then(pl.col("printed")).otherwise(pl.concat_str("printed", pl.lit(" "), unit))
