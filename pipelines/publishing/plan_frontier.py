"""The plans that no other beats on time, accelerators and power at once, as rows."""

from __future__ import annotations

import math
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

ROWS_SHOWN = 30
"""Most rows that a person is shown."""


def frontier_frame(points: Sequence[FrontierPoint]) -> pl.DataFrame:
    """Return a row for each point, the smallest first."""
    rows = [{**asdict(point.cluster), "computer_kilowatts": point.computer_kilowatts} for point in points]
    frame = pl.DataFrame([{name: row[name] for name in COLUMNS} for row in rows], schema=COLUMNS)
    return frame.sort("racks", "accelerators", "minutes", "layout")


def frontier_as_json(points: Sequence[FrontierPoint], provenance: Provenance) -> dict[str, Any]:
    """Return the points with what they were made from."""
    rows = frontier_frame(points).to_dicts()
    return {"command": provenance.command, "points": rows, "derived": DERIVED, **provenance.as_json()}


def frontier_rows(points: Sequence[FrontierPoint]) -> Rows:
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
        for row in _shown(points).iter_rows(named=True)
    )
    columns = ("racks", "accelerators", "time", "MW", "layout", "batch")
    return Rows(columns, rows, ("racks", "accelerators", "time", "MW", "batch"))


def frontier_said(points: Sequence[FrontierPoint]) -> str:
    """Return what the rows are."""
    frame = frontier_frame(points)
    if frame.is_empty():
        return "No plan fits."
    first, last = frame.row(0, named=True), frame.row(-1, named=True)
    shown = _shown(points).height
    thinned = "" if shown == frame.height else f" {shown} of them stand below; --format csv and json give all."
    return (
        f"{frame.height:,} plans that no other beats on time, accelerators and power at once, from "
        f"{_racks(first['racks'])} in {duration(first['minutes'])} to {_racks(last['racks'])} in "
        f"{duration(last['minutes'])}.{thinned}"
    )


def _racks(count: int) -> str:
    return f"{count:,} rack{'' if count == 1 else 's'}"


def _shown(points: Sequence[FrontierPoint]) -> pl.DataFrame:
    """Return the fastest point of each number of racks, at even ratios of them where there are too many to read."""
    fastest = frontier_frame(points).sort("racks", "minutes").unique("racks", keep="first", maintain_order=True)
    if fastest.height <= ROWS_SHOWN:
        return fastest
    least, most = math.log(fastest["racks"][0]), math.log(fastest["racks"][-1])
    place = ((pl.col("racks").log() - least) / (most - least) * (ROWS_SHOWN - 1)).round()
    return fastest.with_columns(place=place).unique("place", keep="first", maintain_order=True).drop("place")
