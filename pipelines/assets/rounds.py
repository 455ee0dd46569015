"""The `raw` and `core` layers in Dagster, one partition a round. What a station does is in `refreshing.rounds`."""

from collections.abc import Callable, Iterator, Mapping

import dagster as dg

from pipelines.assets.tables import (
    STRUCTURE,
    asset_key,
    asset_spec,
    materialized,
    structure_result,
    structure_spec,
)
from pipelines.lake.manifests import Manifest
from pipelines.refreshing import rounds
from pipelines.refreshing.workshop import Workshop
from pipelines.snapshot import SnapshotError
from pipelines.sources.errors import SourceError

SOURCE_FAILURE = "source"
"""Value of the failure's metadata `of` where an input could not be read, as against an error of ours."""

_READS = {"core.launches": ("raw.files", "core.systems", "core.runs")}


@dg.multi_asset(
    name="take_in_round",
    specs=[asset_spec(name, (), rounds.intake_version()) for name in rounds.TAKEN_IN],
    check_specs=[structure_spec(name) for name in rounds.TAKEN_IN],
)
def take_in_round(
    context: dg.AssetExecutionContext, workshop: dg.ResourceParam[Workshop]
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Take in the round's published files, byte for byte; a round of the embedded snapshot has none."""
    with workshop.exclusive():
        manifests = told(lambda: rounds.take_in(workshop, context.partition_key))
        yield from _results(workshop, rounds.TAKEN_IN, manifests)


@dg.multi_asset(
    name="read_round",
    specs=[asset_spec(name, _READS.get(name, ("raw.files",)), rounds.reading_version()) for name in rounds.READ],
    check_specs=[structure_spec(name) for name in rounds.READ],
)
def read_round(
    context: dg.AssetExecutionContext, workshop: dg.ResourceParam[Workshop]
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Parse every kept file of the round in one pass."""
    with workshop.exclusive():
        manifests = told(lambda: rounds.read_round(workshop, context.partition_key))
        yield from _results(workshop, rounds.READ, manifests)


def told(station: Callable[[], Mapping[str, Manifest]]) -> Mapping[str, Manifest]:
    """Run the station; where the source is at fault the run says so in one sentence."""
    try:
        return station()
    except (SourceError, SnapshotError) as error:
        raise dg.Failure(str(error), metadata={"of": SOURCE_FAILURE}, allow_retries=False) from error


def _results(
    workshop: Workshop, names: tuple[str, ...], manifests: Mapping[str, Manifest]
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    for name in names:
        if name in manifests:
            yield materialized(name, manifests[name])
            yield structure_result(workshop.lake, name, manifests[name])
        else:
            yield dg.MaterializeResult(
                asset_key=asset_key(name),
                metadata={"dagster/row_count": 0, "note": "The embedded snapshot carries no published files."},
            )
            yield dg.AssetCheckResult(asset_key=asset_key(name), check_name=STRUCTURE, passed=True)


ROUND_ASSETS = [take_in_round, read_round]
