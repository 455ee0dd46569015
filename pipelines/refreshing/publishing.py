"""The last station: the warehouse, built from the lake with what is to be said of the whole."""

from __future__ import annotations

from datetime import UTC, datetime

from pipelines import __version__
from pipelines.lake.tables import Lake
from pipelines.lake.warehouse import build_warehouse, warehouse_is_fresh
from pipelines.publishing.age import newest, newest_published
from pipelines.refreshing.workshop import Workshop

TRADEMARK = (
    "MLPerf is a trademark of MLCommons. Scores are recomputed from published result logs; a recomputed figure is "
    "not an official result, and derived figures say that they are derived."
)


def publish(workshop: Workshop) -> None:
    """Build the warehouse anew and swap it in, unless the one in place may be kept and is fresh."""
    if workshop.only_stale and is_published(workshop):
        return
    settings = workshop.settings
    build_warehouse(
        workshop.lake,
        settings.warehouse,
        about(workshop.lake, datetime.now(UTC)),
        sql_folder=settings.warehouse_sql,
        max_rows=settings.max_warehouse_rows,
    )


def is_published(workshop: Workshop) -> bool:
    """Return whether the warehouse holds what the lake holds."""
    settings = workshop.settings
    return warehouse_is_fresh(
        workshop.lake, settings.warehouse, sql_folder=settings.warehouse_sql, max_rows=settings.max_warehouse_rows
    )


def about(lake: Lake, now: datetime) -> dict[str, str]:
    """Return what the warehouse says of itself: version, age, and where each round came from."""
    facts = {
        "rackrecon_version": __version__,
        "refreshed_at": now.isoformat(timespec="seconds"),
        "trademark": TRADEMARK,
        "newest_training_round_here": newest(lake.partitions("core.sources"), "training") or "none",
        "newest_training_round_published": newest_published("training", now.date()).name,
    }
    for row in lake.read("core.sources").sort("round").iter_rows(named=True):
        facts[f"source.{row['round']}"] = f"{row['source']} at {row['commit']}, read {row['retrieved_at']}"
        facts[f"licence.{row['round']}"] = row["licence"] or "not stated"
    return facts
