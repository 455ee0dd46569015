"""How many racks, by every way of counting, and how long they take: always with a range, where one is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import polars as pl

from pipelines.modelling.planning import Plan
from pipelines.modelling.planning_layouts import LAYOUT
from pipelines.modelling.planning_search import Found
from pipelines.modelling.racks import racks_by_division, racks_by_replica
from pipelines.reconciling.equivalents import by_power_law
from pipelines.reconciling.planning_answers import Racks, Time
from pipelines.reconciling.planning_asks import MINUTES_PER_DAY, Ask
from pipelines.reconciling.planning_facts import Facts
from pipelines.reconciling.planning_grounds import Grounds
from pipelines.reconciling.planning_platforms import Platform
from pipelines.reconciling.planning_solving import Goal, best_batches, chosen, look
from pipelines.reconciling.planning_words import at_work_in_words, filled, racks_in_words, time_in_words


@dataclass(frozen=True, kw_only=True)
class Solved:
    """An ask with its goal, what it stands on, and what the search found."""

    ask: Ask
    platform: Platform
    goal: Goal
    stands: Grounds
    found: Found

    @property
    def best_layouts(self) -> pl.DataFrame:
        """Return the layouts that are best at some size: those from which a changed ask chooses again."""
        return self.found.layouts.join(self.found.frontier.select("index").unique(), on="index", how="semi").select(
            LAYOUT
        )


def count_racks(solved: Solved, row: dict[str, Any], facts: Facts) -> Racks:
    """Count racks every way; the range is that of the ways that answer the goal."""
    ask, platform, stands = solved.ask, solved.platform, solved.stands
    counts = pl.DataFrame([row]).select(
        accelerator_count="accelerator_count",
        replica_accelerator_count="replica_accelerator_count",
        data_parallel="data_parallel",
        slots_per_rack=pl.lit(platform.slots_per_rack),
    )
    division = counts.select(racks_by_division()).item()
    replica = counts.select(racks_by_replica(pl.col("data_parallel"))).item()
    model = row["racks"]
    told = [model]
    held_out = law = noise = None
    if solved.goal.minutes is not None:
        held_out = _racks_for(stands.held_out, stands.layouts, solved.goal)
        law = _by_power_law(solved, row, facts)
        bounds = [_racks_for(plan, solved.best_layouts, solved.goal) for plan in (stands.low, stands.high)]
        told += [racks for racks in (held_out, *bounds) if racks is not None]
        told += [max(1, math.ceil(law))] if law is not None else []
        noise = _with_noise(solved)
    low, high = min(told), max(told)
    return Racks(
        recommended=model,
        low=low,
        high=high,
        noise_low=noise[0] if noise else None,
        noise_high=noise[1] if noise else None,
        spare=ask.spare_racks,
        ordered=model + ask.spare_racks,
        by_division=division,
        by_replica=replica,
        by_model=model,
        by_largest_held_out=held_out,
        by_power_law=law,
        accelerators_per_rack=platform.slots_per_rack,
        active_per_rack=filled(row["replica_accelerator_count"], platform.machine.active_per_rack),
        sentence=_racks_sentence(solved, row, low, high),
    )


def _racks_sentence(solved: Solved, row: dict[str, Any], low: int, high: int) -> str:
    machine, platform = solved.stands.plan.machine, solved.platform
    span = f" ({low:,} to {high:,})" if low != high else ""
    spare = f" and {solved.ask.spare_racks} spare" if solved.ask.spare_racks else ""
    at_work = at_work_in_words(
        row["accelerator_count"],
        row["racks"],
        row["replica_accelerator_count"],
        machine.active_per_rack,
        platform.slots_per_rack,
    )
    return (
        f"{racks_in_words(row['racks'])}{span}{spare} of {platform.name}, {at_work}; {row['accelerator_count']:,} in "
        f"{row['data_parallel']:,} replicas of {row['replica_accelerator_count']:,}."
    )


def _racks_for(plan: Plan | None, those: pl.DataFrame, goal: Goal) -> int | None:
    if plan is None:
        return None
    size = chosen(look(plan, those, goal), goal)
    return None if size.is_empty() else int(size["racks"][0])


def _by_power_law(solved: Solved, row: dict[str, Any], facts: Facts) -> float | None:
    """Return the racks by a law through two scores of the family, whole replicas not asked for."""
    family, minutes = solved.stands.family, solved.goal.minutes
    if family is None or minutes is None:
        return None
    pairs = pl.DataFrame({"target": ["plan"], "family": [family.name], "target_minutes": [minutes]})
    told = by_power_law(facts.members.filter(family=family.name), pairs)["power_law_accelerator_count"]
    if told.is_empty():
        return None
    racks_per_accelerator = float(row["racks"] / row["accelerator_count"])
    return float(round(float(told[0])) * racks_per_accelerator)


def _with_noise(solved: Solved) -> tuple[int, int] | None:
    """Return the racks where a predicted time may miss by the family's interval; None where there is none."""
    family, minutes = solved.stands.family, solved.goal.minutes
    if family is None or family.half_width_percent is None or minutes is None:
        return None
    share = family.half_width_percent / 100
    bounds = [
        _racks_for(solved.stands.plan, solved.stands.layouts, Goal(minutes=minutes * factor))
        for factor in (1 + share, 1 / (1 + share))
    ]
    return None if bounds[0] is None or bounds[1] is None else (bounds[0], bounds[1])


def tell_time(solved: Solved, row: dict[str, Any]) -> Time:
    """Return how long the work takes, with the interval that its grounds allow."""
    stands, goodput = solved.stands, solved.ask.goodput
    low = high = None
    if stands.family is not None and stands.family.half_width_percent is not None:
        share = stands.family.half_width_percent / 100
        low, high = row["minutes"] * (1 - share), row["minutes"] * (1 + share)
        basis = (
            f"95 %: root mean square of the errors of {stands.family.members.height} runs, each held out, times "
            "Student's t, and the benchmark's noise of 5 %, in quadrature"
        )
    elif stands.low is not None and stands.high is not None:
        one = pl.DataFrame([row]).select(*LAYOUT, "data_parallel")
        high, low = (best_batches(plan, one)[0]["minutes"] for plan in (stands.low, stands.high))
        basis = f"the range of the efficiency; its error is not known: {stands.basis.error_reason}"
    else:
        basis = "none: too few runs were held out to tell"
    steps = row["converging_samples"] / row["global_batch_size"]
    slots = row["micro_batches"] + (row["pipeline_parallel"] - 1) / row["virtual_pipeline"]
    return Time(
        minutes=row["minutes"],
        low_minutes=low,
        high_minutes=high,
        days=row["minutes"] / MINUTES_PER_DAY,
        interval_basis=basis,
        steps=steps,
        step_seconds=row["step_seconds"],
        bubble_share=1 - row["micro_batches"] / slots,
        fixed_share=stands.plan.steps.fixed_seconds / row["step_seconds"],
        goodput=goodput,
        on_the_calendar_minutes=row["minutes"] / (goodput or 1.0),
        goodput_sentence=_goodput_sentence(goodput, row["minutes"]),
    )


def _goodput_sentence(goodput: float | None, minutes: float) -> str:
    if goodput is None:
        return (
            "Uninterrupted running: failures, checkpoints and restarts are not counted; give a goodput to count them."
        )
    return f"{goodput:g} of the time trains, as asked: on the calendar it takes {time_in_words(minutes / goodput)}."
