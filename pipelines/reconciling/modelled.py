"""Every table that the modelling core answers with, from facts read once."""

from __future__ import annotations

import polars as pl

from pipelines.modelling import calibration
from pipelines.reconciling.breakdowns import strong_scaling, time_breakdown
from pipelines.reconciling.connections import connections
from pipelines.reconciling.equivalents import equivalents
from pipelines.reconciling.fabrics import fabrics
from pipelines.reconciling.members import ExpectedProgress, language_model_results
from pipelines.reconciling.memories import memories, workload_costs
from pipelines.reconciling.networks import bandwidths, natural_experiments
from pipelines.reconciling.runs import reconcile_known
from pipelines.reconciling.scales import levels_of_scale, powers
from pipelines.reconciling.transfers import transfers

MODELLED = (
    "mart.workloads",
    "mart.calibrations",
    "mart.reconciled_runs",
    "mart.transfers",
    "mart.time_breakdown",
    "mart.strong_scaling",
    "mart.bandwidth",
    "mart.natural_experiments",
    "mart.connectivity",
    "mart.memory",
    "mart.equivalents",
    "mart.fabrics",
    "mart.levels",
    "mart.power",
)


def modelling_tables(
    *,
    results: pl.DataFrame,
    runs_core: pl.DataFrame,
    runs_mart: pl.DataFrame,
    launches: pl.DataFrame,
    systems: pl.DataFrame,
    accelerators: pl.DataFrame,
    platforms: pl.DataFrame,
    resolved_facts: pl.DataFrame,
    expected_progress: ExpectedProgress,
) -> dict[str, pl.DataFrame]:
    """Return the tables of `MODELLED` by their names.

    Args:
        results, runs_mart, accelerators, platforms, resolved_facts: the `mart` tables of these names.
        runs_core, launches, systems: the `core` tables.
        expected_progress: as in `runs.reconcile`.
    """
    known = language_model_results(results, runs_core, runs_mart, launches, systems, accelerators, expected_progress)
    fits = calibration.fit(known.filter("is_member").lazy()).collect()
    calibrations, reconciled = reconcile_known(known, expected_progress)
    connectivity = connections(systems, accelerators, known)
    return {
        "mart.workloads": workload_costs(),
        "mart.calibrations": calibrations,
        "mart.reconciled_runs": reconciled,
        "mart.transfers": transfers(known),
        "mart.time_breakdown": time_breakdown(known, fits),
        "mart.strong_scaling": strong_scaling(known, fits),
        "mart.bandwidth": bandwidths(known, fits),
        "mart.natural_experiments": natural_experiments(known, fits),
        "mart.connectivity": connectivity,
        "mart.memory": memories(known),
        "mart.equivalents": equivalents(known, fits, accelerators, expected_progress),
        "mart.fabrics": fabrics(connectivity, systems),
        "mart.levels": levels_of_scale(platforms),
        "mart.power": powers(results, systems, accelerators, platforms, resolved_facts),
    }
