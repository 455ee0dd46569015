"""From an ask to a plan that can be defended: racks, layout, network, power, and what would change them.

What each part of an answer means is in `planning_answers`; what an ask may hold is in `planning_asks`. How an answer is
printed belongs in the command.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import polars as pl

from pipelines.modelling import flops
from pipelines.modelling.planning import Machine
from pipelines.modelling.planning_search import Found, search
from pipelines.modelling.workloads import LANGUAGE_MODEL_BENCHMARKS, frame
from pipelines.reconciling.planning_answers import (
    Answer,
    Cluster,
    Comparison,
    ComparisonRow,
    Frontier,
    FrontierPoint,
    Inputs,
    Searched,
)
from pipelines.reconciling.planning_asks import Ask, PlanError
from pipelines.reconciling.planning_binding import binding
from pipelines.reconciling.planning_counts import Solved, count_racks, tell_time
from pipelines.reconciling.planning_facts import NEEDED_TABLES, Facts
from pipelines.reconciling.planning_grounds import Grounds, grounds
from pipelines.reconciling.planning_nearest import nearest
from pipelines.reconciling.planning_parts import break_even, cost, fabric, network, rated_power
from pipelines.reconciling.planning_platforms import Platform, list_platforms, list_precisions, resolve_platform
from pipelines.reconciling.planning_sensitivities import sensitivities
from pipelines.reconciling.planning_solving import (
    Goal,
    chosen,
    cluster,
    detailed,
    layouts_on,
    look,
)
from pipelines.reconciling.planning_words import filled, racks_in_words, time_in_words

__all__ = [
    "NEEDED_TABLES",
    "Facts",
    "answer",
    "compare",
    "frontier",
    "list_platforms",
    "list_precisions",
    "list_workloads",
]


_LONGEST_OF_DEADLINE = 10
"""Times a deadline up to which a frontier is told."""


def answer(ask: Ask, facts: Facts) -> Answer:
    """Return the plan.

    Raises:
        PlanError: nothing supports one, or no size reaches the goal; the message says what to change.
    """
    solved = _solve(ask, facts)
    plan, platform, stands = solved.stands.plan, solved.platform, solved.stands
    size = chosen(solved.found, solved.goal)
    if size.is_empty():
        raise _out_of_reach(solved)
    (row,) = detailed(plan, solved.found, size)
    racks = count_racks(solved, row, facts)
    time = tell_time(solved, row)
    built, no_fabric = fabric(platform, racks.ordered)
    rated, no_power = rated_power(ask, platform, racks.ordered)
    worth = break_even(row, plan, platform, facts)
    near = nearest(ask, platform, plan, row, facts)
    other, found = _alternative(solved, row, facts)
    return Answer(
        ask=ask,
        inputs=_inputs(solved),
        extrapolations=_extrapolations(solved, row),
        basis=stands.basis,
        racks=racks,
        cluster=cluster(row, plan),
        time=time,
        network=network(row, plan),
        fabric=built,
        fabric_reason=no_fabric,
        power=rated,
        power_reason=no_power,
        binding=binding(ask, solved.goal, plan, solved.found, row),
        nearest=near,
        nearest_reason=None if near is not None else "no run with a score is in the tables",
        assumptions=sensitivities(ask, platform, stands, solved.best_layouts, solved.goal, row, rated),
        break_even=worth,
        cost=cost(ask, platform, racks.ordered, built, rated, worth, time.on_the_calendar_minutes),
        alternative=other,
        searched=Searched(layouts=found.layouts.height, candidates=found.candidates, fitting=found.fitting),
    )


def frontier(ask: Ask, facts: Facts) -> Frontier:
    """Return the sizes that no other beats on time, accelerators and power at once, fewest racks first.

    Every layout is searched, of calibrated work too; power goes with racks. A size bounds the sizes; a deadline keeps
    times up to ten times as long.

    Raises:
        PlanError: as of `answer`.
    """
    solved = _solve(ask, facts)
    plan, goal, family = solved.stands.plan, solved.goal, solved.stands.family
    every = family is None or family.only_micro_batches is not None
    found = solved.found if every else look(plan, layouts_on(plan), goal, facts.spread)
    sizes = found.frontier
    if goal.minutes is not None:
        sizes = sizes.filter(pl.col("minutes") <= goal.minutes * _LONGEST_OF_DEADLINE)
    kilowatts = solved.platform.kilowatts_per_rack_high
    told = [cluster(row, plan) for row in detailed(plan, found, sizes)]
    return Frontier(
        points=tuple(
            FrontierPoint(cluster=one, computer_kilowatts=None if kilowatts is None else kilowatts * one.racks)
            for one in told
        ),
        extrapolations=(*solved.stands.extrapolations, *_beyond_layouts(solved)),
        inputs=_inputs(solved),
        basis=solved.stands.basis,
    )


def _beyond_layouts(solved: Solved) -> tuple[str, ...]:
    """Say that a frontier of calibrated work reaches beyond the layout of its runs."""
    family = solved.stands.family
    if family is None or family.only_micro_batches is not None:
        return ()
    return (f"layouts other than {family.member['layout']}, which the runs used, are told by its efficiency alone",)


def compare(first: Ask, second: Ask, facts: Facts) -> Comparison:
    """Return two plans side by side.

    Raises:
        PlanError: as of `answer`, of either.
    """
    plans = answer(first, facts), answer(second, facts)
    told = [_figures(plan) for plan in plans]
    rows = tuple(
        ComparisonRow(
            figure=name, unit=unit, first=one, second=told[1][name, unit], ratio=_ratio(one, told[1][name, unit])
        )
        for (name, unit), one in told[0].items()
    )
    return Comparison(first=plans[0], second=plans[1], rows=rows)


def list_workloads(facts: Facts) -> list[str]:
    """Return the benchmarks that runs are known of."""
    return [name for name in LANGUAGE_MODEL_BENCHMARKS if name in facts.members["benchmark"]]


def _solve(ask: Ask, facts: Facts) -> Solved:
    platform = resolve_platform(ask, facts)
    goal = _goal(ask, platform)
    stands = grounds(ask, platform, goal.minutes, facts)
    found = look(stands.plan, stands.layouts, goal, facts.spread)
    if found.frontier.is_empty():
        raise _fits_nowhere(ask, platform, stands, found)
    return Solved(ask=ask, platform=platform, goal=goal, stands=stands, found=found)


def _goal(ask: Ask, platform: Platform) -> Goal:
    deadline = ask.deadline_minutes
    if deadline is not None:
        return Goal(minutes=deadline * (ask.goodput or 1.0))
    if ask.accelerators is not None:
        return Goal(accelerators=ask.accelerators)
    if ask.racks is not None:
        return Goal(racks=_at_work("racks", ask.racks, ask))
    if ask.megawatts is None or platform.kilowatts_per_rack_high is None:
        raise PlanError("megawatts", f"megawatts: no power is known of {platform.name}; give racks or accelerators")
    at_computers = ask.megawatts * 1_000 / (ask.pue or 1.0)
    fed = math.floor(at_computers / platform.kilowatts_per_rack_high + 1e-9)
    if fed < 1:
        raise PlanError(
            "megawatts",
            f"megawatts: {ask.megawatts:g} MW feed no rack of {platform.kilowatts_per_rack_high:g} kW; give more",
        )
    return Goal(racks=_at_work("megawatts", fed, ask))


def _at_work(field: str, racks: int, ask: Ask) -> int:
    if racks <= ask.spare_racks:
        raise PlanError(
            field, f"{racks} racks with {ask.spare_racks} spare leave none at work; give more or spare fewer"
        )
    return racks - ask.spare_racks


def _fits_nowhere(ask: Ask, platform: Platform, stands: Grounds, found: Found) -> PlanError:
    machine = stands.plan.machine
    field = "workload" if ask.model is None else "model"
    if stands.family is not None:
        replica = int(stands.family.member["replica_accelerator_count"])
        size = next((name for name in ("racks", "accelerators", "megawatts") if getattr(ask, name) is not None), field)
        return PlanError(
            size,
            f"size: the family's runs spread a replica over {replica} accelerators; give room for {replica} or more",
        )
    most = f"{_goal(ask, platform).largest(machine.active_per_rack):,}"
    return PlanError(
        field,
        f"{stands.plan.work.model.model} does not fit in the {machine.memory_bytes / 1e9:.1f} GB of each "
        f"{platform.accelerator} at {platform.precision}, spread any of {found.candidates:,} ways over up to {most} "
        "accelerators: give a larger size, a platform with more memory, a narrower precision or a shorter sequence",
    )


def _out_of_reach(solved: Solved) -> PlanError:
    best = solved.found.frontier.sort("minutes").row(0, named=True)
    goodput = solved.ask.goodput or 1.0
    if solved.goal.minutes is None:
        return PlanError("racks", f"size: too small for the work; the smallest that fits takes {best['racks']} racks")
    field = "days" if solved.ask.days is not None else "target_minutes"
    told = time_in_words(best["minutes"] / goodput)
    size, most = racks_in_words(best["racks"]), solved.stands.plan.work.batch_most
    return PlanError(
        field,
        f"deadline: the shortest that any layout, batch and size reaches is {told}, on {size}; allow at least that, or "
        f"a batch above {most:,}, which bounds how far work spreads",
    )


def _alternative(solved: Solved, row: dict[str, Any], facts: Facts) -> tuple[Cluster | None, Found]:
    """Return, of a calibrated plan, the best of all layouts by efficiency alone, and the search that found it.

    Only sizes up to the plan's are searched: a larger one would be no alternative.
    """
    plan, family, goal = solved.stands.plan, solved.stands.family, solved.goal
    if family is None or family.only_micro_batches is not None:
        return None, solved.found
    found = search(plan, layouts_on(plan), row["accelerator_count"], facts.spread)
    best = [cluster(one, plan) for one in detailed(plan, found, chosen(found, goal))]
    return next((one for one in best if one.layout != row["layout"]), None), found


def _extrapolations(solved: Solved, row: dict[str, Any]) -> tuple[str, ...]:
    stands, family = solved.stands, solved.stands.family
    told = list(stands.extrapolations)
    if family is not None:
        least, most = family.fit["accelerator_count_least"], family.fit["accelerator_count_most"]
        count = row["accelerator_count"]
        if count > most:
            told.append(f"{count:,} accelerators are {count / most:.2f} times the largest run of the family, {most:,}")
        if count < least:
            told.append(f"{count:,} accelerators are fewer than the smallest run of the family, {least:,}")
        if family.only_micro_batches is not None:
            told.append(
                f"the family tells a step of {family.only_micro_batches} micro-batch(es) only, and no other is tried"
            )
        domains = family.members["domain_accelerators"].drop_nulls().unique().sort().to_list()
        domain = _at_work_in_a_domain(stands.plan.machine, row)
        if domains and domain not in domains:
            sizes = ", ".join(str(size) for size in domains)
            told.append(f"the family's runs had {sizes} accelerators at work in a domain, the plan has {domain}")
        had = family.members["nic_available_gigabytes_per_second"].drop_nulls().unique().sort().to_list()
        has = stands.plan.machine.nic_gigabytes_per_second
        if had and has not in had:
            rates = ", ".join(f"{rate:g}" for rate in had)
            told.append(f"the family's runs had NICs of {rates} GB/s an accelerator, the plan has {has:g}")
    return tuple(told)


def _at_work_in_a_domain(machine: Machine, row: dict[str, Any]) -> int:
    """Return the accelerators at work in a domain that is full: of a rack that is one, those of whole replicas."""
    is_rack = machine.domain_accelerators == machine.active_per_rack
    full = filled(row["replica_accelerator_count"], machine.active_per_rack) if is_rack else machine.domain_accelerators
    return int(min(full, row["accelerator_count"]))


def _inputs(solved: Solved) -> Inputs:
    ask, platform, plan = solved.ask, solved.platform, solved.stands.plan
    model = frame([plan.work.model]).select(total=flops.total_parameters(), active=flops.active_parameters())
    return Inputs(
        work=ask.workload or plan.work.model.model,
        platform=platform.name,
        accelerator=platform.accelerator,
        precision=platform.precision,
        peak_teraflops=platform.machine.peak_teraflops,
        memory_bytes=platform.machine.memory_bytes,
        scale_up_gigabytes_per_second=platform.machine.scale_up_gigabytes_per_second,
        nic_gigabits_per_second=platform.nic_gigabits_per_second,
        nic_basis=platform.nic_basis,
        accelerators_per_rack=platform.slots_per_rack,
        active_per_rack=platform.machine.active_per_rack,
        domain_accelerators=platform.machine.domain_accelerators,
        rack_basis=platform.rack_basis,
        oversubscription=ask.oversubscription,
        goodput=ask.goodput,
        pue=ask.pue,
        spare_racks=ask.spare_racks,
        total_parameters=model["total"][0],
        active_parameters=model["active"][0],
        sequence_length=plan.work.model.sequence_length,
        samples=None if ask.workload is not None else float(plan.work.needs["converging_samples"][0]),
        batch_least=plan.work.batch_least,
        batch_most=plan.work.batch_most,
        batch_basis=solved.stands.batch_basis,
        newest_round=solved.stands.newest_round,
    )


def _figures(plan: Answer) -> dict[tuple[str, str], Any]:
    """Return what is compared of a plan, by name and unit."""
    return {
        ("platform", ""): plan.inputs.platform,
        ("basis", ""): plan.basis.kind,
        ("racks_recommended", "racks"): plan.racks.recommended,
        ("racks_low", "racks"): plan.racks.low,
        ("racks_high", "racks"): plan.racks.high,
        ("accelerators", "accelerators"): plan.cluster.accelerators,
        ("layout", ""): plan.cluster.layout,
        ("global_batch_size", "samples"): plan.cluster.global_batch_size,
        ("minutes", "min"): plan.time.minutes,
        ("nic_verdict", ""): plan.network.verdict,
        ("nic_available", "GB/s"): plan.network.available_gigabytes_per_second,
        ("nic_needed", "GB/s"): plan.network.needed_gigabytes_per_second,
        ("leaf_switches", "switches"): plan.fabric.leaf_switches if plan.fabric else None,
        ("spine_switches", "switches"): plan.fabric.spine_switches if plan.fabric else None,
        ("host_cables", "cables"): plan.fabric.host_cables if plan.fabric else None,
        ("leaf_spine_cables", "cables"): plan.fabric.leaf_spine_cables if plan.fabric else None,
        ("computer_kilowatts_high", "kW"): plan.power.computer_kilowatts_high if plan.power else None,
        ("binding", ""): plan.binding.constraint,
        ("cost_total", plan.cost.currency if plan.cost else ""): plan.cost.total if plan.cost else None,
    }


def _ratio(first: Any, second: Any) -> float | None:
    both = isinstance(first, int | float) and isinstance(second, int | float)
    return second / first if both and first else None


def as_dict(plan: Answer) -> dict[str, Any]:
    """Return an answer as plain data that JSON can hold."""
    return asdict(plan)
