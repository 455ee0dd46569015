"""The fewest model replicas whose predicted time meets a target: the model turned round, over many batches."""

from __future__ import annotations

import polars as pl

from pipelines.modelling.time_to_train import batch_candidates, least_data_parallel, predict
from pipelines.reconciling.members import ExpectedProgress, samples_per_unit

_NEEDS_KEYS = ["round", "benchmark", "global_batch_size"]

_TARGETS_AT_ONCE = 16
"""A target has thousands of candidates: all targets of a few rounds at once would take hundreds of megabytes."""


def least_replicas(runs: pl.DataFrame, expected_progress: ExpectedProgress) -> pl.DataFrame:
    """Return the fewest replicas that meet each target, over every batch in its range.

    Args:
        runs: one row a target: `target, target_minutes, batch_least, batch_most`, the parameters of a fit, the
            parallelism of a replica, the evaluations as logged, `round`, `benchmark` and the unit that it counts
            progress in, and `excess`, the samples that the run needed over those that the reference needs: other
            batches are taken to need as much more.
        expected_progress: adds what the reference needs at a batch size.

    Returns:
        `target, data_parallel, global_batch_size, predicted_minutes`; no row where no batch meets the target.
    """
    parts = [_least_replicas(some, expected_progress) for some in runs.iter_slices(_TARGETS_AT_ONCE)]
    return pl.concat(parts or [_least_replicas(runs, expected_progress)])


def _least_replicas(runs: pl.DataFrame, expected_progress: ExpectedProgress) -> pl.DataFrame:
    searched = batch_candidates(runs.lazy()).collect()
    varied = runs.drop("global_batch_size", "data_parallel", "expected_samples", "converging_samples", strict=False)
    candidates = searched.join(varied, on="target", suffix="_of_run")
    needs = expected_progress(candidates.select(_NEEDS_KEYS).unique(maintain_order=True))
    timed = (
        candidates.join(needs.select(*_NEEDS_KEYS, "expected_samples"), on=_NEEDS_KEYS)
        .with_columns(expected_samples=pl.col("expected_samples") * samples_per_unit())
        .with_columns(converging_samples=pl.col("expected_samples") * pl.col("excess"))
        .pipe(predict)
    )
    return least_data_parallel(timed.lazy()).collect()
