"""The smallest machine that meets a deadline, or the shortest time on a machine; and how the work lies on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import polars as pl

from pipelines.modelling import flops
from pipelines.modelling.connectivity import LARGEST_NODE
from pipelines.modelling.parallelism import layout
from pipelines.modelling.planning import Plan, evaluate
from pipelines.modelling.planning_layouts import LAYOUT, layouts
from pipelines.modelling.planning_search import Found, Spread, search
from pipelines.modelling.workloads import frame
from pipelines.reconciling.planning_answers import Cluster

LARGEST_CLUSTER = 524_288
"""Accelerators up to which a deadline is searched for."""

_SMALL_CLUSTER = 1024
_ROOM = 3
"""Times the accelerators that work alone would take, within which a deadline is looked for first."""

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


def layouts_on(plan: Plan) -> pl.DataFrame:
    """Return the layouts of a plan's model whose innermost groups fill a scale-up domain evenly.

    Tensor ranks, where a domain holds them, come in groups that divide it; in a node so do tensor and context ranks.
    """
    domain, tensor = plan.machine.domain_accelerators, pl.col("tensor_parallel")
    both = tensor * pl.col("context_parallel")
    is_even = (tensor > domain) | (domain % tensor == 0)
    if domain <= LARGEST_NODE:
        is_even &= (both > domain) | (domain % both == 0)
    return layouts(plan.work.model, plan.work.batch_most).filter(is_even)


def look(plan: Plan, those: pl.DataFrame, goal: Goal, spread: Spread | None = None) -> Found:
    """Search all layouts for a goal, elsewhere where `spread` is given.

    For a deadline sizes near what the work would take come first; all up to `LARGEST_CLUSTER` only where none of them
    meets it.
    """
    most = goal.largest(plan.machine.active_per_rack)
    if goal.minutes is not None:
        near = max(_SMALL_CLUSTER, _ROOM * _ideal_accelerators(plan, goal.minutes))
        found = search(plan, those, min(near, most), spread)
        if near >= most or not chosen(found, goal).is_empty():
            return found
    return search(plan, those, most, spread)


def _ideal_accelerators(plan: Plan, minutes: float) -> int:
    """Return the accelerators that do the work in time if nothing but the work took any."""
    sequence = float(frame([plan.work.model]).select(flops.flops_per_sequence()).item())
    work = sequence * float(plan.work.needs.select(pl.col("converging_samples").max()).item())
    rate = plan.machine.peak_teraflops * 1e12 * plan.steps.efficiency
    return math.ceil(min(work / rate / (minutes * 60), LARGEST_CLUSTER))


def chosen(found: Found, goal: Goal) -> pl.DataFrame:
    """Return the row of the frontier that meets the goal best, no row where none does.

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
    return ordered.head(1)


def detailed(plan: Plan, found: Found, sizes: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the fastest batch of each row of a frontier, with everything that the model says of it."""
    spread = sizes.join(found.layouts, on="index", maintain_order="left")
    return best_batches(plan, spread.select(*LAYOUT, "data_parallel"))


def best_batches(plan: Plan, spread: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the fastest batch of each layout and number of replicas, of equals the smallest.

    Those that fit in no batch are left out.
    """
    numbered = spread.with_row_index("place")
    sizes = numbered.select("place", _batch_sizes(plan)).explode("global_batch_size", empty_as_null=True)
    told = evaluate(numbered.join(sizes.drop_nulls(), on="place", maintain_order="left"), plan)
    best = told.filter("fits", "can_be_scheduled").sort("place", "minutes", "global_batch_size")
    return best.unique("place", keep="first", maintain_order=True).with_columns(layout=layout()).rows(named=True)


def _batch_sizes(plan: Plan) -> pl.Expr:
    """Return every batch of whole micro-batches among the plan's."""
    one = pl.col("data_parallel") * pl.col("micro_batch")
    least, most = (plan.work.batch_least + one - 1) // one, plan.work.batch_most // one
    if plan.only_micro_batches is not None:
        only = pl.lit(plan.only_micro_batches)
        least, most = pl.max_horizontal(least, only), pl.min_horizontal(most, only)
    return pl.int_ranges(pl.max_horizontal(least, 1) * one, most * one + 1, one).alias("global_batch_size")


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
