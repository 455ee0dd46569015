"""The platform that a plan asks for: its part, its rack, how it is connected, what it draws, and on what basis."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from pipelines.modelling import peaks
from pipelines.modelling.connectivity import LARGEST_NODE
from pipelines.modelling.planning import Machine
from pipelines.reconciling.equivalents import NODES_PER_RACK, USUAL_NODE
from pipelines.reconciling.planning_asks import Ask, PlanError
from pipelines.reconciling.planning_facts import Facts
from pipelines.reconciling.scales import power_units

PRECISIONS = ("fp4", "fp8", "bf16", "fp16")
"""Precisions of matrix engines that models are trained at."""

USUAL_ACTIVE = {72: 64}
"""Accelerators at work of a rack's slots in published runs; why it is 64 of 72 is ambiguous (`reconciling.racks`)."""


@dataclass(frozen=True, kw_only=True)
class Platform:
    """One platform as planned with."""

    name: str
    accelerator: str
    precision: str
    machine: Machine
    nic_gigabits_per_second: float
    nic_basis: str
    slots_per_rack: int
    accelerators_per_node: int
    is_rack_product: bool
    rack_basis: str
    kilowatts_per_rack_low: float | None
    kilowatts_per_rack_high: float | None
    power_basis: str | None


def resolve_platform(ask: Ask, facts: Facts) -> Platform:
    """Return the platform of an ask.

    Raises:
        PlanError: no such platform, several, no peak at the precision, no network, or a rack that cannot be.
    """
    row = _find(ask.platform, facts)
    part = facts.accelerators.filter(accelerator=row["accelerator"]).row(0, named=True)
    slots, is_product, slots_basis = _slots(ask, row)
    node = row["accelerators_per_node"] or USUAL_NODE
    active, active_basis = _active(ask, row, slots, node)
    nic, nic_basis = _nic(ask, row, part)
    if part["memory_bytes"] is None or part["scale_up_gigabytes_per_second_per_direction"] is None:
        raise PlanError(
            "platform",
            f"platform: memory or scale-up bandwidth of {row['accelerator']} is in no fact here; name another",
        )
    domain = part["scale_up_domain_accelerators"] or node
    machine = Machine(
        memory_bytes=part["memory_bytes"],
        peak_teraflops=_peak(ask.precision, row["accelerator"], facts),
        domain_accelerators=min(active, domain)
        if is_product
        else (domain if domain > LARGEST_NODE else min(domain, node)),
        scale_up_gigabytes_per_second=part["scale_up_gigabytes_per_second_per_direction"],
        nic_gigabytes_per_second=nic / 8,
        oversubscription=ask.oversubscription,
        active_per_rack=active,
    )
    low, high, basis = _kilowatts(row, slots, facts)
    return Platform(
        name=row["platform"] or row["accelerator"],
        accelerator=row["accelerator"],
        precision=ask.precision.lower(),
        machine=machine,
        nic_gigabits_per_second=nic,
        nic_basis=nic_basis,
        slots_per_rack=slots,
        accelerators_per_node=node,
        is_rack_product=is_product,
        rack_basis=f"{slots_basis}; {active_basis}",
        kilowatts_per_rack_low=low,
        kilowatts_per_rack_high=high,
        power_basis=basis,
    )


def list_platforms(facts: Facts) -> list[str]:
    """Return the platforms that can be named, racks and nodes before parts."""
    parts = _parts(facts)["accelerator"].to_list()
    return [*_units(facts)["platform"].to_list(), *parts]


def list_precisions(platform: str, facts: Facts) -> list[str]:
    """Return the precisions that a platform's part has a peak for.

    Raises:
        PlanError: no such platform.
    """
    return _rates(_find(platform, facts)["accelerator"], facts)["precision"].to_list()


def _units(facts: Facts) -> pl.DataFrame:
    """Return racks and nodes of known parts; pods of several racks are asked for by their parts."""
    known = facts.platforms.join(_parts(facts).select("accelerator"), on="accelerator", how="semi")
    is_unit = (pl.col("rack_count").is_null() & (pl.col("accelerator_count") <= LARGEST_NODE)) | (
        pl.col("rack_count") == 1
    )
    return known.filter(is_unit).sort("platform")


def _parts(facts: Facts) -> pl.DataFrame:
    rates = peaks.by_precision(facts.accelerators).select("accelerator").unique()
    is_whole = pl.col("memory_bytes").is_not_null()
    return facts.accelerators.filter(is_whole).join(rates, on="accelerator", how="semi").sort("accelerator")


def _find(asked: str, facts: Facts) -> dict[str, Any]:
    """Return the row of the platform, or of a part alone with the columns of one."""
    units, parts = _units(facts), _parts(facts)
    if not _words(asked):
        raise PlanError("platform", "platform: name one, such as gb200-nvl72 or h100")
    for names in (_is_same, _begins, _holds):
        named = _matching(units, "platform", asked, names)
        if named.height == 1:
            return named.row(0, named=True)
        of_part = _matching(parts, "accelerator", asked, names)
        if of_part.height > 1:
            with_unit = of_part.join(units.select("accelerator").unique(), on="accelerator", how="semi")
            of_part = with_unit if with_unit.height == 1 else of_part
        if of_part.height == 1:
            return _of_part(of_part["accelerator"][0], units)
        several = [*named["platform"].to_list(), *of_part["accelerator"].to_list()]
        if several:
            raise PlanError("platform", f"platform {asked!r} may be {', '.join(several)}: name one of them")
    known = ", ".join(units["platform"].to_list())
    raise PlanError(
        "platform", f"platform {asked!r} is not known: name one of {known}, or a part such as H200-SXM-141GB"
    )


def _matching(
    frame: pl.DataFrame, column: str, wanted: str, names: Callable[[list[str], list[str]], bool]
) -> pl.DataFrame:
    kept = [names(_words(name), _words(wanted)) for name in frame[column].to_list()]
    return frame.filter(pl.Series(kept, dtype=pl.Boolean))


def _is_same(name: list[str], wanted: list[str]) -> bool:
    return "".join(name) == "".join(wanted)


def _begins(name: list[str], wanted: list[str]) -> bool:
    """Compare whole words: `h` is no beginning of `H100`."""
    return name[: len(wanted)] == wanted


def _holds(name: list[str], wanted: list[str]) -> bool:
    """Find what is left of a name without its brand: `mi300x` in `Instinct MI300X`."""
    return any(_begins(name[place:], wanted) for place in range(len(name)))


def _of_part(part: str, units: pl.DataFrame) -> dict[str, Any]:
    """Return a part's rack where it has one, else its node, else the part with nothing known around it."""
    own = units.filter(accelerator=part).sort(pl.col("rack_count").is_null(), "platform")
    if not own.is_empty():
        return own.row(0, named=True)
    return dict.fromkeys(units.columns) | {"accelerator": part}


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", name.lower())


def _slots(ask: Ask, row: dict[str, Any]) -> tuple[int, bool, str]:
    if row["rack_count"] == 1:
        slots = row["accelerator_count"]
        if ask.accelerators_per_rack not in (None, slots):
            raise PlanError(
                "accelerators_per_rack",
                f"accelerators per rack: {row['platform']} has {slots}; to leave some idle set active per rack",
            )
        return slots, True, f"{slots} slots of the rack product"
    if ask.accelerators_per_rack is not None:
        return ask.accelerators_per_rack, False, f"{ask.accelerators_per_rack} a rack as asked"
    if row["accelerators_per_rack"] is not None:
        slots = int(row["accelerators_per_rack"])
        return slots, False, f"{slots} a rack as the platform is described"
    slots = NODES_PER_RACK * (row["accelerators_per_node"] or USUAL_NODE)
    return slots, False, f"{slots} a rack is assumed: {NODES_PER_RACK} nodes"


def _active(ask: Ask, row: dict[str, Any], slots: int, node: int) -> tuple[int, str]:
    if ask.active_per_rack is not None:
        if ask.active_per_rack > slots:
            raise PlanError(
                "active_per_rack",
                f"active per rack: a rack has {slots} slots; give at most that, not {ask.active_per_rack}",
            )
        return ask.active_per_rack, f"{ask.active_per_rack} at work as asked"
    stated = row["active_accelerator_count"] if row["rack_count"] == 1 else None
    active = min(stated or slots, USUAL_ACTIVE.get(slots, slots))
    if active < slots:
        return active, f"{active} at work, as in published runs"
    return active, "all at work"


def _nic(ask: Ask, row: dict[str, Any], part: dict[str, Any]) -> tuple[float, str]:
    if ask.nic_gigabits_per_second is not None:
        return ask.nic_gigabits_per_second, "as asked"
    if row["nic_gigabits_per_second"] is not None:
        return row["nic_gigabits_per_second"], f"of {row['platform']}"
    if part["nic_gigabits_per_second"] is not None:
        return part["nic_gigabits_per_second"], f"usual for {row['accelerator']}"
    raise PlanError(
        "nic_gigabits_per_second",
        f"NIC: none is known for {row['accelerator']}; give the Gb/s of one accelerator",
    )


def _peak(precision: str, part: str, facts: Facts) -> float:
    known = _rates(part, facts)
    found = known.filter(precision=precision.lower())["peak_tflops"]
    if found.is_empty():
        raise PlanError(
            "precision",
            f"precision {precision!r}: no dense peak of {part} is known; give one of {', '.join(known['precision'])}",
        )
    return float(found[0])


def _rates(part: str, facts: Facts) -> pl.DataFrame:
    return peaks.by_precision(facts.accelerators).filter(pl.col("precision").is_in(PRECISIONS), accelerator=part)


def _kilowatts(row: dict[str, Any], slots: int, facts: Facts) -> tuple[float | None, float | None, str | None]:
    """Return the rated power of a rack: its own, else its nodes', else its parts' alone."""
    units = power_units(facts.accelerators, facts.platforms, facts.resolved_facts)
    for rated in (
        units.filter(pl.col("platform").eq_missing(pl.lit(row["platform"], pl.String)), basis="rack"),
        units.filter(accelerator=row["accelerator"], basis="node"),
        units.filter(accelerator=row["accelerator"], basis="part"),
    ):
        if not rated.is_empty() and rated["high"][0] is not None:
            unit = rated.row(0, named=True)
            share = slots / unit["unit_accelerators"]
            return unit["low"] * share, unit["high"] * share, unit["basis"]
    return None, None, None
