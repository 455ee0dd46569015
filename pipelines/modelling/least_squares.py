"""Two parameters by least squares, as expressions over sums: a fit without a loop over its points."""

from __future__ import annotations

import polars as pl

LEAST_DETERMINANT = 1e-9
"""Share of the largest possible determinant below which points are too alike to tell two parameters apart."""


def two_parameters(uu: str, uv: str, vv: str, ut: str, vt: str, n: str) -> tuple[pl.Expr, pl.Expr]:
    """Return p and q that minimise the squares of p u + q v - t; null where the points do not tell them apart.

    Args:
        uu, uv, vv, ut, vt: columns with the sums of the products that they name.
        n: column with the number of points.
    """
    determinant = pl.col(uu) * pl.col(vv) - pl.col(uv) ** 2
    is_determined = (pl.col(n) > 1.5) & (determinant > LEAST_DETERMINANT * pl.col(uu) * pl.col(vv))
    p = (pl.col(ut) * pl.col(vv) - pl.col(vt) * pl.col(uv)) / determinant
    q = (pl.col(vt) * pl.col(uu) - pl.col(ut) * pl.col(uv)) / determinant
    return pl.when(is_determined).then(p), pl.when(is_determined).then(q)
