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
