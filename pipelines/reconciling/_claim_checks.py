"""Which check a claim gets, by its metric and what its sentence speaks of.

And the best of the readings that it allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from pipelines.parsing.claims import kind_of
from pipelines.reconciling._claim_facts import fact_check
from pipelines.reconciling._claim_formulas import (
    equivalent_check,
    jobs_check,
    kv_cache_check,
    model_memory_check,
    names_jobs,
    power_of_count_check,
)
from pipelines.reconciling._claim_model import Check, Claim, Judgement
from pipelines.reconciling._claim_networks import cliff_check, fabric_limit_check, leaf_check
from pipelines.reconciling._claim_ratios import (
    document_ratio_check,
    level_power_check,
    quotient_check,
    spec_ratio_check,
)
from pipelines.reconciling._claim_results import (
    ratio_check,
    result_check,
    scaling_check,
    speaks_of_a_run,
    told_pair_check,
)
from pipelines.reconciling._claim_rules import CHECK_THIS, judge
from pipelines.reconciling._claim_world import PARTS, PRODUCTS, World

CHECKS: dict[str, Callable[[Claim, World], Check]] = {
    "fact": fact_check,
    "result": result_check,
    "score_ratio": ratio_check,
    "told_pair": told_pair_check,
    "scaling": scaling_check,
    "cliff": cliff_check,
    "level_power": level_power_check,
    "power_of_count": power_of_count_check,
    "fabric_limit": fabric_limit_check,
    "fabric": leaf_check,
    "kv_cache": kv_cache_check,
    "document_ratio": document_ratio_check,
    "equivalent": equivalent_check,
    "spec_ratio": spec_ratio_check,
    "model_memory": lambda claim, world: model_memory_check(claim),
    "quotient": lambda claim, world: quotient_check(claim),
    "levels": lambda claim, world: jobs_check(claim),
    "utilisation": lambda claim, world: _utilisation(claim),
    "transfers": lambda claim, world: _transfers(claim, world),
}
"""Every check by the name that the ledger and a verdict tell it under."""

RANK = {
    "supported": 0,
    "assumption": 1,
    "misplaced": 2,
    "implausible": 3,
    "contradicted": 4,
    CHECK_THIS: 5,
    "not_checkable": 6,
}
"""Verdicts from the one that favours a claim most."""


def checks_for(claim: Claim) -> Iterator[str]:
    """Give the names of the checks that a claim's words allow, the likeliest first."""
    metric = claim.metric
    by_metric = {
        "divisible": ("quotient",),
        "not_divisible": ("quotient",),
        "leaf_switches": ("fabric",),
        "spine_switches": ("fabric",),
        "core_switches": ("fabric",),
        "kv_bytes_per_token": ("kv_cache",),
        "bandwidth_ratio": ("cliff",) if _tells_two_tiers(claim) else ("fact",),
        "power_ratio": ("spec_ratio",) if claim.baseline else ("level_power",),
        "memory_ratio": ("spec_ratio",),
        "ratio": ("spec_ratio",),
        "model_memory": ("model_memory",),
        "rack_ratio": ("document_ratio",),
        "utilisation": ("utilisation",),
        "scaling_efficiency": ("scaling",),
        "speed_up": ("fact", "told_pair", "score_ratio", "spec_ratio"),
        "gain": ("fact", "told_pair", "score_ratio", "spec_ratio"),
        "time_to_train": ("result",),
    }.get(metric)
    if by_metric is not None:
        yield from by_metric
    elif metric == "bandwidth" and claim.dimension == "transfer_rate":
        yield "transfers"
    elif claim.is_hypothetical and metric in ("racks", "accelerators"):
        yield "equivalent"
    elif names_jobs(claim):
        yield "levels"
    elif metric == "accelerators" and claim.scope == "fabric":
        yield "fabric_limit"
    elif metric == "power" and _is_power_of_count(claim):
        yield "power_of_count"
        if claim.kind == "platform" or claim.kind in PARTS:
            yield "fact"
    else:
        if speaks_of_a_run(claim):
            yield "result"
        yield "fact"


def _tells_two_tiers(claim: Claim) -> bool:
    """Say whether a ratio of bandwidths is between inside and outside a domain, not between two generations."""
    words = r"\binside\b|\boutside\b|between\sracks|slower|\btenth\b|fraction|scale-?up"
    words += r"|than\s(?:InfiniBand|Ethernet|the\snetwork|NVLink)"
    return re.search(words, claim.sentence, re.I) is not None


def _is_power_of_count(claim: Claim) -> bool:
    """Say whether a power may be told of the accelerators beside it rather than of a product that holds them.

    Of a platform it may be told of some of its accelerators, or of all, so that either reading is tried.
    """
    count = claim.beside_value("accelerators")
    if count is None:
        return False
    number = f"{count:,.0f}"
    leading = r"\b(?:with|of|for|powering|to\spower)\s(?:about\s|around\s|over\s|some\s)?"
    pattern = rf"{leading}~?{number}\b|\b{number}[\s-]\w+"
    return re.search(pattern, claim.sentence.replace("\u202f", ",")) is not None and claim.kind in (
        None,
        "level",
        *PARTS,
        *PRODUCTS,
    )


def run_checks(claim: Claim, world: World, names: Iterator[str] | tuple[str, ...] | None = None) -> Judgement:
    """Judge a claim by each check that its words allow and return the reading that favours it most.

    Where the sentence names no subject, the products that the text speaks of are tried in turn: one that bears the
    claim out is what it is told of.
    """
    best = _best_reading(claim, world, names)
    is_named = claim.source not in ("context", "document", "contrasted")
    if names is not None or best.verdict == "supported" or is_named or "fact" not in checks_for(claim):
        return best
    others = claim.mentions if claim.source == "contrasted" else claim.context
    for name in [name for name in others if kind_of(name) in (*PARTS, *PRODUCTS) and name != claim.subject][:6]:
        other = _best_reading(replace(claim, subject=name, kind=kind_of(name)), world, ("fact",))
        if other.verdict == "supported" and claim.dimension not in ("ratio", "percent"):
            return other
    return best


def _best_reading(claim: Claim, world: World, names: Iterator[str] | tuple[str, ...] | None) -> Judgement:
    best: Judgement | None = None
    for name in names if names is not None else checks_for(claim):
        check = CHECKS[name](claim, world)
        judgement = replace(judge(claim, check), check=check.expression or f"{name}({claim.subject or ''})")
        if best is None or RANK[judgement.verdict] < RANK[best.verdict]:
            best = judgement
        if check.is_final:
            break
    return best or Judgement("not_checkable", "No check is known for such a claim.")


def _utilisation(claim: Claim) -> Check:
    if re.search(r"\b(?:to|into|towards?)\s(?:near-?\s?)?linear\s(?:scaling|speed)", claim.sentence, re.I):
        reason = (
            "Utilisation is a share of one accelerator's time or rate, scaling an efficiency between two sizes: "
            "one cannot be raised to the other."
        )
        return Check("utilisation against scaling efficiency", verdict="misplaced", reason=reason)
    return Check(
        "utilisation",
        verdict="not_checkable",
        reason="It does not say utilisation of what: model FLOPs over peak, or time that the chips are busy.",
    )


def _transfers(claim: Claim, world: World) -> Check:
    """Hold a rate of transfers that is called a bandwidth: it is of one lane, and counts transfers, not bytes."""
    lanes = [r for name in (claim.subject or "",) for r in world.references.of(name, "lane_rate")]
    slots = [r for name in (claim.subject or "",) for r in world.references.of(name, "pcie_bandwidth")]
    if not lanes:
        return Check(reason=f"No transfer rate of {claim.subject or 'the link'} is known here.")
    rate = lanes[0]
    slot = f" A slot of 16 lanes moves {slots[0].low:,.1f} GB/s in each direction." if slots else ""
    if rate.low * 0.98 <= claim.value <= rate.high * 1.02:
        reason = f"{rate.low:,.0f} GT/s is the transfer rate of one lane of {rate.subject}, not a bandwidth.{slot}"
        return Check(f"lane rate({rate.subject})", verdict="misplaced", reason=reason)
    return Check(
        f"lane rate({rate.subject})",
        verdict="contradicted" if claim.is_explicit else CHECK_THIS,
        reason=f"One lane of {rate.subject} makes {rate.low:,.0f} GT/s.{slot}",
    )
