"""What plans are made from: the results that are known, their fits, and the facts on parts and platforms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from pipelines.modelling import calibration
from pipelines.modelling.planning_search import Spread
from pipelines.reconciling.members import ExpectedProgress, language_model_results
from pipelines.reconciling.networks import natural_experiments

NEEDED_TABLES = (
    "mart.results",
    "core.runs",
    "mart.runs",
    "core.launches",
    "core.systems",
    "mart.accelerators",
    "mart.platforms",
    "mart.resolved_facts",
)
"""Tables that `Facts.of` takes, and `modelled.modelling_tables` too."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything that an answer rests on."""

    known: pl.DataFrame
    """`members.language_model_results`."""
    fits: pl.DataFrame
    """`calibration.fit` of its members."""
    accelerators: pl.DataFrame
    platforms: pl.DataFrame
    resolved_facts: pl.DataFrame
    expected_progress: ExpectedProgress
    spread: Spread | None = None
    """Works off the search of all layouts; null searches here. What is found is the same."""

    @classmethod
    def of(
        cls,
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
    ) -> Facts:
        """Return the facts from the tables that `modelled.modelling_tables` takes as well."""
        known = language_model_results(
            results, runs_core, runs_mart, launches, systems, accelerators, expected_progress
        )
        return cls(
            known=known,
            fits=calibration.fit(known.filter("is_member").lazy()).collect(),
            accelerators=accelerators,
            platforms=platforms,
            resolved_facts=resolved_facts,
            expected_progress=expected_progress,
        )

    @cached_property
    def natural_experiments(self) -> pl.DataFrame:
        """Return `mart.natural_experiments`: pairs of runs with other networks."""
        return natural_experiments(self.known, self.fits)

    @cached_property
    def members(self) -> pl.DataFrame:
        """Return the results that fits use."""
        return self.known.filter("is_member")
