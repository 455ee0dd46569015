"""The plans that no other beats on time, accelerators and power at once, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from pipelines.publishing.plan_provenance import Provenance
from pipelines.publishing.plan_words import DERIVED, Rows, duration
from pipelines.reconciling.planning_answers import FrontierPoint

COLUMNS = {
    "racks": pl.Int64,
    "accelerators": pl.Int64,
    "minutes": pl.Float64,
    "computer_kilowatts": pl.Float64,
    "layout": pl.String,
    "data_parallel": pl.Int64,
    "micro_batch": pl.Int64,
    "micro_batches": pl.Int64,
    "global_batch_size": pl.Int64,
    "step_seconds": pl.Float64,
    "memory_needed_bytes": pl.Float64,
    "recompute": pl.String,
}
"""Columns of a frontier's rows."""


def frontier_frame(points: Sequence[FrontierPoint]) -> pl.DataFrame:
    """Return a row for each point, the smallest first."""
    rows = [{**asdict(point.cluster), "computer_kilowatts": point.computer_kilowatts} for point in points]
    return pl.DataFrame([{name: row[name] for name in COLUMNS} for row in rows], schema=COLUMNS)


def frontier_as_json(points: Sequence[FrontierPoint], provenance: Provenance) -> dict[str, Any]:
    """Return the points with what they were made from."""
    rows = frontier_frame(points).to_dicts()
    return {"command": provenance.command, "points": rows, "derived": DERIVED, **provenance.as_json()}


def frontier_rows(points: Sequence[FrontierPoint]) -> Rows:
    """Return what of each point a reader looks at first."""
    rows = tuple(
        (
            f"{point.cluster.racks:,}",
            f"{point.cluster.accelerators:,}",
            duration(point.cluster.minutes),
            "-" if point.computer_kilowatts is None else f"{point.computer_kilowatts / 1000:,.3g}",
            point.cluster.layout,
            f"{point.cluster.global_batch_size:,}",
        )
        for point in points
    )
    columns = ("racks", "accelerators", "time", "MW", "layout", "batch")
    return Rows(columns, rows, ("racks", "accelerators", "time", "MW", "batch"))


def frontier_said(points: Sequence[FrontierPoint]) -> str:
    """Return what the rows are."""
    if not points:
        return "No plan fits."
    first, last = points[0].cluster, points[-1].cluster
    return (
        f"{len(points):,} plans that no other beats on time, accelerators and power at once: from {first.racks:,} "
        f"racks in {duration(first.minutes)} to {last.racks:,} racks in {duration(last.minutes)}."
    )
