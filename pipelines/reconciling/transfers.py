"""What the runs of other parts would say of a part, and how far off they are: `mart.transfers`.

A pool is all runs of a benchmark, or those of one precision. The arithmetic is in `modelling.transfer`.
"""

from __future__ import annotations

import polars as pl

from pipelines.modelling import transfer
from pipelines.modelling.calibration import percent_error
from pipelines.modelling.sums import ordered_mean
from pipelines.schemas.modelling_mart import Transfers

ALL_PRECISIONS = "all"


def transfers(known: pl.DataFrame) -> pl.DataFrame:
    """Return `mart.transfers`: each part at a precision predicted from the others of its pool.

    Args:
        known: `members.language_model_results`.
    """
    runs = _pooled(known)
    fits = transfer.fit_pools(runs.lazy()).collect()
    in_sample = runs.join(fits, on="pool").group_by("pool").agg(*_errors("in_sample"))
    held_out = _held_out(runs)
    of_pool = held_out.group_by("pool").agg(*_errors("held_out"))
    rows = (
        held_out.group_by("pool", "benchmark", "part", "accelerator", "precision")
        .agg(
            *_errors("part"),
            part_error_percent=ordered_mean(_error()),
            part_run_count=pl.len().cast(pl.Int64),
            fitted_run_count=pl.col("run_count").first(),
            efficiency_without=pl.col("efficiency").first(),
            fixed_seconds_without=pl.col("fixed_seconds").first(),
        )
        .join(fits, on="pool")
        .join(in_sample, on="pool")
        .join(of_pool, on="pool")
        .with_columns(no_estimate_reason=_no_estimate_reason())
        .sort("pool", "part")
    )
    return Transfers.cast(rows.select(Transfers.column_names()))


def transferred(known: pl.DataFrame) -> pl.DataFrame:
    """Return `result_id, transfer_step_seconds, transfer_residual_percent, transfer_mape_percent`.

    The step by the efficiency of all other parts of the benchmark, its error, and the mean error of such guesses over
    the benchmark's results.
    """
    held_out = _held_out(_pooled(known)).filter(precision_pool=ALL_PRECISIONS)
    return held_out.select(
        "result_id",
        transfer_step_seconds=transfer.transferred_step_seconds(),
        transfer_residual_percent=_error(),
        transfer_mape_percent=ordered_mean(_error().abs()).over("pool"),
    )


def prior_by_pool(known: pl.DataFrame) -> pl.DataFrame:
    """Return `benchmark, efficiency, fixed_seconds, run_count, part_count, mape_percent, worst_percent`.

    One row per benchmark: the efficiency of all its runs, and the errors with the part predicted left out.
    """
    runs = _pooled(known).filter(precision_pool=ALL_PRECISIONS)
    errors = (
        _held_out(runs)
        .group_by("pool", "benchmark")
        .agg(mape_percent=ordered_mean(_error().abs()), worst_percent=_error().abs().max())
    )
    return transfer.fit_pools(runs.lazy()).collect().join(errors, on="pool").drop("pool")


def _pooled(known: pl.DataFrame) -> pl.DataFrame:
    """Return each run that enters a pool twice: among all of its benchmark, and among those of its precision."""
    runs = known.filter("is_pooled").with_columns(
        part=pl.format("{}/{}", "accelerator", "precision"), peak_seconds=transfer.peak_seconds()
    )
    chosen = runs.select("result_id", "benchmark", "accelerator", "precision", "part", "peak_seconds", "step_seconds")
    return pl.concat(
        chosen.with_columns(precision_pool=pool) for pool in (pl.lit(ALL_PRECISIONS), pl.col("precision"))
    ).with_columns(pool=pl.format("{}/{}", "benchmark", "precision_pool"))


def _held_out(runs: pl.DataFrame) -> pl.DataFrame:
    fits = transfer.leave_each_part_out(runs.lazy()).collect()
    return runs.join(fits, on=["pool", "part"])


def _error() -> pl.Expr:
    return percent_error(transfer.transferred_step_seconds(), pl.col("step_seconds"))


def _errors(of: str) -> list[pl.Expr]:
    error = _error().abs()
    return [ordered_mean(error).alias(f"{of}_mape_percent"), error.max().alias(f"{of}_worst_percent")]


def _no_estimate_reason() -> pl.Expr:
    return (
        pl.when(pl.col("part_count") < 2)
        .then(pl.lit("no other part has a run in this pool"))
        .when(pl.col("efficiency_without").is_null())
        .then(pl.lit("the runs of the other parts do not tell two parameters apart"))
    )
