"""Every table that the modelling core answers with, from facts read once."""

from __future__ import annotations

import polars as pl

from pipelines.reconciling.members import ExpectedProgress, language_model_results
from pipelines.reconciling.runs import reconcile_known
from pipelines.reconciling.transfers import transfers

MODELLED = ("mart.calibrations", "mart.reconciled_runs", "mart.transfers")


def modelling_tables(
    *,
    results: pl.DataFrame,
    runs_core: pl.DataFrame,
    runs_mart: pl.DataFrame,
    launches: pl.DataFrame,
    systems: pl.DataFrame,
    accelerators: pl.DataFrame,
    expected_progress: ExpectedProgress,
) -> dict[str, pl.DataFrame]:
    """Return the tables of `MODELLED` by their names.

    Args:
        results, runs_mart, accelerators: the `mart` tables of these names.
        runs_core, launches, systems: the `core` tables.
        expected_progress: as in `runs.reconcile`.
    """
    known = language_model_results(results, runs_core, runs_mart, launches, systems, accelerators, expected_progress)
    calibrations, reconciled = reconcile_known(known, expected_progress)
    return {
        "mart.calibrations": calibrations,
        "mart.reconciled_runs": reconciled,
        "mart.transfers": transfers(known),
    }
