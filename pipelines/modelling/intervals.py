"""Intervals about a predicted time: how far such predictions missed, and how far benchmark runs scatter.

An interval is stated with its method and level; where too few runs were left out to tell, there is none.
"""

from __future__ import annotations

import polars as pl

from pipelines.modelling.sums import ordered_mean

LEVEL_PERCENT = 95
BENCHMARK_NOISE_PERCENT = 5.0
"""What MLCommons states for the scatter of benchmarks other than imaging, about +-5 %; taken as a 95 % band."""

LEAST_ERRORS = 3
"""Held-out errors below which a spread says nothing."""

# two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom, then the normal quantile
_T_QUANTILES = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
)  # fmt: skip
_NORMAL_QUANTILE = 1.9600


def t_quantile(degrees_of_freedom: pl.Expr) -> pl.Expr:
    """Return the two-sided 95 % quantile of Student's t; null below one degree of freedom."""
    table = dict(enumerate(_T_QUANTILES, start=1))
    beyond = pl.when(degrees_of_freedom > len(_T_QUANTILES)).then(_NORMAL_QUANTILE)
    return degrees_of_freedom.replace_strict(table, default=None, return_dtype=pl.Float64).fill_null(beyond)


def half_width_percent(error_percent: pl.Expr) -> pl.Expr:
    """Return, as an aggregation, the half-width of an interval from held-out errors; null for too few.

    The root mean square of the errors about zero, so that a bias widens the interval too, times Student's t, and the
    benchmark's noise, in quadrature. Simulated families of six are covered in 91 to 100 % of cases, the less the more
    their scatter exceeds the benchmark's noise: sizes at the ends of a family are harder to meet than the others.
    """
    count = error_percent.count()
    spread = t_quantile(count) * ordered_mean(error_percent**2).sqrt()
    return pl.when(count >= LEAST_ERRORS).then((spread**2 + BENCHMARK_NOISE_PERCENT**2).sqrt())
