"""What a chosen size takes beside its accelerators: a network and its verdict, switches and cables, power, money."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from pipelines.modelling import bandwidth, power
from pipelines.modelling.bandwidth import CENTRAL, FAVOURABLE, UNFAVOURABLE, Assumptions
from pipelines.modelling.fabric import size_fabrics
from pipelines.modelling.planning import Plan
from pipelines.reconciling.fabrics import RADIX_BY_GIGABITS
from pipelines.reconciling.planning_answers import BreakEven, Cost, Fabric, Network, Power
from pipelines.reconciling.planning_asks import Ask
from pipelines.reconciling.planning_facts import Facts
from pipelines.reconciling.planning_platforms import Platform
from pipelines.reconciling.planning_words import racks_in_words

_VERDICTS = {
    "enough": "they are enough",
    "not_enough": "by the window model they are not enough",
    "too_close_to_call": "whether they are enough is too close to call",
}


def needed_gigabytes_per_second(row: dict[str, Any], plan: Plan, assumptions: Sequence[Assumptions]) -> list[float]:
    """Return what one accelerator needs between domains, by the window model at the plan's oversubscription.

    Args:
        row: a candidate as `planning.evaluate` has it.
        plan: for the machine.
        assumptions: what each need rests on.
    """
    asked = [replace(one, oversubscription=plan.machine.oversubscription * one.oversubscription) for one in assumptions]
    needs = {str(place): bandwidth.needed_gigabytes_per_second(one) for place, one in enumerate(asked)}
    return list(_with_nic(row, plan).select(**needs).row(0))


def network(row: dict[str, Any], plan: Plan) -> Network:
    """Return the verdict on the NICs of a candidate."""
    low, middle, high = needed_gigabytes_per_second(row, plan, (FAVOURABLE, CENTRAL, UNFAVOURABLE))
    has = plan.machine.nic_gigabytes_per_second
    verdict = pl.select(bandwidth.verdict(pl.lit(has), pl.lit(low), pl.lit(high))).item()
    if row["scale_out_bytes"] <= 0:
        sentence = "Nothing crosses the scale-up domain in a step, so the network does not matter."
    else:
        sentence = (
            f"A step sends {row['scale_out_bytes'] / 1e9:.2f} GB of each accelerator over the network; hiding all but "
            f"1 % of it needs {middle:.1f} GB/s ({low:.1f} to {high:.1f}) and there are {has:.1f}: "
            f"{_VERDICTS[verdict]}."
        )
    return Network(
        verdict=verdict,
        available_gigabytes_per_second=has,
        needed_low_gigabytes_per_second=low,
        needed_gigabytes_per_second=middle,
        needed_high_gigabytes_per_second=high,
        scale_out_bytes=row["scale_out_bytes"],
        scale_up_bytes=row["scale_up_bytes"],
        exposed_seconds=row["exposed_seconds"],
        exposed_share=row["exposed_seconds"] / row["step_seconds"],
        sentence=sentence,
    )


def fabric(platform: Platform, racks: int) -> tuple[Fabric | None, str | None]:
    """Return the leaves, spines and cables of racks whose every accelerator has one NIC, or why there are none."""
    machine = platform.machine
    endpoints, rails = racks * platform.slots_per_rack, platform.accelerators_per_node
    if endpoints <= machine.domain_accelerators:
        return None, "all accelerators share one scale-up domain, so nothing is sent over a network"
    radix = next(ports for least, ports in RADIX_BY_GIGABITS if platform.nic_gigabits_per_second >= least)
    asked = pl.DataFrame(
        {
            "endpoints": [endpoints],
            "radix": [radix],
            "rails": [rails],
            "oversubscription": [machine.oversubscription],
        }
    )
    told = size_fabrics(asked).row(0, named=True)
    if told["leaf_switches"] is None:
        return None, f"{endpoints:,} endpoints are more than three tiers of switches of {radix} ports can join"
    sentence = (
        f"{endpoints:,} NICs, one for each of {racks} x {platform.slots_per_rack} accelerators, on switches of {radix} "
        f"ports: {told['leaf_switches']} leaves, {told['spine_switches']} spines, {told['core_switches']} cores; "
        f"{endpoints:,} cables to leaves and {told['leaf_spine_links']:,} from there to spines."
    )
    return Fabric(
        endpoints=endpoints,
        radix=radix,
        tiers=told["tiers"],
        rails=rails,
        leaf_switches=told["leaf_switches"],
        spine_switches=told["spine_switches"],
        core_switches=told["core_switches"],
        host_cables=endpoints,
        leaf_spine_cables=told["leaf_spine_links"],
        spine_core_cables=told["spine_core_links"],
        oversubscription=machine.oversubscription,
        sentence=sentence,
    ), None


def rated_power(ask: Ask, platform: Platform, racks: int) -> tuple[Power | None, str | None]:
    """Return the rated power of racks, or why there is none."""
    low, high = platform.kilowatts_per_rack_low, platform.kilowatts_per_rack_high
    if low is None or high is None or platform.power_basis is None:
        return None, f"no power is known of {platform.name} or of {platform.accelerator}"
    told = pl.select(
        low=power.racks_kilowatts(pl.lit(racks), pl.lit(low)), high=power.racks_kilowatts(pl.lit(racks), pl.lit(high))
    ).with_columns(level=power.level_by_power(pl.col("high")))
    at_meter: tuple[float | None, float | None] = (None, None)
    if ask.pue is not None:
        facility = (
            power.facility_kilowatts(pl.col(name), pl.lit(ask.pue), pl.lit(0.0)).alias(name) for name in ("low", "high")
        )
        at_meter = told.select(facility).row(0)
    row = told.row(0, named=True)
    parts_alone = (
        "; a rating of parts alone leaves out hosts, switches and fans" if platform.power_basis == "part" else ""
    )
    meter = ""
    if at_meter[0] is not None and at_meter[1] is not None:
        meter = f", {_span(at_meter[0], at_meter[1])} at the meter with PUE {ask.pue:g}"
    return Power(
        computer_kilowatts_low=row["low"],
        computer_kilowatts_high=row["high"],
        facility_kilowatts_low=at_meter[0],
        facility_kilowatts_high=at_meter[1],
        pue=ask.pue,
        kilowatts_per_rack_low=low,
        kilowatts_per_rack_high=high,
        basis=platform.power_basis,
        level=row["level"],
        sentence=(
            f"{_span(row['low'], row['high'])} for {racks_in_words(racks)} by the rating of a {platform.power_basis}"
            f"{meter}, an upper bound of what is drawn{parts_alone}; network and cooling "
            f"{'of the network ' if ask.pue is not None else ''}not counted."
        ),
    ), None


def _span(low: float, high: float) -> str:
    return f"{high:,.0f} kW" if low == high else f"{low:,.0f} to {high:,.0f} kW"


def break_even(row: dict[str, Any], plan: Plan, platform: Platform, facts: Facts) -> BreakEven:
    """Return what a faster network is worth, as a share of what the accelerators cost: the time that it would save."""
    asked = [replace(one, oversubscription=plan.machine.oversubscription) for one in (CENTRAL, UNFAVOURABLE)]
    has = pl.col("nic_available_gigabytes_per_second")
    exposed = _with_nic(row, plan).select(
        **{str(place): bandwidth.exposed_seconds(one, has) for place, one in enumerate(asked)}
    )
    shares = [
        100 * float(seconds) / max(row["step_seconds"] - seconds, row["compute_seconds"]) for seconds in exposed.row(0)
    ]
    measured = _measured(platform, facts)
    beside = " Pairs of runs with other NICs are shown beside it and weigh more." if measured else ""
    return BreakEven(
        modelled_percent=shares[0],
        unfavourable_percent=shares[1],
        measured_sentence=measured,
        sentence=(
            f"By the window model a network that exposes nothing is worth at most {shares[0]:.1f} % of what the "
            f"accelerators cost ({shares[1]:.1f} % under the least favourable assumptions): a step would be so much "
            f"shorter.{beside}"
        ),
    )


def cost(ask: Ask, platform: Platform, ordered: int, built: Fabric | None, rated: Power | None, worth: BreakEven,
         calendar_minutes: float) -> Cost | None:  # fmt: skip
    """Return what the racks cost by the prices of an ask; None where it has none."""
    prices = ask.prices
    if prices is None:
        return None
    accelerators = ordered * platform.slots_per_rack * prices.accelerator
    network_cost = 0.0
    if built is not None:
        switches = built.leaf_switches + built.spine_switches + built.core_switches
        cables = built.host_cables + built.leaf_spine_cables + built.spine_core_cables
        network_cost = built.endpoints * prices.nic + switches * prices.switch + cables * prices.cable
    energy = None
    if rated is not None and prices.kilowatt_hour > 0:
        drawn = rated.facility_kilowatts_high or rated.computer_kilowatts_high
        hours = pl.select(power.energy_bound_megawatt_hours(pl.lit(drawn), pl.lit(calendar_minutes))).item() * 1_000
        energy = hours * prices.kilowatt_hour
    racks = ordered * prices.rack
    return Cost(
        currency=prices.currency,
        accelerators=accelerators,
        network=network_cost,
        racks=racks,
        energy_bound=energy,
        total=accelerators + network_cost + racks,
        break_even_network=accelerators * worth.modelled_percent / 100,
    )


def _with_nic(row: dict[str, Any], plan: Plan) -> pl.DataFrame:
    return pl.DataFrame([row], infer_schema_length=1).with_columns(
        nic_available_gigabytes_per_second=pl.lit(plan.machine.nic_gigabytes_per_second)
    )


def _measured(platform: Platform, facts: Facts) -> str | None:
    """Return what the pair of runs with other NICs says that contradicts the window model most, of the part if any."""
    pairs = facts.natural_experiments
    of_part = pairs.filter(accelerator=platform.accelerator)
    told = of_part if not of_part.is_empty() else pairs
    return None if told.is_empty() else f"{told['result_id'][0]}: {told['explanation'][0]}"
