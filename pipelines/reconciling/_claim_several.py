"""Figures told of several of a product together: eight racks hold 8 x 72 accelerators, and draw 8 x 120 kW.

The words say how many and whether together (`beside`); what one holds is a known value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from pipelines.reconciling._claim_forms import candidate_of
from pipelines.reconciling._claim_model import Alternative, Candidate, Check, Claim
from pipelines.reconciling._claim_nouns import accelerator_noun
from pipelines.reconciling._claim_references import ADDITIVE, Reference
from pipelines.reconciling._claim_world import PRODUCTS, World

_COUNT_OF_LEVEL = {"rack": "racks", "node": "nodes", "pod": "pods"}
_SUMMED = ADDITIVE | {
    "superchips",
    "compute_trays",
    "switch_trays",
    "switch_chips",
    "nics",
    "optical_modules",
    "scale_out_bandwidth",
}
"""Metrics of a product whose value for several is the sum."""

_IN_USE = re.compile(r"\b(?:us(?:ed?|es|ing)|in\suse|active|runs?|running|ran|train\w*|submi\w+)\b", re.I)


@dataclass(frozen=True, slots=True)
class Several:
    """How many of a product a figure is told of."""

    count: float
    noun: str
    """racks, nodes, pods or superchips."""
    is_open: bool
    """Whether it may be told of one of them as well."""

    def times(self, reference: Reference, note: str = "") -> Reference:
        """Return a product's value for all of them."""
        return replace(
            reference,
            subject=f"{self.count:,.0f} {self.noun} of {reference.subject}",
            scope="whole",
            low=reference.low * self.count,
            high=reference.high * self.count,
            expression=f"{self.count:,.0f} {self.noun} x ({reference.expression})",
            note=note or reference.note,
        )


def several_of(claim: Claim, name: str, world: World) -> Several | None:
    """Return how many of a product a figure is told of together; None where it is told of one."""
    noun = _counted_as(name, world)
    told = claim.beside.get(noun or "")
    if noun is None or told is None or claim.scope not in (None, "pod", "cluster", "campus", "fabric"):
        return None
    together, count = told.get("together"), claim.beside_value(noun)
    if together not in ("yes", "maybe") or count is None or count < 2 or not count.is_integer():
        return None
    return Several(count, noun, is_open=together == "maybe")


def _counted_as(name: str, world: World) -> str | None:
    platform = world.references.platforms.get(name)
    if platform is None:
        return None
    return "superchips" if "Superchip" in name else _COUNT_OF_LEVEL[platform.level]


def values_of_several(
    claim: Claim, known: Iterable[Reference], name: str, several: Several, world: World
) -> list[Reference]:
    """Return what is known of one product as what it is for several; of what does not add up, itself.

    Accelerators may also be those in use: so many of each as the sentence tells, or as published runs use.
    """
    found = []
    for reference in known:
        adds_up = reference.scope == "whole" and reference.metric in _SUMMED
        found += [several.times(reference)] if adds_up else []
        found += [reference] if several.is_open or not adds_up else []
    if claim.metric == "accelerators":
        found += list(_used_of_each(claim, name, several, world))
        found += _in_use(name, several, world) if _IN_USE.search(claim.sentence) else []
    return found


def _used_of_each(claim: Claim, name: str, several: Several, world: World) -> Iterator[Reference]:
    each = (claim.beside.get("accelerators") or {}).get("each", [])
    whole = next((r for r in world.references.of(name, "accelerators") if r.scope == "whole"), None)
    if whole is None:
        return
    for count in each:
        if count <= whole.high:
            told = replace(whole, low=count, high=count, expression=f"{count:,.0f} of each, as the sentence tells")
            yield several.times(told, note="as the sentence tells of each")


def _in_use(name: str, several: Several, world: World) -> list[Reference]:
    return [
        several.times(r, note=f"{r.low:,.0f} of each in use, as in published runs")
        for r in world.references.of(name, "accelerators")
        if r.scope == "active"
    ]


def alternatives_of_several(
    claim: Claim, names: tuple[str, ...], metrics: tuple[str, ...], world: World
) -> Iterator[Alternative]:
    """Give what else a figure told of several can be of: those in use of each, and one alone."""
    for name in names:
        several = several_of(claim, name, world)
        if several is None:
            continue
        if claim.metric == "accelerators":
            for reference in _in_use(name, several, world):
                yield Alternative(candidate_of(claim, reference), "the accelerators in use")
        for metric in metrics:
            for reference in world.references.of(name, metric):
                if reference.scope == "whole" and reference.confidence != "low" and metric in _SUMMED:
                    yield Alternative(candidate_of(claim, reference), "one of them")


def counts_products(claim: Claim, names: tuple[str, ...], world: World) -> bool:
    """Say whether a claim tells how many of a product there are, which is no property of the product."""
    return bool(names) and claim.kind in PRODUCTS and all(_counted_as(name, world) == claim.metric for name in names)


def product_count_check(claim: Claim, names: tuple[str, ...], world: World) -> Check:
    """Hold a number of racks or nodes against the accelerators that the sentence says they hold together."""
    of, one = " | ".join(names), claim.metric.removesuffix("s")
    told = claim.beside.get("accelerators")
    total = claim.beside_value("accelerators")
    if told is None or total is None or told.get("together", "no") == "no" or told.get("scope") in ("rack", "node"):
        reason = f"It counts {claim.metric} of {names[0]}, which is one {one}"
        reason += ", and names no run that it could be held against."
        return Check(f"count({of}, {claim.metric})", reason=reason)
    candidates = [
        Candidate(
            f"{total:,.0f} {accelerator_noun(world.references.platforms[name].accelerator or name)} of {name}",
            total / size,
            total / size,
            f"{total:,.0f} / {size:,.0f} of each{', as the sentence tells' if size in told.get('each', []) else ''}",
            evidence,
        )
        for name in names
        for size, evidence in _sizes(claim, name, told.get("each", []), world)
    ]
    fitting = tuple(c for c in candidates if abs(c.low - claim.value) < 1e-9)
    reason = f"It says what the {total:,.0f} accelerators are told of, and those are checked."
    return Check(f"count({of}, {claim.metric})", fitting, is_any=True, reason=reason)


def _sizes(claim: Claim, name: str, each: list[float], world: World) -> Iterator[tuple[float, str]]:
    is_used = _IN_USE.search(claim.sentence) is not None
    for reference in world.references.of(name, "accelerators"):
        if reference.scope == "whole" and not reference.note:
            yield reference.low, reference.evidence
            yield from ((size, "arithmetic on the sentence's own figures") for size in each if size <= reference.low)
        if reference.scope == "active" and is_used:
            yield reference.low, reference.evidence


def why_no_product(claim: Claim, world: World) -> str | None:
    """Return how many accelerators a rack of no named product would hold, and which known racks hold so many."""
    told, racks = claim.beside.get("racks"), claim.beside_value("racks")
    if claim.metric != "accelerators" or told is None or not racks or told.get("together") != "yes":
        return None
    each = claim.value / racks
    known = [
        f"{r.subject} ({r.low:,.0f}{' in use in published runs' if r.scope == 'active' else ''})"
        for name in world.references.platforms_of("rack")
        for r in world.references.of(name, "accelerators")
        if r.scope in ("whole", "active") and abs(r.low - each) < 1e-9 and r.confidence != "low"
    ]
    text = f"It names no product. {claim.value:,.0f} / {racks:,.0f} = {each:,.4g} a rack"
    return (
        f"{text}, as in {', '.join(dict.fromkeys(known))}."
        if known
        else f"{text}, which is that of no rack known here."
    )
