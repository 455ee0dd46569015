"""What an answer would be if one assumption alone were otherwise, each told by the figure that it moves most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from pipelines.modelling.bandwidth import CENTRAL
from pipelines.modelling.intervals import BENCHMARK_NOISE_PERCENT
from pipelines.modelling.planning import Plan
from pipelines.reconciling.planning_answers import Assumption, Power
from pipelines.reconciling.planning_asks import MINUTES_PER_DAY, Ask
from pipelines.reconciling.planning_grounds import Grounds
from pipelines.reconciling.planning_parts import needed_gigabytes_per_second
from pipelines.reconciling.planning_platforms import Platform
from pipelines.reconciling.planning_solving import Goal, chosen, look
from pipelines.reconciling.planning_words import idle_in_words
from pipelines.reconciling.scales import USAGE_EFFECTIVENESS

USUAL_GOODPUT = 0.9
"""Share of the time that trains, varied to where none is given: 54 days of Llama 3 405B had more than 0.9 (Llama Team
2024, arXiv 2407.21783, section 3.3.4)."""


@dataclass(frozen=True, kw_only=True)
class _Variation:
    name: str
    value: str
    varied_to: str
    plan: Plan
    goal: Goal
    is_of_rack: bool = False
    """Whether it is how many may be at work in a rack, of which whole replicas may leave some idle."""


def sensitivities(
    ask: Ask,
    platform: Platform,
    stands: Grounds,
    layouts: pl.DataFrame,
    goal: Goal,
    row: dict[str, Any],
    rated: Power | None,
) -> tuple[Assumption, ...]:
    """Return every assumption with what it moves, in the order of the figure they move, and of how far.

    Args:
        ask: the ask.
        platform: as resolved.
        stands: what the plan stands on.
        layouts: those to choose from again: the ones that were best at some size.
        goal: the goal.
        row: the candidate chosen.
        rated: its power, if known.
    """
    moved = [
        *(_solved(variation, layouts, goal, row) for variation in _variations(ask, platform, stands, goal)),
        *_of_network(stands.plan, row),
        *_of_power(ask, rated),
    ]
    return tuple(sorted(moved, key=_importance))


def _importance(one: Assumption) -> tuple[int, float]:
    """Sort what moves the plan itself before what moves the network and the power, and large changes before small."""
    figures = ("racks", "days", "minutes", "needed_gigabytes_per_second", "kilowatts")
    change = float("inf") if one.change_percent is None else abs(one.change_percent)
    return figures.index(one.moves), -change


def _variations(ask: Ask, platform: Platform, stands: Grounds, goal: Goal) -> Iterator[_Variation]:
    plan, machine = stands.plan, stands.plan.machine
    yield from _of_step(stands, goal)
    if goal.minutes is not None:
        given = ask.goodput
        other, value = (1.0, f"{given}") if given is not None else (USUAL_GOODPUT, "uninterrupted running")
        available = goal.minutes / (given or 1.0) * other
        yield _Variation(
            name="goodput", value=value, varied_to=f"{other}", plan=plan, goal=replace(goal, minutes=available)
        )
    if machine.active_per_rack < platform.slots_per_rack:
        whole = replace(machine, active_per_rack=platform.slots_per_rack, domain_accelerators=platform.slots_per_rack)
        yield _Variation(
            name="accelerators at work per rack",
            value=f"{machine.active_per_rack}",
            varied_to=f"{platform.slots_per_rack}",
            plan=replace(plan, machine=whole),
            goal=goal,
            is_of_rack=True,
        )
    if plan.work.batch_most // 2 >= plan.work.batch_least:
        half = plan.work.batch_most // 2
        smaller = replace(plan.work, needs=plan.work.needs.filter(pl.col("global_batch_size") <= half))
        yield _Variation(
            name="largest batch",
            value=f"{plan.work.batch_most:,} samples ({stands.batch_basis})",
            varied_to=f"{half:,}",
            plan=replace(plan, work=smaller),
            goal=goal,
        )
    if ask.workload is not None:
        more = 1 + BENCHMARK_NOISE_PERCENT / 100
        needs = plan.work.needs.with_columns(pl.col("converging_samples", "evaluations") * more)
        yield _Variation(
            name="samples until the quality is reached",
            value="what the round's reference needs",
            varied_to=f"{BENCHMARK_NOISE_PERCENT:.0f} % more",
            plan=replace(plan, work=replace(plan.work, needs=needs)),
            goal=goal,
        )
    less = round(machine.memory_bytes * 0.9)
    yield _Variation(
        name="memory that a run may fill",
        value=f"all of {machine.memory_bytes / 1e9:.1f} GB",
        varied_to="90 %",
        plan=replace(plan, machine=replace(machine, memory_bytes=less)),
        goal=goal,
    )
    yield _Variation(
        name="oversubscription of the network",
        value=f"{machine.oversubscription:g}",
        varied_to=f"{machine.oversubscription * 2:g}",
        plan=replace(plan, machine=replace(machine, oversubscription=machine.oversubscription * 2)),
        goal=goal,
    )


def _of_step(stands: Grounds, goal: Goal) -> Iterator[_Variation]:
    """Vary the step: a fit by its worst error held out, or an efficiency to either end of its range."""
    plan, basis = stands.plan, stands.basis
    if stands.low is not None and stands.high is not None:
        for other in (stands.low, stands.high):
            yield _Variation(
                name="efficiency",
                value=f"{basis.efficiency * 100:.1f} % of peak",
                varied_to=f"{other.steps.efficiency * 100:.1f} %",
                plan=other,
                goal=goal,
            )
    elif basis.worst_error_percent is not None:
        slower = 1 + basis.worst_error_percent / 100
        steps = replace(
            plan.steps,
            efficiency=plan.steps.efficiency / slower,
            fixed_seconds=plan.steps.fixed_seconds * slower,
        )
        yield _Variation(
            name="time of a step",
            value="as the fit has it",
            varied_to=f"{basis.worst_error_percent:.2f} % more, the fit's worst error held out",
            plan=replace(plan, steps=steps),
            goal=goal,
        )


def _solved(variation: _Variation, layouts: pl.DataFrame, goal: Goal, row: dict[str, Any]) -> Assumption:
    size = chosen(look(variation.plan, layouts, variation.goal), variation.goal)
    found = None if size.is_empty() else size.row(0, named=True)
    if goal.minutes is not None:
        figure, before, after = "racks", float(row["racks"]), None if found is None else float(found["racks"])
    else:
        is_long = row["minutes"] >= MINUTES_PER_DAY
        figure, unit = ("days", MINUTES_PER_DAY) if is_long else ("minutes", 1)
        before, after = row["minutes"] / unit, None if found is None else found["minutes"] / unit
    why = ""
    if found is not None and variation.is_of_rack:
        replica = found["accelerator_count"] // found["data_parallel"]
        why = idle_in_words(replica, variation.plan.machine.active_per_rack)
    return _assumption(variation.name, variation.value, variation.varied_to, figure, before, after, why)


def _of_network(plan: Plan, row: dict[str, Any]) -> Iterator[Assumption]:
    """Vary what the need for bandwidth rests on."""
    if row["scale_out_bytes"] <= 0:
        return
    varied = (
        ("width of gradients on the wire", "2 bytes", "4 bytes", replace(CENTRAL, gradient_bytes=4)),
        ("share of a NIC's rate that is reached", "1.0", "0.85", replace(CENTRAL, nic_efficiency=0.85)),
        ("windows that hide traffic", "as modelled", "20 % shorter", replace(CENTRAL, window_scale=0.8)),
        ("traffic that may stay exposed", "1 % of a step", "2 %", replace(CENTRAL, exposed_share=0.02)),
    )
    before, *needs = needed_gigabytes_per_second(row, plan, [CENTRAL, *(one[-1] for one in varied)])
    for (name, value, varied_to, _), after in zip(varied, needs, strict=True):
        yield _assumption(name, value, varied_to, "needed_gigabytes_per_second", before, after)


def _of_power(ask: Ask, rated: Power | None) -> Iterator[Assumption]:
    if rated is None:
        return
    low, high = rated.computer_kilowatts_low, rated.computer_kilowatts_high
    if low < high:
        yield _assumption(
            "rated power of a rack",
            f"{rated.kilowatts_per_rack_high:g} kW",
            f"{rated.kilowatts_per_rack_low:g} kW",
            "kilowatts",
            high,
            low,
        )
    given, other = ask.pue or 1.0, USAGE_EFFECTIVENESS[1]
    if given != other:
        value = f"{ask.pue:g}" if ask.pue is not None else "none: power of the computers"
        yield _assumption("PUE", value, f"{other:g}", "kilowatts", high * given, high * other)


def _assumption(
    name: str, value: str, varied_to: str, moves: str, before: float, after: float | None, why_still: str = ""
) -> Assumption:
    words = moves.replace("needed_gigabytes_per_second", "GB/s needed")
    change = None if after is None or before == 0 else 100 * (after / before - 1)
    if after is None or change is None:
        told = "then the goal is out of reach"
    elif after == before:
        told = f"then still {_number(before)} {words}{f': {why_still}' if why_still else ''}"
    else:
        told = f"then {_number(after)} {words} in place of {_number(before)} ({change:+.1f} %)"
    return Assumption(
        name=name,
        value=value,
        varied_to=varied_to,
        moves=moves,
        from_value=before,
        to_value=after,
        change_percent=change,
        sentence=f"{name}: {value}; were it {varied_to}, {told}.",
    )


def _number(value: float) -> str:
    """Return whole numbers and large ones whole, others with one digit behind the point or two."""
    if value == round(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:,.2f}"
