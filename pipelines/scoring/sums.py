"""Sums as the official tools add: one by one, in the order of the rows.

Sums whose rows have no order of their own belong in `modelling.sums`, which scoring does not use.
"""

from __future__ import annotations

import polars as pl


def plain_sum(values: pl.Expr) -> pl.Expr:
    """Add up one by one, as an aggregation: a compensated or pairwise sum can end in another digit than the official.

    Null for none; a null is passed over unless it comes last, which gives null.
    """
    return values.cum_sum().last()
