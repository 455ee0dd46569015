"""The fewest model replicas whose predicted time meets a target: the model turned round, over many batches."""

from __future__ import annotations

import polars as pl

from pipelines.modelling.calibration import PARAMETERS
from pipelines.modelling.time_to_train import batch_candidates, least_data_parallel, predict
from pipelines.reconciling.members import ExpectedProgress, samples_per_unit

_NEEDS_KEYS = ["round", "benchmark", "global_batch_size"]
_VARIED = [
    "target",
    "target_minutes",
    "excess",
    "round",
    "benchmark",
    "samples_unit",
    "sequence_length",
    "micro_batch",
    "pipeline_parallel",
    "virtual_pipeline",
    "step_count",
    "eval_count",
    "samples_to_converge",
    "first_eval_samples",
    "eval_interval_samples",
    *PARAMETERS,
]
"""What a candidate takes over from its target."""

LARGEST_BATCH = 131_072
"""Samples a step above which none is searched: several times what any benchmark's runs use."""

_CANDIDATES_AT_ONCE = 50_000
"""A target has thousands of candidates, of large batches tens of thousands: all at once would not fit in memory.

Five times as many take some 150 MB more and no less time.
"""


def least_replicas(runs: pl.DataFrame, expected_progress: ExpectedProgress) -> pl.DataFrame:
    """Return the fewest replicas that meet each target, over every batch in its range.

    Args:
        runs: one row a target: `target, target_minutes, batch_least, batch_most`, the parameters of a fit, the
            parallelism of a replica, the evaluations as logged, `round`, `benchmark` and the unit that it counts
            progress in, and `excess`, the samples that the run needed over those that the reference needs: other
            batches are taken to need as much more.
        expected_progress: adds what the reference needs at a batch size.

    Batches end at `LARGEST_BATCH`, whatever a log states.

    Returns:
        `target, data_parallel, global_batch_size, predicted_minutes`; no row where no batch meets the target.
    """
    searched = runs.with_columns(pl.col("batch_most").clip(upper_bound=LARGEST_BATCH)).filter(
        pl.col("batch_least") <= pl.col("batch_most")
    )
    parts = [_least_replicas(some, expected_progress) for some in _portions(searched)]
    return pl.concat(parts or [_least_replicas(searched, expected_progress)])


def _portions(runs: pl.DataFrame) -> list[pl.DataFrame]:
    """Split targets into portions of about so many candidates.

    Pairs of replicas and micro-batches whose product lies between two batches are about as many as batches between
    them times the logarithm of the larger.
    """
    most = pl.col("batch_most") / pl.col("micro_batch")
    candidates = (most - pl.col("batch_least") / pl.col("micro_batch") + 1) * (most.log() + 1)
    portion = (candidates.cum_sum() / _CANDIDATES_AT_ONCE).floor()
    return runs.with_columns(_portion=portion).partition_by("_portion", maintain_order=True, include_key=False)


def _least_replicas(runs: pl.DataFrame, expected_progress: ExpectedProgress) -> pl.DataFrame:
    candidates = batch_candidates(runs.lazy()).collect().join(runs.select(_VARIED), on="target")
    needs = expected_progress(candidates.select(_NEEDS_KEYS).unique(maintain_order=True))
    timed = (
        candidates.join(needs.select(*_NEEDS_KEYS, "expected_samples"), on=_NEEDS_KEYS)
        .with_columns(expected_samples=pl.col("expected_samples") * samples_per_unit())
        .with_columns(converging_samples=pl.col("expected_samples") * pl.col("excess"))
        .pipe(predict)
    )
    return least_data_parallel(timed.lazy()).collect()
