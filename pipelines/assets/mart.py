"""The `mart` layer in Dagster, and the `core` tables that are of no round: one asset a station, over all rounds.

What a station does is in `refreshing`.
"""

from collections.abc import Iterator

import dagster as dg
import polars as pl

from pipelines.assets.hosts import observation_of_changes
from pipelines.assets.pictures import plots
from pipelines.assets.tables import asset_spec, materialized, structure_result, structure_spec
from pipelines.lake.gate import ColumnsError
from pipelines.refreshing import answers
from pipelines.refreshing.answers import Station
from pipelines.refreshing.stations import READ_SPECIFICATIONS, STATIONS
from pipelines.refreshing.workshop import Workshop


def _asset(station: Station) -> dg.AssetsDefinition:
    @dg.multi_asset(
        name=station.name,
        specs=[asset_spec(name, station.reads, station.code_version) for name in station.writes],
        check_specs=[structure_spec(name) for name in station.writes],
    )
    def run_station(
        context: dg.AssetExecutionContext, workshop: dg.ResourceParam[Workshop]
    ) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
        with workshop.exclusive():
            facts_before = _facts_before(workshop) if station.name == READ_SPECIFICATIONS else None
            for name, manifest in answers.bring_up_to_date(workshop, station).items():
                yield materialized(name, manifest, **plots(workshop.lake, name))
                yield structure_result(workshop.lake, name, manifest)
            if facts_before is not None:
                observation = observation_of_changes(facts_before, workshop.lake.read("core.spec_facts"))
                if observation is not None:
                    context.log_event(observation)

    return run_station


def _facts_before(workshop: Workshop) -> pl.DataFrame | None:
    try:
        return workshop.lake.read("core.spec_facts")
    except ColumnsError:  # an older program's do not compare
        return None


MART_ASSETS = [_asset(station) for station in STATIONS]
