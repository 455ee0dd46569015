"""Time to train in the parts that a log states: steps, evaluations, and the rest.

seconds = samples / batch * step + evaluations * (c0 + c1 / DP) + rest. No convergence factor enters: the official
score follows from the samples that the round's reference needs, the clock from the samples that the run took.
"""

from __future__ import annotations

import polars as pl

from pipelines.modelling.calibration import calibrated_step_seconds
from pipelines.modelling.step_time import pipeline_slots

_ROUNDING = 1e-9
"""Share of a target that is taken for rounding: a run that is met exactly is met."""


def evaluation_seconds() -> pl.Expr:
    """Return the time of one evaluation; needs the fitted `eval_*` parameters and `data_parallel`."""
    return pl.col("eval_base_seconds") + pl.col("eval_per_replica_seconds") / pl.col("data_parallel")


def evaluation_count(samples: pl.Expr) -> pl.Expr:
    """Return the evaluations on the way to a number of samples, at least one, not always whole.

    Needs `first_eval_samples` and `eval_interval_samples` as logged: they differ between rounds and submitters. An
    interval that is unknown, as where a run evaluated once, counts one evaluation. Where a log does not say how far
    the first one was, they are as many to a sample as in the run: `eval_count` to `samples_to_converge`.
    """
    later = (samples - pl.col("first_eval_samples")) / pl.col("eval_interval_samples")
    stated = pl.when(pl.col("first_eval_samples").is_not_null()).then(1.0 + later.fill_null(0.0))
    as_in_the_run = pl.col("eval_count") * samples / pl.col("samples_to_converge")
    return pl.max_horizontal(1.0, pl.coalesce(stated, as_in_the_run))


def train_seconds(steps: pl.Expr, step_seconds: pl.Expr, evaluations: pl.Expr) -> pl.Expr:
    """Return the time from start to stop; needs the fitted parameters."""
    return steps * step_seconds + evaluations * evaluation_seconds() + pl.col("other_seconds")


def converging_samples() -> pl.Expr:
    """Return the samples behind an official score: what the reference needs, or the run's own where it needed more.

    A run that converges in fewer samples than the reference is scaled up to it; one that needs more is not scaled.
    """
    return pl.max_horizontal("expected_samples", "samples_to_converge")


def predict(runs: pl.DataFrame) -> pl.DataFrame:
    """Add the predicted step, official minutes and clock minutes of runs that carry the parameters of a fit.

    The official minutes take `converging_samples`, beside them those at `expected_samples`, what the reference needs;
    the clock takes the steps and evaluations of the run itself.
    """
    stepped = runs.with_columns(predicted_step_seconds=calibrated_step_seconds(pipeline_slots()))
    steps = pl.col("step_count")
    return stepped.with_columns(
        predicted_minutes=_minutes_to(pl.col("converging_samples")),
        predicted_at_reference_minutes=_minutes_to(pl.col("expected_samples")),
        predicted_raw_minutes=train_seconds(steps, pl.col("predicted_step_seconds"), pl.col("eval_count")) / 60,
    )


def batch_candidates(targets: pl.LazyFrame) -> pl.LazyFrame:
    """Return every whole number of replicas and micro-batches whose batch lies in a target's range.

    Args:
        targets: `target, micro_batch, batch_least, batch_most`.

    Returns:
        `target, data_parallel, micro_batches, global_batch_size`, for every DP from 1.
    """
    most = pl.col("batch_most") // pl.col("micro_batch")
    return (
        targets.select("target", "micro_batch", "batch_least", "batch_most", replicas=pl.int_ranges(1, most + 1))
        .explode("replicas")
        .drop_nulls("replicas")
        .with_columns(
            least=-(-pl.col("batch_least") // (pl.col("replicas") * pl.col("micro_batch"))),
            most=pl.col("batch_most") // (pl.col("replicas") * pl.col("micro_batch")),
        )
        .with_columns(micro_batches=pl.int_ranges(pl.max_horizontal("least", 1), pl.col("most") + 1))
        .explode("micro_batches")
        .drop_nulls("micro_batches")
        .select(
            "target",
            data_parallel=pl.col("replicas"),
            micro_batches=pl.col("micro_batches"),
            global_batch_size=pl.col("replicas") * pl.col("micro_batches") * pl.col("micro_batch"),
        )
    )


def least_data_parallel(candidates: pl.LazyFrame) -> pl.LazyFrame:
    """Return the fewest replicas whose best batch meets each target.

    Args:
        candidates: `target, data_parallel, global_batch_size, predicted_minutes, target_minutes`.

    Returns:
        `target, data_parallel, global_batch_size, predicted_minutes`; a target that no candidate meets has no row.
    """
    meets = candidates.filter(pl.col("predicted_minutes") <= pl.col("target_minutes") * (1 + _ROUNDING))
    fastest = pl.col("predicted_minutes").arg_min()
    return (
        meets.group_by("target", "data_parallel")
        .agg(pl.col("global_batch_size").get(fastest), pl.col("predicted_minutes").min())
        .sort("target", "data_parallel")
        .unique("target", keep="first", maintain_order=True)
        .select("target", "data_parallel", "global_batch_size", "predicted_minutes")
    )


def _minutes_to(samples: pl.Expr) -> pl.Expr:
    steps = samples / pl.col("global_batch_size")
    return train_seconds(steps, pl.col("predicted_step_seconds"), evaluation_count(samples)) / 60
