"""Sums and means whose last digit does not depend on the order in which rows come: smallest first, one by one.

Groups of joined rows come in any order, and additions of floating-point numbers do not commute; sorting alone does
not help, since a sum is free to drop it.
"""

from __future__ import annotations

import polars as pl


def ordered_sum(values: pl.Expr) -> pl.Expr:
    """Return the sum of values, as an aggregation; null for none, also where all are null."""
    return values.sort().cum_sum().last()


def ordered_mean(values: pl.Expr) -> pl.Expr:
    """Return the mean of the values that are not null, as an aggregation; null for none."""
    return ordered_sum(values) / values.count()
