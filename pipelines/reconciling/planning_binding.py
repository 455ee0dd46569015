"""What keeps a plan from being smaller, or its time from being shorter."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from pipelines.modelling.planning import Plan
from pipelines.modelling.planning_search import Found
from pipelines.reconciling.planning_answers import Binding
from pipelines.reconciling.planning_asks import Ask
from pipelines.reconciling.planning_solving import Goal
from pipelines.reconciling.planning_words import racks_in_words, time_in_words

_SLACK = 0.8
"""Share of a deadline, or of a size, below which it is not what binds."""


def binding(ask: Ask, goal: Goal, plan: Plan, found: Found, row: dict[str, Any]) -> Binding:
    """Return the constraint that binds a chosen candidate."""
    if goal.minutes is not None:
        return _of_deadline(goal.minutes, plan, found, row)
    allowed = goal.accelerators if goal.accelerators is not None else (goal.racks or 0) * plan.machine.active_per_rack
    if row["accelerator_count"] < _SLACK * allowed or _has_room(goal, plan, row):
        return Binding(
            constraint="batch",
            sentence=f"The batch: {plan.work.batch_most:,} samples at most cannot keep more than "
            f"{row['accelerator_count']:,} of {allowed:,} accelerators busy to any use.",
        )
    if ask.megawatts is not None:
        fed = racks_in_words(goal.racks or 0)
        return Binding(constraint="power", sentence=f"Power: {ask.megawatts:g} MW feed {fed} at work.")
    told = f"{racks_in_words(goal.racks)} at work" if goal.racks is not None else f"{allowed:,} accelerators"
    return Binding(constraint="racks", sentence=f"The size: {told}, as asked; more would be faster.")


def _has_room(goal: Goal, plan: Plan, row: dict[str, Any]) -> bool:
    """Say whether the size given has room for another replica, which would not shorten the time."""
    if goal.accelerators is not None:
        return bool(goal.accelerators - row["accelerator_count"] >= row["replica_accelerator_count"])
    racks_of_replica = math.ceil(row["replica_accelerator_count"] / plan.machine.active_per_rack)
    return goal.racks is not None and bool(goal.racks - row["racks"] >= racks_of_replica)


def _of_deadline(minutes: float, plan: Plan, found: Found, row: dict[str, Any]) -> Binding:
    fewer = found.frontier.filter(pl.col("racks") < row["racks"]).sort("minutes")
    if fewer.is_empty() and row["minutes"] < _SLACK * minutes:
        return Binding(
            constraint="memory",
            sentence=f"Memory: nothing smaller holds the work ({row['needed_bytes'] / 1e9:.1f} of "
            f"{plan.machine.memory_bytes / 1e9:.1f} GB are taken), though it takes {time_in_words(row['minutes'])}.",
        )
    is_widest = row["global_batch_size"] + row["data_parallel"] * row["micro_batch"] > plan.work.batch_most
    if is_widest and row["micro_batches"] <= row["pipeline_parallel"]:
        return Binding(
            constraint="batch",
            sentence=f"The batch: {row['global_batch_size']:,} samples leave each pipeline {row['micro_batches']:.0f} "
            "micro-batches, so more replicas would stand idle.",
        )
    told = "a smaller size does not hold it"
    if not fewer.is_empty():
        less = fewer.row(0, named=True)
        told = f"the fastest on fewer, {racks_in_words(less['racks'])}, takes {time_in_words(less['minutes'])}"
    taken = f"{time_in_words(row['minutes'])} of {time_in_words(minutes)} are taken"
    return Binding(constraint="time", sentence=f"Time: {taken}; {told}.")
