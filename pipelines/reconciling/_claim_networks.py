"""Checks on networks: the cliff at a domain's edge, how large a fabric can be, how many switches it needs."""

from __future__ import annotations

import re

import polars as pl

from pipelines.modelling.fabric import largest_fabric, size_fabrics
from pipelines.parsing.claims import kind_of, members_of
from pipelines.reconciling._claim_model import Candidate, Check, Claim
from pipelines.reconciling._claim_references import Reference
from pipelines.reconciling._claim_world import PRODUCTS, World, members


def cliff_check(claim: Claim, world: World) -> Check:
    """Hold a ratio of bandwidths against scale-up over scale-out of one accelerator, one direction each."""
    names = members(claim, world)
    products = tuple(name for name in names if name in world.references.platforms) or _products_in(claim, world)
    candidates = []
    is_named = claim.kind == "platform" and claim.source == "sentence" and claim.subject in products
    for name in products if is_named else _with_siblings(products):
        inside, outside = _one(world, name, "scale_up_bandwidth", "one"), _one(world, name, "scale_out_bandwidth", None)
        if inside is None or outside is None:
            continue
        ratio = inside.low / outside.low
        value = ratio if claim.value >= 1 else 1 / ratio
        expression = f"{inside.low:,.0f} / {outside.low:,.0f} GB/s of one accelerator, one direction"
        candidates.append(Candidate(name, value, value, expression, f"{inside.evidence}; {outside.evidence}"))
    return Check(
        f"cliff({' | '.join(products)})",
        tuple(candidates),
        reason="No product is named whose bandwidths inside and outside are known.",
    )


def _products_in(claim: Claim, world: World) -> tuple[str, ...]:
    for name in (*claim.mentions, *claim.context):
        if kind_of(name) in PRODUCTS:
            found = tuple(member for member in members_of(name) if member in world.references.platforms)
            if found:
                return found
    return ()


def _with_siblings(products: tuple[str, ...]) -> tuple[str, ...]:
    """Return a product with the other generations of its family: a text on NVL72 in general means them all."""
    names = list(products)
    for product in products:
        if product in members_of("NVL72") or product == "DGX SuperPOD GB200":
            names += members_of("NVL72")
    return tuple(dict.fromkeys(name for name in names if name != "DGX SuperPOD GB200"))


def _one(world: World, name: str, metric: str, direction: str | None, precision: str | None = None) -> Reference | None:
    """Return a firm value of one accelerator, of one direction where the metric has two."""
    found = [
        r
        for r in world.references.of(name, metric)
        if r.scope == "accelerator" and r.confidence != "low" and not r.note
    ]
    if precision:
        found = [r for r in found if r.precision == precision]
    exact = [r for r in found if r.direction == direction] if direction else found
    known = exact or found
    return known[0] if known else None


_TIERS = re.compile(r"\b(two|three|2|3)[-\s](?:tiers?|layers?|levels?|stages?)\b", re.I)


def fabric_limit_check(claim: Claim, world: World) -> Check:
    """Hold the size of one fabric against what switches of the named or known radix can join in two and three tiers."""
    candidates = []
    told = _TIERS.search(claim.sentence)
    for switch, radix, evidence in _switches(claim, world):
        for tiers in (2, 3) if told is None else (2 if told[1].lower() in ("two", "2") else 3,):
            limit = float(pl.DataFrame({"radix": [radix]}).select(largest_fabric(tiers)).item())
            formula = "k^2/2" if tiers == 2 else "k^3/4"
            candidates.append(
                Candidate(
                    f"{tiers} tiers of {switch}", limit, limit, f"{formula} for k = {radix}", evidence, "non-blocking"
                )
            )
    if claim.comparator == "maximum":
        larger = [c for c in candidates if c.low > claim.high * (1 + claim.tolerance)]
        if larger:
            least = min(larger, key=lambda c: c.low)
            known = [
                r
                for r in world.references.by_metric.get("accelerators", [])
                if r.scope == "fabric" and r.low == claim.low
            ]
            example = f" The figure is {known[0].note}." if known else ""
            reason = f"{least.label} join {least.low:,.0f}, so it is not the most.{example}"
            return Check("fabric limit", (least,), verdict="contradicted", reason=reason)
    return Check("fabric limit", tuple(candidates), is_any=True)


def _switches(claim: Claim, world: World) -> list[tuple[str, int, str]]:
    named = [name for name in (*claim.mentions, *claim.context) if kind_of(name) == "switch"]
    known = {
        r.subject: (r.subject, int(r.low), r.evidence)
        for r in world.references.by_metric.get("ports", [])
        if r.kind == "switch"
    }
    chosen = [known[name] for name in dict.fromkeys(named) if name in known]
    return chosen or list(known.values())


def leaf_check(claim: Claim, world: World) -> Check:
    """Hold a number of leaf or spine switches against the fabric that joins the accelerators told beside it.

    Where the text leaves the network's generation open, every generation of the products named is tried.
    """
    count = claim.beside_value("accelerators")
    if count is None:
        return Check(reason="It does not say how many accelerators the switches join.")
    products = _with_siblings(members(claim, world) if claim.kind in PRODUCTS else _products_in(claim, world))
    column = {"leaf_switches": "leaf_switches", "spine_switches": "spine_switches", "core_switches": "core_switches"}[
        claim.metric
    ]
    candidates = []
    for rate, holders, evidence in _network_rates(products, world):
        switch = next(
            ((name, radix, source) for name, radix, port, source in _switch_ports(world) if port == rate), None
        )
        if switch is None:
            continue
        sized = size_fabrics(pl.DataFrame({"endpoints": [int(count)], "radix": [switch[1]]})).row(0, named=True)
        if sized[column] is None:
            continue
        value = float(sized[column])
        label = f"{rate * 8:,.0f} Gb/s on {switch[0]} ({holders})"
        expression = f"{count:,.0f} endpoints over {sized['down_ports']} of {switch[1]} ports"
        candidates.append(Candidate(label, value, value, expression, f"modelling.fabric; {switch[2]}; {evidence}"))
    return Check(
        f"fabric({count:,.0f} accelerators)", tuple(candidates), reason="No network of such products is known."
    )


def _network_rates(products: tuple[str, ...], world: World) -> list[tuple[float, str, str]]:
    rates: dict[float, tuple[list[str], str]] = {}
    for name in products:
        reference = _one(world, name, "scale_out_bandwidth", None)
        if reference is not None:
            rates.setdefault(reference.low, ([], reference.evidence))[0].append(name)
    if not rates:
        return [(rate, "any", source) for _, _, rate, source in _switch_ports(world)]
    return [(rate, ", ".join(names), evidence) for rate, (names, evidence) in rates.items()]


def _switch_ports(world: World) -> list[tuple[str, int, float, str]]:
    """Return InfiniBand and Ethernet switches that pair with a rate.

    Name, ports, GB/s of a port, source; the first is taken.
    """
    found = []
    for r in world.references.by_metric.get("ports", []):
        ports = [p for p in world.references.of(r.subject, "scale_out_bandwidth") if p.scope == "port"]
        if r.kind == "switch" and ports:
            found.append((r.subject, int(r.low), ports[0].low, r.evidence))
    return found
