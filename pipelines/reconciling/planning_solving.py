"""The smallest machine that meets a deadline, or the shortest time on a machine; and how the work lies on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from pipelines.modelling._planning_factors import batches
from pipelines.modelling._planning_layouts import LAYOUT
from pipelines.modelling._planning_search import Found, search
from pipelines.modelling.parallelism import layout
from pipelines.modelling.planning import Plan, evaluate
from pipelines.reconciling.planning_answers import Cluster

LARGEST_CLUSTER = 524_288
"""Accelerators up to which a deadline is searched for."""

_ROUNDING = 1e-9
"""Share of a deadline that is taken for rounding: a run that is met exactly is met."""


@dataclass(frozen=True, kw_only=True)
class Goal:
    """Either a deadline or a size."""

    minutes: float | None = None
    racks: int | None = None
    accelerators: int | None = None

    def largest(self, active_per_rack: int) -> int:
        """Return the accelerators up to which a search makes sense."""
        if self.accelerators is not None:
            return self.accelerators
        return self.racks * active_per_rack if self.racks is not None else LARGEST_CLUSTER


def look(plan: Plan, layouts: pl.DataFrame, goal: Goal) -> Found:
    """Search all layouts for a goal."""
    return search(plan, layouts, goal.largest(plan.machine.active_per_rack))


def chosen(found: Found, goal: Goal) -> dict[str, Any] | None:
    """Return the row of the frontier that meets the goal best, None where none does.

    For a deadline the fewest racks, of these the shortest time; for a size the shortest time on no more.
    """
    sizes = found.frontier
    if goal.minutes is not None:
        meets = sizes.filter(pl.col("minutes") <= goal.minutes * (1 + _ROUNDING))
        ordered = meets.sort("racks", "minutes", "accelerator_count")
    else:
        racks = goal.racks if goal.racks is not None else LARGEST_CLUSTER
        accelerators = goal.largest(1) if goal.accelerators is not None else LARGEST_CLUSTER
        within = sizes.filter((pl.col("racks") <= racks) & (pl.col("accelerator_count") <= accelerators))
        ordered = within.sort("minutes", "racks", "accelerator_count")
    return None if ordered.is_empty() else ordered.row(0, named=True)


def detailed(plan: Plan, found: Found, size: dict[str, Any]) -> dict[str, Any]:
    """Return the fastest batch of a layout at a size, with everything that the model says of it."""
    row = found.layouts.filter(index=size["index"])
    return best_batch(plan, row.select(LAYOUT), size["data_parallel"])


def best_batch(plan: Plan, one_layout: pl.DataFrame, data_parallel: int) -> dict[str, Any]:
    """Return the fastest batch of one layout and number of replicas, of equals the smallest."""
    micro_batch = one_layout["micro_batch"][0]
    pairs = batches(plan, micro_batch)
    begin, end = pairs.starts[data_parallel - 1 : data_parallel + 1]
    sizes = pl.Series("global_batch_size", pairs.micro_batches[begin:end] * data_parallel * micro_batch, pl.Int64)
    candidates = one_layout.with_columns(data_parallel=pl.lit(data_parallel)).join(sizes.to_frame(), how="cross")
    told = evaluate(candidates, plan).filter("fits", "can_be_scheduled").sort("minutes", "global_batch_size")
    return told.with_columns(layout=layout()).row(0, named=True)


def cluster(row: dict[str, Any], plan: Plan) -> Cluster:
    """Return a candidate as it is told."""
    return Cluster(
        accelerators=row["accelerator_count"],
        racks=row["racks"],
        replica_accelerators=row["replica_accelerator_count"],
        tensor_parallel=row["tensor_parallel"],
        context_parallel=row["context_parallel"],
        pipeline_parallel=row["pipeline_parallel"],
        virtual_pipeline=row["virtual_pipeline"],
        expert_parallel=row["expert_parallel"],
        data_parallel=row["data_parallel"],
        micro_batch=row["micro_batch"],
        micro_batches=round(row["micro_batches"]),
        global_batch_size=row["global_batch_size"],
        layout=row["layout"],
        memory_needed_bytes=row["needed_bytes"],
        memory_available_bytes=plan.machine.memory_bytes,
        recompute="full" if row["is_recomputed"] else "selective",
        minutes=row["minutes"],
        step_seconds=row["step_seconds"],
    )
