"""The tables that a plan rests on: those of the last refresh, else made here from the embedded snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import polars as pl

from pipelines.lake.tables import Lake
from pipelines.parsing.spec_sheets.registry import read_registry
from pipelines.publishing.age import age_line
from pipelines.reconciling.facts import reconcile_facts
from pipelines.scoring.results import score_results
from pipelines.scoring.rules import load_rules
from pipelines.scoring.runs import judge_runs
from pipelines.settings import Settings
from pipelines.snapshot import Snapshot
from pipelines.sources.registry import registry_files

SOURCES, KNOWN_ROUNDS = "core.sources", "core.known_rounds"
_READ = ("core.runs", "core.systems", "core.launches", "core.scaling_factors", "core.power_readings", SOURCES)


@dataclass(frozen=True)
class PlanTables:
    """Tables by name, and what can be said of where they came from."""

    frames: Mapping[str, pl.DataFrame]
    origin: str
    """`last refresh` or `embedded snapshot`."""

    @property
    def sources(self) -> pl.DataFrame:
        """Return a row a round: `round, source, commit, retrieved_at, licence`."""
        return self.frames[SOURCES]

    def age(self) -> str:
        """Return the line on how old the newest round here is."""
        read_at = dict(self.sources.select("round", "retrieved_at").iter_rows())
        listed = self.frames[KNOWN_ROUNDS]["round"] if KNOWN_ROUNDS in self.frames else ()
        return age_line(read_at, datetime.now(UTC).date(), listed)


def plan_tables(needed: tuple[str, ...]) -> PlanTables:
    """Return the tables `needed` and `core.sources`; a lake that was never refreshed leaves the embedded snapshot."""
    lake = Lake.at(Settings.from_environment().lake)
    if lake.partitions("mart.results"):
        names = (*needed, SOURCES, KNOWN_ROUNDS)
        return PlanTables({name: lake.read(name) for name in names}, "last refresh")
    return PlanTables(_from_snapshot(Snapshot()), "embedded snapshot")


def _from_snapshot(snapshot: Snapshot) -> dict[str, pl.DataFrame]:
    """Return what the stations of a refresh would make of the snapshot, without a lake to keep it in."""
    rounds, rules = snapshot.rounds(), load_rules()
    frames = {name: pl.concat([snapshot.read(name, of_round) for of_round in rounds]) for name in _READ}
    runs, systems = frames["core.runs"], frames["core.systems"]
    judged = judge_runs(runs, systems, rules)
    results, _ = score_results(
        runs, judged, systems, frames["core.scaling_factors"], frames["core.power_readings"], rules
    )
    registry = read_registry(registry_files())
    facts = reconcile_facts(registry.facts, registry.subject_frame, registry.containments)
    return frames | {
        "mart.runs": judged,
        "mart.results": results,
        "mart.accelerators": facts.accelerators,
        "mart.platforms": facts.platforms,
        "mart.resolved_facts": facts.resolved,
    }
