"""Checks against known values: the same metric of the same subject, in the form that the claim tells, and in others.

Other scopes, directions and densities, the products above and below, bits for bytes: each is an alternative that
explains a figure which is right about something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from pipelines.parsing.claims import kind_of, members_of, siblings_of
from pipelines.reconciling._claim_alternatives import alternatives_of
from pipelines.reconciling._claim_forms import candidate_of, gap, is_told_form
from pipelines.reconciling._claim_model import Candidate, Check, Claim, shown
from pipelines.reconciling._claim_references import ADDITIVE, Reference
from pipelines.reconciling._claim_rules import fits
from pipelines.reconciling._claim_several import (
    counts_products,
    product_count_check,
    several_of,
    values_of_several,
    why_no_product,
)
from pipelines.reconciling._claim_world import PARTS, World, members, parts_named, spoken_of

_OPEN: dict[str, tuple[str, ...]] = {
    "bandwidth": (
        "scale_up_bandwidth",
        "scale_out_bandwidth",
        "memory_bandwidth",
        "chip_link_bandwidth",
        "pcie_bandwidth",
    ),
    "memory": ("memory_capacity", "fast_memory", "cpu_memory"),
    "fast_memory": ("fast_memory", "memory_capacity"),
    "nodes": ("nodes", "compute_trays"),
    "switches": ("switches", "switch_chips", "switch_trays"),
}
"""Metrics that the words leave open, and what each can be."""

_LEVEL_OF_SCOPE = {"rack": "rack", "pod": "pod", "node": "node"}
_LEVEL_MEMBERS = {
    "node": ("node",),
    "rack": ("rack",),
    "pod": ("pod",),
    "cluster": ("pod",),
    "campus": (),
    "GPU package": (),
}


def fact_check(claim: Claim, world: World, *, is_any: bool | None = None) -> Check:
    """Hold a claim against the known values of what it is told of.

    Args:
        claim: The claim.
        world: What is known.
        is_any: Whether one member that fits is enough; by default where the members are variants of one part, where
            the claim is of a level or class in general, or where the sentence tells a second value beside it.
    """
    if claim.dimension in ("ratio", "percent"):
        return _statement_check(claim, world)
    names = _members(claim, world)
    if counts_products(claim, names, world):
        return product_count_check(claim, names, world)
    metrics = _OPEN.get(claim.metric, (claim.metric,))
    found = {name: c for name in names if (c := _best_of_member(claim, world, name, metrics)) is not None}
    candidates = list(found.values())
    if not candidates and not names:
        return Check(reason=why_no_product(claim, world) or _no_subject(claim))
    named = spoken_of(claim, world) if claim.kind in FAMILIES else ()
    enough = _is_any(claim) if is_any is None else is_any
    enough = enough or any(fits(claim, c) for name, c in found.items() if name in named)
    alternatives = tuple(alternatives_of(claim, world, names, metrics, candidates))
    if not candidates and not alternatives:
        what = claim.metric.replace("_", " ")
        if claim.metric.endswith("_per_watt"):
            return Check(reason=f"No measured {what} is here, and rated power gives none.")
        return Check(
            reason=f"No published {what} of {claim.subject or 'what it is told of'} is here to hold it against."
        )
    doubtful = tuple(c for name in names if (c := _doubtful(claim, world, name, metrics)) is not None)
    floor, ceiling = _extremes(claim, world, metrics) if _is_class(claim) else (None, None)
    return Check(
        _expression(claim, names),
        tuple(candidates),
        alternatives,
        enough,
        doubtful=doubtful,
        floor=floor,
        ceiling=ceiling,
        lookalikes=_lookalikes(claim, world, names, metrics),
    )


def _holds_parts(claim: Claim, world: World) -> bool:
    """Say whether a product that the sentence does not name can hold the parts that it counts."""
    counted = [name for name in claim.parts if kind_of(name) in PARTS]
    held = {world.references.platforms[m].accelerator for m in members(claim, world) if m in world.references.platforms}
    return not counted or not held or bool(held & set(parts_named(tuple(counted), world)))


def _statement_check(claim: Claim, world: World) -> Check:
    """Hold a ratio against what the vendor of the product says.

    No list of such statements is whole, so none contradicts.
    """
    what = claim.metric.replace("_", " ")
    if claim.subject is None or claim.subject == "supernode" or claim.kind in ("level", None):
        return Check(reason=f"It does not say the {what} of what against what.")
    found = [r for name in members(claim, world) for r in world.references.of(name, claim.metric)]
    bearing = [r for r in found if gap(claim, r) <= max(claim.tolerance, 0.02)]
    if not bearing:
        return Check(reason=f"No published {what} of {claim.subject} is this one.")
    return Check(_expression(claim, members(claim, world)), tuple(candidate_of(claim, r) for r in bearing), is_any=True)


FAMILIES = ("platform_family", "accelerator_family")


def _members(claim: Claim, world: World) -> tuple[str, ...]:
    if claim.metric == "accelerators" and claim.kind not in ("level", None) and not _holds_parts(claim, world):
        return ()
    if claim.kind in FAMILIES and claim.subject:
        return members_of(claim.subject)
    if claim.is_contrast:
        return tuple(world.references.platforms)
    if claim.kind == "level" or claim.kind == "accelerator_class":
        return _members_of_level(claim, world)
    return members(claim, world)


def _members_of_level(claim: Claim, world: World) -> tuple[str, ...]:
    level = claim.subject or ""
    parts = parts_named(claim.parts, world)
    if parts and claim.metric == "accelerators" and level in ("node", "rack"):
        return tuple(name for name, platform in world.references.platforms.items() if platform.accelerator in parts)
    if claim.metric in ("racks", "nodes") and level in ("rack", "node"):
        return ()
    if claim.metric == "scale_out_bandwidth":
        return tuple(
            dict.fromkeys(r.subject for r in world.references.by_metric.get(claim.metric, []) if r.kind == "nic")
        )
    if claim.kind == "accelerator_class":
        return tuple(
            dict.fromkeys(
                r.subject for r in world.references.by_metric.get(claim.metric, []) if r.kind == "accelerator"
            )
        )
    products = tuple(name for kind in _LEVEL_MEMBERS.get(level, ()) for name in world.references.platforms_of(kind))
    wanted = {"cluster": ("cluster", "campus"), "campus": ("cluster", "campus")}.get(level, ())
    clusters = tuple(
        r.subject
        for r in world.references.by_metric.get("accelerators", [])
        if r.kind == "cluster" and r.scope in wanted
    )
    return (*products, *clusters)


def _is_any(claim: Claim) -> bool:
    if claim.is_contrast:
        return True
    if claim.kind in ("level", "accelerator", "component") or claim.subject == "supernode":
        return not claim.is_universal or claim.kind == "accelerator"
    if claim.kind == "accelerator_class":
        return False
    return (claim.metric in claim.beside and claim.dimension == "data_rate") or claim.comparator in (
        "reaches",
        "maximum",
    )


def _is_class(claim: Claim) -> bool:
    return claim.kind in ("level", "platform_family", None)


def _no_subject(claim: Claim) -> str:
    return f"It names no part or system whose {claim.metric.replace('_', ' ')} could be looked up."


def _best_of_member(claim: Claim, world: World, name: str, metrics: Iterable[str]) -> Candidate | None:
    """Return the value of a member in the form that the claim tells; of several, the one that favours the claim."""
    found = [r for metric in metrics for r in world.references.of(name, metric) if is_told_form(claim, r, name, world)]
    found = found or list(_halves(claim, world, name, metrics))
    found = _of_some(claim, world, name, metrics) or found
    several = several_of(claim, name, world)
    found = values_of_several(claim, found, name, several, world) if several is not None else found
    firm = [r for r in found if r.confidence != "low"]
    pool = firm or found
    if not pool:
        return None
    sums = [s for r in pool if (s := _sum_of_count(claim, r)) is not None]
    spans = [*_span(pool), *_span(sums)] if "power" in metrics else []
    pool = [*pool, *sums, *spans]
    pool += [_in_binary_units(r) for r in pool if r.metric == "memory_capacity" and r.scope == "accelerator"]
    best = min(pool, key=lambda r: (gap(claim, r), r.confidence != "high", bool(r.note)))
    return candidate_of(claim, _with_its_sum(claim, best, world))


def _of_some(claim: Claim, world: World, name: str, metrics: Iterable[str]) -> list[Reference]:
    """Return what a figure told of some of a product's accelerators is held against: sixteen of them, 16 x one."""
    told = claim.beside.get("accelerators")
    count = claim.beside_value("accelerators")
    if told is None or not told.get("condition") or count is None or claim.scope is not None:
        return []
    one = replace(claim, scope="accelerator")
    return [
        _times(r, count)
        for metric in metrics
        for r in world.references.of(name, metric)
        if metric in ADDITIVE and r.scope == "accelerator" and is_told_form(one, r, name, world)
    ]


def _lookalikes(claim: Claim, world: World, names: tuple[str, ...], metrics: tuple[str, ...]) -> tuple[Candidate, ...]:
    """Return the others of a family whose value is the claim's: 9,216 of a TPU v5p pod is a TPU7x pod's."""
    siblings = tuple(dict.fromkeys(other for name in names for other in siblings_of(name) if other not in names))
    found = (_best_of_member(claim, world, other, metrics) for other in siblings if len(names) == 1)
    return tuple(c for c in found if c is not None and c.is_firm and fits(claim, c))


def _with_its_sum(claim: Claim, total: Reference, world: World) -> Reference:
    """Return a product's published total as what its accelerators come to, where that bears the claim out too.

    A page's total proves nothing where the claim is read from that page; its parts do.
    """
    form = (total.density, total.direction, total.precision)
    sums = [
        r
        for r in world.references.sums.get((total.subject, total.metric), [])
        if total.scope == "whole" and (r.density, r.direction, r.precision) == form and gap(claim, r) <= claim.tolerance
    ]
    if not sums:
        return total
    best = min(sums, key=lambda r: gap(claim, r))
    value = shown(best.low, claim.dimension, claim.unit, claim.factor)
    return replace(
        total,
        low=best.low,
        high=best.high,
        expression=f"{best.expression} = {value}; published: {total.expression}",
        evidence=f"{best.evidence}; {total.evidence}",
    )


def _halves(claim: Claim, world: World, name: str, metrics: Iterable[str]) -> Iterator[Reference]:
    """Give half of what links move in both directions together, for a claim of one: they move the same each way."""
    if claim.direction != "one" or "scale_up_bandwidth" not in metrics:
        return
    for reference in world.references.of(name, "scale_up_bandwidth"):
        half = replace(
            reference,
            low=reference.low / 2,
            high=reference.high / 2,
            direction="one",
            expression=f"({reference.expression}) / 2",
        )
        if reference.direction == "both" and is_told_form(claim, half, name, world):
            yield half


def _span(known: list[Reference]) -> list[Reference]:
    """Return what several sources of a power span together: any figure between theirs is one that is told."""
    if len(known) < 2:
        return []
    low, high = min(known, key=lambda r: r.low), max(known, key=lambda r: r.high)
    return [
        replace(low, high=high.high, evidence=f"{low.evidence}; {high.evidence}", note="between what sources print")
    ]


def _in_binary_units(reference: Reference) -> Reference:
    """Return a memory size as the number of GiB, which texts write as GB."""
    factor = 1e9 / 2**30
    note = f"{reference.note}, in binary units" if reference.note else "in binary units"
    return replace(reference, low=reference.low * factor, high=reference.high * factor, note=note)


def _doubtful(claim: Claim, world: World, name: str, metrics: Iterable[str]) -> Candidate | None:
    """Return a value of low confidence that is what the claim says: a source that others contradict."""
    found = [
        r
        for metric in metrics
        for r in world.references.of(name, metric)
        if r.confidence == "low" and is_told_form(claim, r, name, world) and gap(claim, r) <= claim.tolerance
    ]
    return candidate_of(claim, found[0]) if found else None


def _sum_of_count(claim: Claim, reference: Reference) -> Reference | None:
    """Return a part's value times the number of them that the sentence tells: `eight MI300X give 1.5 TB`."""
    count = claim.beside_value("accelerators")
    if (
        count is None
        or count < 2
        or reference.scope != "accelerator"
        or claim.scope is not None
        or reference.metric not in ADDITIVE
    ):
        return None
    return _times(reference, count)


def _times(reference: Reference, count: float) -> Reference:
    return replace(
        reference,
        subject=f"{count:,.0f} {'accelerators of' if reference.kind == 'platform' else 'x'} {reference.subject}",
        scope="whole",
        low=reference.low * count,
        high=reference.high * count,
        expression=f"{count:,.0f} x ({reference.expression})",
    )


def _extremes(claim: Claim, world: World, metrics: tuple[str, ...]) -> tuple[Candidate | None, Candidate | None]:
    """Return the lowest and the highest known value of a metric in the scope that the claim tells."""
    scope = claim.scope if claim.scope in ("accelerator", "rack", "node") and claim.subject != "supernode" else "whole"
    known = [
        r
        for metric in metrics
        for r in world.references.by_metric.get(metric, [])
        if r.confidence != "low"
        and r.kind in ("platform", "accelerator", "cluster")
        and (scope == "whole" if r.kind == "cluster" else r.scope == scope and not r.note)
    ]
    if len(known) < 5:
        return None, None
    low, high = min(known, key=lambda r: r.low), max(known, key=lambda r: r.high)
    return candidate_of(claim, low), candidate_of(claim, high)


def _expression(claim: Claim, names: tuple[str, ...]) -> str:
    scope = f", {claim.scope}" if claim.scope else ""
    return f"fact({' | '.join(names[:6]) or claim.subject}, {claim.metric}{scope})"
