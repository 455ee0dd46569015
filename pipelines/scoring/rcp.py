"""Reference convergence points: what the reference needed to reach the target, and the factor that follows from it.

The points are data (`rcp_points.csv`). A factor computed here is a check on the published one and never takes its
place in a score.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from importlib import resources

import numpy as np
import polars as pl

from pipelines.scoring.rules import Rules

LEVEL = 0.05
"""Level of the one-sided t-test (training_rules.adoc, reference convergence points)."""

_FEWER_SAMPLES_ALLOWED = {"llama31_405b": 46_080}
"""What the least acceptable mean is lowered by (rcp_checker.py of mlperf-logging 4.1.68, rulesets from 5.0.0 on)."""

_KEYS = ["round", "benchmark"]


@cache
def load_points() -> pl.DataFrame:
    """Return the published points: `round, benchmark, batch_size, run_count, mean_progress, deviation_progress,
    record`, one row per round, benchmark and batch size. Progress is in the unit that the benchmark logs."""
    text = resources.files("pipelines.scoring").joinpath("rcp_points.csv").read_bytes()
    return pl.read_csv(
        text,
        comment_prefix="#",
        schema_overrides={"mean_progress": pl.Float64, "deviation_progress": pl.Float64, "run_count": pl.Int64},
    )


@cache
def reference_points() -> pl.DataFrame:
    """Return the points from the batch size that converges fastest on, sorted by batch size.

    A smaller batch that needs more progress says that it was tuned less, so the rule takes the fastest for it.
    """
    return _by_benchmark(lambda group: group[_from_fastest(group)])


@cache
def pruned_points() -> pl.DataFrame:
    """Return the points that the official check compares with, sorted by batch size.

    Of `reference_points`, those go that converge slower than their neighbours would have it by linear interpolation
    (rcp_checker.py of mlperf-logging 4.1.68, `_prune_rcps`).
    """
    return _by_benchmark(lambda group: group[_lower_hull(group, _from_fastest(group))])


def expected_progress(frame: pl.DataFrame) -> pl.DataFrame:
    """Add what the round's reference needs at each batch size.

    Exact where there is a point of that batch size, linear between points, flat below the least, null above the
    most: there the rules ask for a new point.

    Args:
        frame: any frame with `round`, `benchmark` and `global_batch_size`.

    Returns:
        The frame, its rows in their order, with `expected_samples` (in the unit that the benchmark logs) and
        `expected_samples_source`: `exact`, `interpolated`, `least`, or null where there is no point.
    """
    bracketed = _with_bracket(frame, reference_points())
    return bracketed.select(
        *frame.columns,
        _between("mean_progress").alias("expected_samples"),
        _source().alias("expected_samples_source"),
    ).collect(engine="in-memory")


def recompute_factors(results: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    """Add the convergence factor that the round's points give.

    The factor is the reference mean over the submission's mean where that is faster, yet not faster than a one-sided
    t-test at 5 % allows; a submission beyond that fails the check and has no factor.

    Args:
        results: any frame with `round`, `benchmark`, `global_batch_size` and `samples_to_converge`, the olympic mean
            of the runs' progress.
        rules: the rules of the rounds.

    Returns:
        The frame, its rows in their order, with `rcp_reference_samples`, the mean that is compared with (from the
        pruned points), `rcp_reference_source` (`exact`, `interpolated`, `least` or null), `rcp_minimum_samples`, the
        least mean that the t-test accepts, `rcp_factor_recomputed` and `rcp_check`: `passed`, `normalised`,
        `too_fast`, or `no_point` where nothing could be compared.
    """
    bracketed = _with_bracket(results, pruned_points()).join(
        rules.benchmarks.lazy()
        .filter(pl.col("scaling_mode") == "strong")
        .select(*_KEYS, rule_run_count="required_run_count", rule_drop="olympic_drop"),
        on=_KEYS,
        how="left",
        maintain_order="left",
    )
    exact = pl.col("low_batch_size") == pl.col("high_batch_size")
    own_runs = pl.col("low_run_count") - 2 * pl.col("rule_drop")
    compared = (
        bracketed.with_columns(
            rcp_reference_samples=_between("mean_progress"),
            deviation=_between("deviation_progress"),
            reference_runs=pl.when(exact).then(own_runs).otherwise(2 * pl.col("rule_run_count")),
            submission_runs=pl.col("rule_run_count") - 2,
        )
        .with_columns(degrees_of_freedom=pl.col("reference_runs") + pl.col("submission_runs") - 2)
        .with_columns(quantile=pl.col("degrees_of_freedom").map_elements(_quantile, return_dtype=pl.Float64))
        .with_columns(least_acceptable=_least_acceptable())
        .with_columns(rcp_check=_check())
    )
    factor = pl.col("rcp_reference_samples") / pl.col("samples_to_converge")
    return compared.select(
        *results.columns,
        "rcp_reference_samples",
        _source().alias("rcp_reference_source"),
        pl.col("least_acceptable").alias("rcp_minimum_samples"),
        pl.when(pl.col("rcp_check") == "normalised")
        .then(factor)
        .when(pl.col("rcp_check") == "passed")
        .then(1.0)
        .alias("rcp_factor_recomputed"),
        "rcp_check",
    ).collect(engine="in-memory")


def _quantile(degrees_of_freedom: int) -> float:
    return t_quantile(1 - LEVEL, degrees_of_freedom)


@cache
def t_quantile(probability: float, degrees_of_freedom: int) -> float:
    """Return the quantile of Student's t distribution, for a probability over one half.

    Bisection on the integral of the density (Abramowitz and Stegun, 26.7.1), taken over the angle
    `t = sqrt(df) tan(angle)`, in which the density is a power of the cosine.
    """
    nodes, weights = np.polynomial.legendre.leggauss(64)
    log_scale = math.lgamma((degrees_of_freedom + 1) / 2) - math.lgamma(degrees_of_freedom / 2)
    scale = math.exp(log_scale) / math.sqrt(math.pi)

    def over_half(angle: float) -> float:
        angles = angle / 2 * (nodes + 1)
        return scale * angle / 2 * float(weights @ np.cos(angles) ** (degrees_of_freedom - 1))

    low, high = 0.0, math.pi / 2
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if over_half(middle) < probability - 0.5 else (low, middle)
    return math.sqrt(degrees_of_freedom) * math.tan(middle)


def _by_benchmark(choose: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.DataFrame:
    groups = load_points().sort(*_KEYS, "batch_size").partition_by(_KEYS, maintain_order=True)
    return pl.concat([choose(group) for group in groups]).sort("batch_size", maintain_order=True)


def _from_fastest(group: pl.DataFrame) -> list[int]:
    means = group["mean_progress"].to_list()
    return list(range(means.index(min(means)), len(means)))


def _lower_hull(group: pl.DataFrame, kept: list[int]) -> list[int]:
    """Drop rows above the line of their neighbours, in one pass that looks back no further than the tool does."""
    means, batches = group["mean_progress"].to_list(), group["batch_size"].to_list()
    place = 1
    while place < len(kept) - 1:
        before, here, after = kept[place - 1 : place + 2]
        line = np.interp(batches[here], [batches[before], batches[after]], [means[before], means[after]])
        if means[here] > line:
            del kept[place]
        else:
            place += 1
    return kept


def _with_bracket(frame: pl.DataFrame, all_points: pl.DataFrame) -> pl.LazyFrame:
    """Add the points next below (`low_`) and next above (`high_`) each batch size; one of that size is both."""
    points = all_points.select(*_KEYS, "batch_size", "run_count", "mean_progress", "deviation_progress")
    bracketed = frame.lazy().with_row_index("_row").sort("global_batch_size", nulls_last=True)
    for prefix, strategy in (("low_", "backward"), ("high_", "forward")):
        side = points.rename({name: prefix + name for name in points.columns if name not in _KEYS})
        bracketed = bracketed.join_asof(
            side.lazy(),
            left_on="global_batch_size",
            right_on=f"{prefix}batch_size",
            by=_KEYS,
            # One of the two words above, which mypy sees as any text.
            strategy=strategy,  # type: ignore[arg-type]
            coalesce=False,
            check_sortedness=False,
        )
    known = pl.col("global_batch_size").is_not_null()
    sides = [prefix + name for prefix in ("low_", "high_") for name in points.columns if name not in _KEYS]
    return (
        bracketed.with_columns(pl.when(known).then(pl.col(name)).alias(name) for name in sides)
        .with_columns(
            pl.coalesce(name, name.replace("low_", "high_")).alias(name) for name in sides if name.startswith("low_")
        )
        .with_columns(pl.when(pl.col("high_batch_size").is_not_null()).then(pl.col(name)).alias(name) for name in sides)
        .sort("_row")
    )


def _between(column: str) -> pl.Expr:
    low, high = pl.col(f"low_{column}"), pl.col(f"high_{column}")
    width = pl.col("high_batch_size") - pl.col("low_batch_size")
    past = pl.col("global_batch_size") - pl.col("low_batch_size")
    return pl.when(width == 0).then(low).otherwise((high - low) / width * past + low)


def _source() -> pl.Expr:
    batch = pl.col("global_batch_size")
    return (
        pl.when(pl.col("low_batch_size") > batch)
        .then(pl.lit("least"))
        .when(pl.col("low_batch_size") == batch)
        .then(pl.lit("exact"))
        .when(pl.col("high_batch_size") > batch)
        .then(pl.lit("interpolated"))
    )


def _least_acceptable() -> pl.Expr:
    """The mean that a pooled t-test with equal deviations still accepts, lowered where the checker lowers it."""
    spread = (1 / pl.col("reference_runs") + 1 / pl.col("submission_runs")).sqrt()
    allowed = pl.col("benchmark").replace_strict(_FEWER_SAMPLES_ALLOWED, default=0, return_dtype=pl.Int64)
    return (pl.col("rcp_reference_samples") - pl.col("quantile") * pl.col("deviation") * spread).clip(
        lower_bound=0
    ) - allowed


def _check() -> pl.Expr:
    progress, expected = pl.col("samples_to_converge"), pl.col("rcp_reference_samples")
    is_least = pl.col("low_batch_size") > pl.col("global_batch_size")
    too_fast = progress < pl.col("least_acceptable")
    return (
        pl.when(progress.is_null() | expected.is_null() | (too_fast & is_least))
        .then(pl.lit("no_point"))
        .when(too_fast)
        .then(pl.lit("too_fast"))
        .when(progress < expected)
        .then(pl.lit("normalised"))
        .otherwise(pl.lit("passed"))
    )
