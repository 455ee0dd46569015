"""What is asked of hosts, in Dagster: the watched pages and the list of rounds; and which facts a page changed.

What is asked and how is in `refreshing.live`; a round's own files come through `rounds`.
"""

from collections.abc import Iterator

import dagster as dg
import polars as pl

from pipelines.assets.rounds import told
from pipelines.assets.tables import asset_key, asset_spec, materialized, structure_result, structure_spec
from pipelines.reconciling.sheets import fact_changes
from pipelines.refreshing.live import ASKED, sheets_version, take_in_from_hosts
from pipelines.refreshing.workshop import Workshop

_MOST_CHANGES_SHOWN = 200


@dg.multi_asset(
    name="ask_hosts",
    specs=[asset_spec(name, (), sheets_version()) for name in ASKED],
    check_specs=[structure_spec(name) for name in ASKED],
)
def ask_hosts(workshop: dg.ResourceParam[Workshop]) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Ask for the list of rounds and for the watched pages, each on the condition that it changed."""
    with workshop.exclusive():
        manifests = told(lambda: take_in_from_hosts(workshop))
        for name, manifest in manifests.items():
            yield materialized(name, manifest)
            yield structure_result(workshop.lake, name, manifest)


def observation_of_changes(before: pl.DataFrame, after: pl.DataFrame) -> dg.AssetObservation | None:
    """Return what to show on `core.spec_facts` where facts changed, None where none did or where all are new."""
    changes = fact_changes(before, after)
    if before.is_empty() or changes.is_empty():
        return None
    counts = dict(changes.group_by("change").len().sort("change").iter_rows())
    columns = ("change", "subject", "metric", "before", "after", "source", "locator", "source_address")
    rows = changes.head(_MOST_CHANGES_SHOWN).select(columns).fill_null("").iter_rows(named=True)
    return dg.AssetObservation(
        asset_key=asset_key("core.spec_facts"),
        description=", ".join(f"{count} {change}" for change, count in counts.items()),
        metadata={
            **{f"facts_{change}": count for change, count in counts.items()},
            "changes": dg.MetadataValue.table(
                [dg.TableRecord(row) for row in rows],
                schema=dg.TableSchema([dg.TableColumn(name, "string") for name in columns]),
            ),
        },
    )
