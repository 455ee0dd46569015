"""How far convergence is from the reference convergence points: in samples, and in evaluations.

What the points are and how they are compared belongs in `rcp`.
"""

from __future__ import annotations

import polars as pl

from pipelines.scoring.rcp import recompute_factors
from pipelines.scoring.rules import Rules

STATUSES = ("pass", "fail", "missing", "not_checked")
"""What the check against the reference points comes to; `missing`: there is no point at that batch size."""

_RUN = ["source_path"]


def evaluation_intervals(evals: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """Return the distance between the evaluations of each run, in the unit in which the benchmark counts progress.

    Args:
        evals: `core.evals`.
        runs: `core.runs`; of them `source_path` and `samples_unit`.

    Returns:
        `source_path, evaluation_interval`: the median distance, of two middle ones the shorter; null for fewer than
        two evaluations.
    """
    samples = pl.coalesce("samples_count", "epoch_number")
    progress = (
        pl.when(pl.col("samples_unit") == "samples")
        .then(samples)
        .when(pl.col("samples_unit") == "steps")
        .then("step_number")
        .otherwise("epoch_number")
    )
    distances = (
        evals.join(runs.select(*_RUN, "samples_unit"), on=_RUN, how="inner")
        .sort(*_RUN, "sequence")
        .select(*_RUN, distance=(progress - progress.shift(1)).over(_RUN))
        .filter(pl.col("distance") > 0)
    )
    return distances.group_by(_RUN, maintain_order=True).agg(
        evaluation_interval=pl.col("distance").quantile(0.5, interpolation="lower").round(6)
    )


def with_margins(frame: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    """Add where convergence stands against the reference points.

    Args:
        frame: any frame with `round`, `benchmark`, `global_batch_size`, `samples_to_converge` and
            `evaluation_interval`, the last three in the unit that the benchmark logs.
        rules: the rules of the rounds.

    Returns:
        The frame, its rows in their order, with `rcp_mean_samples` and `rcp_minimum_samples` at that batch size,
        `rcp_mean_source` (`exact`, `interpolated`, `least` for a smaller batch), `over_mean_samples`,
        `over_minimum_samples` (negative: too fast), `over_minimum_evaluations`, and `rcp_factor_recomputed` and
        `rcp_check` as `rcp.recompute_factors` gives them.
    """
    kept = [name for name in frame.columns if name not in ("rcp_factor_recomputed", "rcp_check")]
    names = {"rcp_reference_samples": "rcp_mean_samples", "rcp_reference_source": "rcp_mean_source"}
    compared = recompute_factors(frame.select(kept), rules).rename(names)
    over_minimum = pl.col("samples_to_converge") - pl.col("rcp_minimum_samples")
    return compared.with_columns(
        over_mean_samples=pl.col("samples_to_converge") - pl.col("rcp_mean_samples"),
        over_minimum_samples=over_minimum,
        over_minimum_evaluations=over_minimum / pl.col("evaluation_interval"),
    )


def rcp_status(*, is_checked: pl.Expr) -> pl.Expr:
    """Return `pass`, `fail` or `missing` for what is checked, else `not_checked`.

    Args:
        is_checked: whether the rules compare this with the reference points at all.
    """
    check = pl.col("rcp_check")
    return (
        pl.when(~is_checked | pl.col("samples_to_converge").is_null())
        .then(pl.lit("not_checked"))
        .when(check == "too_fast")
        .then(pl.lit("fail"))
        .when(check == "no_point")
        .then(pl.lit("missing"))
        .otherwise(pl.lit("pass"))
    )
