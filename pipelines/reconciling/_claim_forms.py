"""In which form a known value is what a claim tells: scope, direction, density, precision; and how it is named."""

from __future__ import annotations

from pipelines.parsing.claims import kind_of
from pipelines.reconciling._claim_model import Candidate, Claim
from pipelines.reconciling._claim_references import Reference
from pipelines.reconciling._claim_world import World

SCOPE_NAMES = {
    "accelerator": "one accelerator",
    "die": "one die",
    "link": "one link",
    "rack": "one rack",
    "node": "one node or tray",
    "domain": "one scale-up domain",
    "whole": "the whole system",
    "active": "the accelerators in use",
    "port": "one port",
    "superchip": "one superchip",
    "fabric": "a whole fabric",
    "pod": "a larger pod",
    "slot": "a slot of 16 lanes",
    "lane": "one lane",
}


def gap(claim: Claim, reference: Reference) -> float:
    if reference.high >= claim.low and reference.low <= claim.high:
        return 0.0
    nearest = reference.low if claim.high < reference.low else reference.high
    told = claim.high if claim.high < reference.low else claim.low
    return abs(told - nearest) / nearest if nearest else float("inf")


def is_told_form(claim: Claim, reference: Reference, name: str, world: World) -> bool:
    if claim.direction and reference.direction and claim.direction != reference.direction:
        return False
    if claim.density and reference.density and claim.density != reference.density:
        return False
    if claim.precision and reference.precision and claim.precision != reference.precision:
        return False
    return reference.scope in told_scopes(claim, name, world)


def told_scopes(claim: Claim, name: str, world: World) -> frozenset[str]:
    """Return the scopes of a reference that the claim's scope words can mean."""
    if claim.dimension in ("generation", "version", "date"):
        return frozenset({"whole", "accelerator", "run"})
    platform = world.references.platforms.get(name)
    if claim.subject == "supernode" and claim.scope in ("node", "rack", "pod"):
        return frozenset({"whole", "domain"})
    kind = "platform" if platform is not None else (kind_of(name) or "accelerator")
    scope = claim.scope
    if scope == "other":
        return frozenset()
    if kind == "cluster":
        return frozenset({"cluster", "campus"}) if scope in (None, "cluster", "campus") else frozenset()
    if claim.metric == "accelerators":
        if claim.kind == "level" and scope in ("node", "rack"):
            return frozenset({scope, "whole"} if platform is not None and platform.level == scope else {scope})
        is_of_larger = platform is not None and platform.level != claim.subject
        if claim.kind == "level" and claim.subject in ("node", "rack") and is_of_larger:
            return frozenset({claim.subject})
        return _count_scopes(scope, platform.level if platform else None)
    if claim.metric == "pcie_bandwidth":
        return frozenset({"slot", "whole"})
    if claim.metric in ("links", "optical_rate"):
        return frozenset({"accelerator", "port", "whole"})
    if kind == "platform":
        if scope in ("accelerator", "die", "link", "superchip"):
            return frozenset({scope})
        if scope is None or platform is None or scope == platform.level or scope in ("domain", "fabric"):
            return frozenset({"whole", *_customary(claim)})
        return frozenset({scope}) if scope != "rack" or platform.level != "node" else frozenset()
    if kind in ("nic", "switch"):
        return frozenset({"whole", "port"})
    if kind == "link":
        return frozenset({"whole", "accelerator"} if scope in (None, "accelerator") else {scope, "whole"})
    return frozenset(
        {"whole", "accelerator", "run"} if scope in (None, "accelerator", "rack", "node") else {scope, "whole"}
    )


def _customary(claim: Claim) -> tuple[str, ...]:
    """Return the scope that a bare rate is customarily of: NVLink's and a network's of one accelerator."""
    if claim.is_vague:
        return ()
    if claim.metric == "scale_out_bandwidth":
        return ("accelerator",)
    if claim.metric in ("scale_up_bandwidth", "bandwidth") and claim.dimension == "data_rate":
        names_link = any(name.startswith("NVLink") for name in claim.mentions)
        return ("accelerator",) if names_link else ()
    return ()


def _count_scopes(scope: str | None, level: str | None) -> frozenset[str]:
    if level is None:
        return frozenset({"whole", "run", "cluster", "campus", "slice", "domain"})
    if scope in (None, "domain"):
        return frozenset({"whole", "domain", "slice"})
    if scope == "fabric":
        return frozenset({"fabric"})
    if scope == level:
        return frozenset({"whole", "domain", "active", "slice"})
    if scope in ("rack", "node", "accelerator"):
        return frozenset({scope, "domain"} if level == "rack" and scope == "rack" else {scope})
    if scope == "pod" and level == "rack":
        return frozenset({"whole"})
    return frozenset({"whole"})


def candidate_of(claim: Claim, reference: Reference) -> Candidate:
    notes = []
    if reference.direction and claim.dimension == "data_rate":
        notes.append("one direction" if reference.direction == "one" else "both directions together")
    if reference.density and claim.dimension == "compute":
        notes.append("dense" if reference.density == "dense" else "with structured sparsity")
    if reference.precision and not claim.precision:
        notes.append(reference.precision)
    if reference.capacity:
        notes.append("what software can use" if reference.capacity == "usable" else "raw memory fitted")
    if reference.note:
        notes.append(reference.note)
    scope = SCOPE_NAMES.get(reference.scope, reference.scope)
    label = (
        reference.subject if reference.scope == "whole" or scope == reference.scope else f"{reference.subject}, {scope}"
    )
    return Candidate(
        label,
        reference.low,
        reference.high,
        reference.expression,
        reference.evidence,
        ", ".join(notes),
        reference.confidence != "low",
        reference.noun,
    )
