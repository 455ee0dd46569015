"""The plans that no other beats on time, accelerators and power at once, as rows."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import polars as pl

from pipelines.publishing.plan_provenance import Provenance
from pipelines.publishing.plan_words import DERIVED, Rows, duration
from pipelines.reconciling.planning_answers import Frontier

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

ROWS_SHOWN = 30
"""Most rows that a person is shown."""


def frontier_frame(frontier: Frontier) -> pl.DataFrame:
    """Return a row for each point, the smallest first."""
    rows = [{**asdict(point.cluster), "computer_kilowatts": point.computer_kilowatts} for point in frontier.points]
    frame = pl.DataFrame([{name: row[name] for name in COLUMNS} for row in rows], schema=COLUMNS)
    return frame.sort("racks", "accelerators", "minutes", "layout")


def frontier_as_json(frontier: Frontier, provenance: Provenance) -> dict[str, Any]:
    """Return the points with what they stand on and were made from."""
    return {
        "command": provenance.command,
        "extrapolations": list(frontier.extrapolations),
        "points": frontier_frame(frontier).to_dicts(),
        "basis": asdict(frontier.basis),
        "inputs": asdict(frontier.inputs),
        "derived": DERIVED,
        **provenance.as_json(),
    }


def frontier_rows(frontier: Frontier) -> Rows:
    """Return what of the shown points a reader looks at first."""
    rows = tuple(
        (
            f"{row['racks']:,}",
            f"{row['accelerators']:,}",
            duration(row["minutes"]),
            "-" if row["computer_kilowatts"] is None else f"{row['computer_kilowatts'] / 1000:,.3g}",
            row["layout"],
            f"{row['global_batch_size']:,}",
        )
        for row in _shown(frontier).iter_rows(named=True)
    )
    columns = ("racks", "accelerators", "time", "MW", "layout", "batch")
    return Rows(columns, rows, ("racks", "accelerators", "time", "MW", "batch"))


def frontier_said(frontier: Frontier) -> str:
    """Return what the rows are."""
    frame = frontier_frame(frontier)
    if frame.is_empty():
        return "No plan fits."
    by_size = frame.sort("accelerators", "minutes")
    least, most = (
        f"{row['accelerators']:,} accelerators in {duration(row['minutes'])}"
        for row in (by_size.row(0, named=True), by_size.row(-1, named=True))
    )
    shown, given = _shown(frontier).height, frontier.inputs
    thinned = "" if shown == frame.height else f" {shown} of them stand below; --format csv and json give all."
    return (
        f"{frame.height:,} plans of {given.work} on {given.platform} at {given.precision} that no other beats on time, "
        f"accelerators and power at once, from {least} to {most}.{thinned}"
    )


def _shown(frontier: Frontier) -> pl.DataFrame:
    """Return the points that are faster than all on fewer racks, at even ratios of racks where they are many."""
    fastest = frontier_frame(frontier).sort("racks", "minutes").unique("racks", keep="first", maintain_order=True)
    before = pl.col("minutes").cum_min().shift(1)
    faster = fastest.filter(before.is_null() | (pl.col("minutes") < before))
    if faster.height <= ROWS_SHOWN:
        return faster
    least, most = math.log(faster["racks"][0]), math.log(faster["racks"][-1])
    place = ((pl.col("racks").log() - least) / (most - least) * (ROWS_SHOWN - 2)).floor()
    is_first = place.is_first_distinct() | (pl.col("racks") == faster["racks"][-1])
    return faster.filter(is_first)
