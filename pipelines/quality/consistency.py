"""Our own arithmetic, done a second time: a score must follow from the runs that stand beside it.

Plausibility of what others published belongs in `suites`.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from pipelines.quality.outcomes import Outcome

SCORE_FOLLOWS_FROM_RUNS = Outcome(
    table="mart.results",
    name="score_follows_from_runs",
    severity="error",
    status="passed",
    meaning="a score is the mean of its kept runs times its factor",
)
"""The check before it ran."""

TOLERANCE = 1e-9
"""Relative; the official figure and ours differ only in the order of floating-point sums."""


def score_follows_from_runs(results: pl.DataFrame, runs: pl.DataFrame) -> Outcome:
    """Hold each score against the mean of its kept runs times its factor; frames of `mart.results`, `mart.runs`."""
    again = (
        runs.filter(pl.col("is_kept"))
        .group_by("result_id", maintain_order=True)
        .agg(mean_minutes=pl.col("raw_minutes").mean())
    )
    scored = results.filter(pl.col("score_minutes").is_not_null())
    held = scored.join(again, on="result_id", how="left", maintain_order="left").with_columns(
        from_runs_minutes=pl.col("mean_minutes") * pl.col("rcp_factor")
    )
    difference = (pl.col("from_runs_minutes") - pl.col("score_minutes")).abs()
    wrong = held.filter((difference <= TOLERANCE * pl.col("score_minutes")).fill_null(value=False).not_())
    return replace(
        SCORE_FOLLOWS_FROM_RUNS,
        status="passed" if wrong.is_empty() else "failed",
        checked_count=scored.height,
        failed_count=wrong.height,
        rows=wrong.select("result_id", "score_minutes", "from_runs_minutes", "rcp_factor"),
    )


FAMILIES_HOLD_LIKE_RESULTS = Outcome(
    table="mart.reconciled_runs",
    name="families_hold_like_results",
    severity="error",
    status="passed",
    meaning="the results that one calibration family rests on share division, scaling mode, part and precision",
)
"""The check before it ran."""


def families_hold_like_results(reconciled: pl.DataFrame, results: pl.DataFrame) -> Outcome:
    """Hold the members of each family against each other; frames of `mart.reconciled_runs`, `mart.results`."""
    alike = ["division", "scaling_mode", "accelerator", "precision"]
    rules = results.select("result_id", "division", "scaling_mode")
    members = reconciled.filter(pl.col("family").is_not_null()).join(rules, on="result_id", how="left")
    mixed = (
        members.group_by("family", maintain_order=True)
        .agg(pl.col(alike).unique().drop_nulls().sort(), pl.col("result_id"))
        .filter(pl.any_horizontal(pl.col(alike).list.len() > 1))
    )
    return replace(
        FAMILIES_HOLD_LIKE_RESULTS,
        status="passed" if mixed.is_empty() else "failed",
        checked_count=members["family"].n_unique(),
        failed_count=mixed.height,
        rows=mixed.with_columns(pl.col(*alike, "result_id").list.join(", ")).select("family", *alike, "result_id"),
    )


LEAST_OF_RATING, MOST_OF_RATING = 0.2, 2.5
"""Measured power over the accelerators' rating: an idle half at the one end, hosts and network at the other."""

POWER_NEAR_RATING = Outcome(
    table="mart.results",
    name="power_near_rating",
    severity="warning",
    status="passed",
    meaning=f"measured power is {LEAST_OF_RATING} to {MOST_OF_RATING} times the rating of the accelerators that ran",
)
"""The check before it ran. Measured and rated power stay apart: in `energy_joules` here, in `mart.accelerators`."""


def power_near_rating(results: pl.DataFrame, accelerators: pl.DataFrame) -> Outcome:
    """Hold the mean power of each measured result against its part's; frames of `mart.results`, `mart.accelerators`."""
    rated = accelerators.select("accelerator", rated_watts="power_watts")
    measured = (
        results.filter(pl.col("energy_joules").is_not_null() & (pl.col("score_minutes") > 0))
        .join(rated, on="accelerator", how="left", maintain_order="left")
        .with_columns(
            measured_watts=pl.col("energy_joules") / (pl.col("score_minutes") * 60) / pl.col("accelerator_count")
        )
        .filter(pl.col("measured_watts").is_finite() & pl.col("rated_watts").is_not_null())
    )
    wrong = measured.filter(
        ~(pl.col("measured_watts") / pl.col("rated_watts")).is_between(LEAST_OF_RATING, MOST_OF_RATING)
    )
    return replace(
        POWER_NEAR_RATING,
        status="passed" if wrong.is_empty() else "failed",
        checked_count=measured.height,
        failed_count=wrong.height,
        rows=wrong.select("result_id", "accelerator", "accelerator_count", "measured_watts", "rated_watts"),
    )


OWN_CHECKS = (SCORE_FOLLOWS_FROM_RUNS, FAMILIES_HOLD_LIKE_RESULTS, POWER_NEAR_RATING)
"""Every check of this module before it ran."""
