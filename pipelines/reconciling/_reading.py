"""One reading of a figure as a row: what explains it, the value it would have, how near that must come.

Which readings there are belongs in `_fact_readings` and `_part_readings`.
"""

from __future__ import annotations

import polars as pl

KEY = ["subject", "quantity"]

SCHEMA = {
    "subject": pl.String,
    "quantity": pl.String,
    "form": pl.String,
    "reading_source": pl.String,
    "explained_by": pl.String,
    "expected_value": pl.Float64,
    "tolerance": pl.Float64,
    "priority": pl.Int64,
    "evidence": pl.String,
}


def reading(
    frame: pl.DataFrame,
    explained_by: str | pl.Expr,
    expected: pl.Expr,
    evidence: pl.Expr,
    *,
    tolerance: float | pl.Expr,
    priority: int,
    form: pl.Expr | None = None,
    source: pl.Expr | None = None,
) -> pl.DataFrame:
    """Return one reading for each row of a frame of figures, in the columns of `SCHEMA`."""
    return frame.select(
        *KEY,
        form=pl.col("form") if form is None else form,
        reading_source=pl.lit(None, dtype=pl.String) if source is None else source,
        explained_by=pl.lit(explained_by) if isinstance(explained_by, str) else explained_by,
        expected_value=expected,
        tolerance=pl.lit(tolerance) if isinstance(tolerance, float) else tolerance,
        priority=pl.lit(priority),
        evidence=evidence,
    )
