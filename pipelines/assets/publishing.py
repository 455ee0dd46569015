"""What is published, in Dagster: the warehouse, once nothing blocks it."""

import dagster as dg

from pipelines.assets.tables import CALENDAR_OF_ROUNDS, asset_key
from pipelines.refreshing.publishing import publish
from pipelines.refreshing.workshop import Workshop
from pipelines.schemas import TABLES

WAREHOUSE_GROUP = "warehouse"


@dg.asset(
    key=["warehouse"],
    group_name=WAREHOUSE_GROUP,
    deps=[asset_key(name) for name in TABLES],
    kinds={"duckdb"},
    owners=["team:publishing"],
    freshness_policy=CALENDAR_OF_ROUNDS,
    description="Every table, with views and macros, as one DuckDB file; built beside the old one and swapped in.",
)
def warehouse(workshop: dg.ResourceParam[Workshop]) -> dg.MaterializeResult[None]:
    """Publish the warehouse."""
    with workshop.exclusive():
        publish(workshop)
    path = workshop.settings.warehouse
    return dg.MaterializeResult(metadata={"path": dg.MetadataValue.path(str(path)), "size_bytes": path.stat().st_size})
