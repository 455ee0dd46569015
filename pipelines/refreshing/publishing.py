"""The last station: the warehouse, built from the lake with what is to be said of the whole."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from pipelines import __version__
from pipelines.lake.queries import asking
from pipelines.lake.storage import LakeError
from pipelines.lake.tables import Lake
from pipelines.lake.warehouse import build_warehouse, warehouse_is_fresh
from pipelines.lake.warehouse_copy import current_warehouse, new_warehouse
from pipelines.publishing.age import MONTHS, newest, newest_published
from pipelines.publishing.differences import LakeState, WarehouseState, differences
from pipelines.publishing.notice import TRADEMARK
from pipelines.refreshing.workshop import Workshop
from pipelines.schemas import TABLES


def publish(workshop: Workshop) -> None:
    """Build the warehouse anew and swap it in, unless the one in place may be kept and is fresh."""
    if workshop.only_stale and is_published(workshop):
        return
    settings = workshop.settings
    since, changes = changes_since(workshop.lake, current_warehouse(settings.lake, settings.warehouse))
    with new_warehouse(workshop.lake.storage, settings.warehouse) as path:
        build_warehouse(
            workshop.lake,
            path,
            about(workshop.lake, datetime.now(UTC)) | {"changes_since": since},
            sql_folder=settings.warehouse_sql,
            max_rows=settings.max_warehouse_rows,
            changes=changes,
        )


def changes_since(lake: Lake, warehouse: Path) -> tuple[str, pl.DataFrame | None]:
    """Return when the warehouse was made and what of its answers the lake has otherwise."""
    if not warehouse.is_file():
        return "not known: there was no warehouse before", None
    try:
        with asking(warehouse) as ask:
            told = ask("SELECT value FROM about WHERE key = 'refreshed_at'")["value"].to_list()
            found = differences(WarehouseState(ask), LakeState(lake), _ANSWERS)
    except LakeError:
        return "not known: the warehouse before cannot be read", None
    return next(iter(told), "not known"), found


_ANSWERS = ("core.sources", *(entry.name for entry in TABLES.values() if entry.layer == "mart"))


def is_published(workshop: Workshop) -> bool:
    """Return whether the warehouse holds what the lake holds."""
    settings = workshop.settings
    path = current_warehouse(settings.lake, settings.warehouse)
    return warehouse_is_fresh(
        workshop.lake, path, sql_folder=settings.warehouse_sql, max_rows=settings.max_warehouse_rows
    )


def about(lake: Lake, now: datetime) -> dict[str, str]:
    """Return what the warehouse says of itself: version, age, and where each round came from."""
    facts = {
        "rackrecon_version": __version__,
        "refreshed_at": now.isoformat(timespec="seconds"),
        "trademark": TRADEMARK,
    }
    for series in MONTHS:
        facts[f"newest_{series}_round_here"] = newest(lake.partitions("core.sources"), series) or "none"
        facts[f"newest_{series}_round_published"] = newest_published(series, now.date()).name
    for row in lake.read("core.sources").sort("round").iter_rows(named=True):
        facts[f"source.{row['round']}"] = f"{row['source']} at {row['commit']}, read {row['retrieved_at']}"
        facts[f"licence.{row['round']}"] = row["licence"] or "not stated"
    return facts
