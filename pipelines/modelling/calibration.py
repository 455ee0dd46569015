"""Fits to published runs, and what each run's time would have been with itself left out.

A family is one workload on one part, precision, software round and layout. Both models have two parameters, so a fit
is the solution of two normal equations; leaving runs out takes their terms off the sums, without a loop.

Where all members of a family run the same number of micro-batches, as small models do that fit one in a step, only the
sum of the two parts of a step is known: the step itself, for that number and no other.

Columns of a member: `family, member, pipeline_slots, step_seconds, data_parallel, accelerator_count,
global_batch_size`, and `eval_seconds` and `remainder_seconds`, null where a log does not tell them.
"""

from __future__ import annotations

import polars as pl

from pipelines.modelling.least_squares import two_parameters
from pipelines.modelling.step_time import samples_per_second_per_accelerator, step_seconds
from pipelines.modelling.sums import ordered_mean, ordered_sum

PARAMETERS = (
    "micro_batch_seconds",
    "fixed_seconds",
    "even_slots",
    "even_step_seconds",
    "eval_base_seconds",
    "eval_per_replica_seconds",
    "other_seconds",
)
"""What a fit gives: a and b of the step, or else the step at one number of slots; c0 and c1 of an evaluation
c0 + c1 / DP; the mean of the remainder."""

_SUMS = ("n", "xx", "xy", "yy", "x", "y", "eval_n", "eval_z", "eval_zz", "eval_t", "eval_zt", "rest_n", "rest_t")
_SAME_SLOTS = 1e-6
"""Share by which two numbers of slots may differ and still be the same."""


def fit(members: pl.LazyFrame) -> pl.LazyFrame:
    """Return the parameters of each family, its size and its errors, one row per family.

    Errors are percentages of the measured step time, predicted over measured minus one; what cannot be estimated
    is null. `linear_baseline_error_percent` keeps the throughput per accelerator of the smallest size.
    """
    fitted = _with_sums(members).group_by("family").agg(ordered_sum(pl.col(*_SUMS))).pipe(_solve)
    errors = _in_sample(members, fitted).join(_leave_one_out(members), on="family", how="left")
    sizes = members.group_by("family").agg(
        n=pl.len().cast(pl.Int64),
        accelerator_count_least=pl.col("accelerator_count").min(),
        accelerator_count_most=pl.col("accelerator_count").max(),
    )
    return (
        sizes.join(fitted, on="family", how="left")
        .join(errors, on="family", how="left")
        .join(_largest_held_out(members), on="family", how="left")
        .sort("family")
    )


def hold_out_each(members: pl.LazyFrame) -> pl.LazyFrame:
    """Return `family, member` and the parameters that the other members of the family give."""
    sums = _with_sums(members)
    own = sums.select("family", "member", *_SUMS)
    family = sums.group_by("family").agg(ordered_sum(pl.col(*_SUMS)).name.suffix("_all"))
    remaining = own.join(family, on="family").with_columns(
        (pl.col(f"{name}_all") - pl.col(name)).alias(name) for name in _SUMS
    )
    return _solve(remaining).select("family", "member", "fitted_count", *PARAMETERS)


def hold_out_pairs(members: pl.LazyFrame) -> pl.LazyFrame:
    """Return `family, member, tested` and the parameters without either, one row per ordered pair.

    A fit that left `member` out is tested on `tested`, which is left out as well: the spread of these errors over
    `tested` tells how far such a prediction misses, without looking at `member`.
    """
    sums = _with_sums(members)
    family = sums.group_by("family").agg(ordered_sum(pl.col(*_SUMS)).name.suffix("_all"))
    first = sums.select("family", "member", *_SUMS)
    second = sums.select("family", pl.col("member").alias("tested"), pl.col(*_SUMS).name.suffix("_tested"))
    pairs = first.join(second, on="family").filter(pl.col("member") != pl.col("tested")).join(family, on="family")
    remaining = pairs.with_columns(
        (pl.col(f"{name}_all") - pl.col(name) - pl.col(f"{name}_tested")).alias(name) for name in _SUMS
    )
    return _solve(remaining).select("family", "member", "tested", "fitted_count", *PARAMETERS)


def percent_error(predicted: pl.Expr, measured: pl.Expr) -> pl.Expr:
    """Return predicted over measured, minus one, in percent."""
    return (predicted / measured - 1) * 100


def _with_sums(members: pl.LazyFrame) -> pl.LazyFrame:
    """Add each member's terms of the normal equations.

    The step fit minimises the squares of (a slots + b) / measured - 1, so both columns are divided by the measured
    time; the evaluation fit takes plain seconds against 1 / DP.
    """
    slots = pl.col("pipeline_slots") / pl.col("step_seconds")
    once = 1 / pl.col("step_seconds")
    evaluation, replicas = pl.col("eval_seconds"), 1 / pl.col("data_parallel")
    has_eval = evaluation.is_not_null()
    rest = pl.col("remainder_seconds")
    return members.with_columns(
        n=pl.lit(1.0),
        xx=slots * slots,
        xy=slots * once,
        yy=once * once,
        x=slots,
        y=once,
        eval_n=has_eval.cast(pl.Float64),
        eval_z=pl.when(has_eval).then(replicas).otherwise(0.0),
        eval_zz=pl.when(has_eval).then(replicas * replicas).otherwise(0.0),
        eval_t=evaluation.fill_null(0.0),
        eval_zt=(replicas * evaluation).fill_null(0.0),
        rest_n=rest.is_not_null().cast(pl.Float64),
        rest_t=rest.fill_null(0.0),
    )


def calibrated_step_seconds(slots: pl.Expr) -> pl.Expr:
    """Return the time of a step of so many slots by the parameters of a fit; null where they do not tell it."""
    is_even = (slots / pl.col("even_slots") - 1).abs() < _SAME_SLOTS
    return pl.coalesce(step_seconds(slots), pl.when(is_even).then(pl.col("even_step_seconds")))


def _solve(sums: pl.LazyFrame) -> pl.LazyFrame:
    """Add the parameters that the sums determine, null where they determine none, and how many members they hold.

    Evaluations that all had the same number of replicas tell c0 from c1 no more than any: as their work is spread over
    the replicas, it is then all in c1.
    """
    a, b = two_parameters("xx", "xy", "yy", "x", "y", "n")
    per_replica, base = two_parameters("eval_zz", "eval_z", "eval_n", "eval_zt", "eval_t", "eval_n")
    is_even, has_eval = (pl.col("n") > 1.5) & a.is_null(), pl.col("eval_n") > 0.5
    return sums.with_columns(
        fitted_count=pl.col("n").round().cast(pl.Int64),
        micro_batch_seconds=a,
        fixed_seconds=b,
        even_slots=pl.when(is_even).then(pl.col("x") / pl.col("y")),
        even_step_seconds=pl.when(is_even).then(pl.col("y") / pl.col("yy")),
        eval_base_seconds=pl.coalesce(base, pl.when(has_eval).then(0.0)),
        eval_per_replica_seconds=pl.coalesce(
            per_replica, pl.when(has_eval).then(pl.col("eval_zt") / pl.col("eval_zz"))
        ),
        other_seconds=pl.when(pl.col("rest_n") > 0.5).then(pl.col("rest_t") / pl.col("rest_n")),
    ).drop(_SUMS)


def _step_error() -> pl.Expr:
    return percent_error(calibrated_step_seconds(pl.col("pipeline_slots")), pl.col("step_seconds"))


def _in_sample(members: pl.LazyFrame, fitted: pl.LazyFrame) -> pl.LazyFrame:
    """Two members are met exactly by two parameters: their error is no estimate, so it is null."""
    error = ordered_mean(_step_error().abs())
    return (
        members.join(fitted, on="family")
        .group_by("family")
        .agg(in_sample_mape_percent=pl.when(pl.len() > 2).then(error))
    )


def _leave_one_out(members: pl.LazyFrame) -> pl.LazyFrame:
    """Null unless every member could be held out."""
    errors = members.join(hold_out_each(members), on=["family", "member"]).with_columns(error=_step_error().abs())
    is_whole = pl.col("error").is_not_null().all()
    return errors.group_by("family").agg(
        leave_one_out_mape_percent=pl.when(is_whole).then(ordered_mean(pl.col("error"))),
        leave_one_out_worst_percent=pl.when(is_whole).then(pl.col("error").max()),
    )


def _largest_held_out(members: pl.LazyFrame) -> pl.LazyFrame:
    """Hold out every member of the largest size, and predict them from the others and from the smallest size."""
    size = pl.col("accelerator_count")
    with_place = members.with_columns(
        is_largest=size == size.max().over("family"), is_smallest=size == size.min().over("family")
    )
    others = _with_sums(with_place.filter(~pl.col("is_largest"))).group_by("family").agg(ordered_sum(pl.col(*_SUMS)))
    rate = samples_per_second_per_accelerator(pl.col("step_seconds"))
    base = (
        with_place.filter(pl.col("is_smallest") & ~pl.col("is_largest"))
        .group_by("family")
        .agg(base_rate=ordered_mean(rate))
    )
    linear = pl.col("global_batch_size") / pl.col("accelerator_count") / pl.col("base_rate")
    return (
        with_place.filter("is_largest")
        .join(_solve(others), on="family")
        .join(base, on="family")
        .group_by("family")
        .agg(
            largest_held_out_error_percent=ordered_mean(_step_error()),
            linear_baseline_error_percent=ordered_mean(percent_error(linear, pl.col("step_seconds"))),
        )
    )
