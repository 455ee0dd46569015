"""One efficiency for all parts: what a part without a run would take, and how badly such a guess fails.

t = peak_seconds / eta + b over all runs of a pool, peak_seconds being the time of a step's pipeline slots if every
accelerator ran at its dense peak. A part is predicted from the others; the error of that is the honest error of any
prediction for a part that no run is of.

Columns: `pool`, `part` (a part at a precision), `result_id`, `peak_seconds` and `step_seconds`.
"""

from __future__ import annotations

import polars as pl

from pipelines.modelling.flops import micro_batch_seconds_at_peak
from pipelines.modelling.least_squares import two_parameters
from pipelines.modelling.step_time import pipeline_slots
from pipelines.modelling.sums import ordered_sum

_SUMS = ("n", "uu", "uv", "vv", "ut", "vt")


def peak_seconds() -> pl.Expr:
    """Return the time of a step's slots at peak; needs the columns of `flops.micro_batch_efficiency` and of a step."""
    return micro_batch_seconds_at_peak() * pipeline_slots()


def fit_pools(runs: pl.LazyFrame) -> pl.LazyFrame:
    """Return `pool, run_count, part_count, efficiency, fixed_seconds`: the fit to all runs of each pool."""
    parts = runs.group_by("pool").agg(part_count=pl.col("part").n_unique().cast(pl.Int64))
    return _solve(_summed(runs, "pool")).join(parts, on="pool")


def leave_each_part_out(runs: pl.LazyFrame) -> pl.LazyFrame:
    """Return `pool, part, run_count, efficiency, fixed_seconds`: the fit to all other parts of the pool."""
    own = _summed(runs, "pool", "part")
    whole = _summed(runs, "pool").rename({name: f"{name}_all" for name in _SUMS})
    others = own.join(whole, on="pool").with_columns(
        (pl.col(f"{name}_all") - pl.col(name)).alias(name) for name in _SUMS
    )
    return _solve(others.select("pool", "part", *_SUMS))


def transferred_step_seconds() -> pl.Expr:
    """Return the time of a step by a pool's parameters; needs `peak_seconds`."""
    return pl.col("peak_seconds") / pl.col("efficiency") + pl.col("fixed_seconds")


def _summed(runs: pl.LazyFrame, *keys: str) -> pl.LazyFrame:
    """Sum the terms of the normal equations; relative errors, so both columns are over the measured time."""
    u, v = pl.col("peak_seconds") / pl.col("step_seconds"), 1 / pl.col("step_seconds")
    return runs.group_by(*keys).agg(
        n=pl.len().cast(pl.Float64),
        uu=ordered_sum(u * u),
        uv=ordered_sum(u * v),
        vv=ordered_sum(v * v),
        ut=ordered_sum(u),
        vt=ordered_sum(v),
    )


def _solve(sums: pl.LazyFrame) -> pl.LazyFrame:
    slope, fixed = two_parameters("uu", "uv", "vv", "ut", "vt", "n")
    is_possible = slope > 0
    return sums.with_columns(
        run_count=pl.col("n").round().cast(pl.Int64),
        efficiency=pl.when(is_possible).then(1 / slope),
        fixed_seconds=pl.when(is_possible).then(fixed),
    ).drop(_SUMS)
