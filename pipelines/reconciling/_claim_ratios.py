"""Checks on ratios: of two products, of levels of scale, of figures of a document, of two whole numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import pairwise, product

from pipelines.modelling.levels import LEVELS
from pipelines.parsing.claims import members_of
from pipelines.reconciling._claim_model import Candidate, Check, Claim
from pipelines.reconciling._claim_references import Reference, plain_name
from pipelines.reconciling._claim_rules import fits
from pipelines.reconciling._claim_world import World


def level_power_check(claim: Claim, world: World) -> Check:
    """Hold a power ratio told of every level of scale against the ratios between known ones."""
    steps = list(_level_powers(world))
    candidates = tuple(
        Candidate(
            f"{lower[0]} to {upper[0]}",
            upper[1] / lower[2],
            upper[2] / lower[1],
            f"{upper[1]:,.4g} kW / {lower[2]:,.4g} kW",
            f"{upper[3]}; {lower[3]}",
        )
        for lower, upper in pairwise(steps)
    )
    return Check("power of each level over the one inside it", candidates, is_any=False)


def _level_powers(world: World) -> Iterator[tuple[str, float, float, str]]:
    """Give each level's power in kW, low and high, on one line of products.

    Part, node, rack, pod, and clusters of such racks.
    """
    part = _firm(world, "GB200", "power", "accelerator")
    node = _firm(world, "DGX B200", "power", "whole")
    rack = _firm(world, "GB200 NVL72", "power", "whole")
    pod = _firm(world, "DGX SuperPOD GB200", "power", "whole")
    for name, reference in (("package", part), ("node", node), ("rack", rack), ("pod", pod)):
        if reference is not None:
            yield name, reference.low, reference.high, reference.evidence
    if rack is not None:
        for level in LEVELS[-2:]:
            yield (
                level.name,
                rack.low * level.accelerators / 72,
                rack.high * level.accelerators / 72,
                f"{level.accelerators:,} x {rack.evidence}",
            )


def _firm(world: World, name: str, metric: str, scope: str) -> Reference | None:
    found = [r for r in world.references.of(name, metric) if r.scope == scope and r.confidence != "low" and not r.note]
    return found[0] if found else None


_RATIO_METRICS = (
    (r"\bpower\b|\bk?W\b|(?<=\d)W\b|\bdraws?\b|\bTDP\b|energy", ("power",)),
    (r"memory bandwidth", ("memory_bandwidth",)),
    (r"\bHBM\b|memory", ("memory_capacity", "fast_memory")),
    (r"bandwidth", ("scale_up_bandwidth", "scale_out_bandwidth", "memory_bandwidth")),
    (r"\baccelerators?\b|\bGPUs\b|\bchips\b", ("accelerators",)),
    (r"FLOP|compute|throughput|performance|faster|rate", ("peak_compute",)),
)


def spec_ratio_check(claim: Claim, world: World) -> Check:
    """Hold a ratio between two named parts or products against the ratio of their published values.

    It can only bear a claim out: a ratio that no published pair gives may be of a measurement.
    """
    if claim.subject is None or claim.baseline is None:
        return Check(reason="It does not name what is held against what.")
    after = claim.sentence[claim.sentence.find(claim.quote[-20:]) :] if claim.quote else claim.sentence
    metrics = next(
        (names for words, names in _RATIO_METRICS if re.search(words, claim.quote or after, re.I)), ("peak_compute",)
    )
    scale = 0.01 if claim.dimension == "percent" else 1.0
    candidates = []
    for metric in metrics:
        for ours, theirs in product(
            _values_of(claim.subject, metric, world), _values_of(claim.baseline, metric, world)
        ):
            if (ours.scope, ours.precision, ours.direction, ours.density, ours.capacity) == (
                theirs.scope,
                theirs.precision,
                theirs.direction,
                theirs.density,
                theirs.capacity,
            ):
                low, high = ours.low / theirs.high, ours.high / theirs.low
                shift = 1.0 if claim.dimension == "percent" else 0.0
                label = f"{ours.subject} over {theirs.subject}, {metric.replace('_', ' ')}"
                note = ", ".join(word for word in (ours.precision, ours.density) if word)
                candidates.append(
                    Candidate(
                        label,
                        (low - shift) / scale,
                        (high - shift) / scale,
                        f"({ours.expression}) / ({theirs.expression})",
                        f"{ours.evidence}; {theirs.evidence}",
                        note,
                        is_firm=False,
                    )
                )
    fitting = tuple(c for c in candidates if fits(claim, c))
    return Check(
        f"ratio({claim.subject}, {claim.baseline})",
        fitting,
        is_any=True,
        reason=f"No published values of {claim.subject} and {claim.baseline} are in this ratio.",
    )


def _values_of(name: str, metric: str, world: World) -> list[Reference]:
    return [
        r
        for member in members_of(name)
        for r in world.references.of(plain_name(member), metric)
        if r.confidence != "low" and r.low > 0 and r.scope != "rating"
    ]


def quotient_check(claim: Claim) -> Check:
    """Check that one number does or does not divide by another."""
    found = re.search(
        r"(\d[\d,]*)\D{0,40}?(?:divid|divisible)\w*\s(?:evenly\s)?by\s(\d[\d,]*)", f"{claim.quote} {claim.sentence}"
    )
    if found is None:
        return Check(reason="The two numbers could not be read.")
    number, by = int(found[1].replace(",", "")), int(found[2].replace(",", ""))
    quotient = number / by if by else math.inf
    candidate = Candidate(
        f"{number:,} / {by:,}", quotient, quotient, f"{number:,} / {by:,} = {quotient:.4f}", "arithmetic"
    )
    is_whole = by != 0 and number % by == 0
    if is_whole == (claim.metric == "divisible"):
        return Check(
            "quotient",
            (candidate,),
            verdict="supported",
            reason=f"{number:,} / {by:,} = {quotient:,.4g}, {'whole' if is_whole else 'not whole'}.",
        )
    return Check(
        "quotient",
        (candidate,),
        verdict="contradicted",
        reason=f"{number:,} / {by:,} = {quotient:,.4g}, which is {'whole' if is_whole else 'not whole'}.",
    )


def document_ratio_check(claim: Claim, world: World) -> Check:
    """Hold `four times fewer racks` against the racks that the document itself tells."""
    told = [c for c in world.document if c.metric == "racks" and c.low == c.high]
    pairs = [(a, b) for a in told for b in told if a.value > b.value > 0]
    candidates = [
        Candidate(
            f"{a.value:,.0f} against {b.value:,.0f} racks",
            a.value / b.value,
            a.value / b.value,
            f"{a.value:,.0f} / {b.value:,.0f}",
            "arithmetic on the document's own figures",
            "rests on a figure that is an assumption" if a.is_hypothetical or b.is_hypothetical else "",
        )
        for a, b in pairs
    ]
    return Check(
        "ratio of the document's racks",
        tuple(candidates),
        is_any=True,
        reason="The document does not tell two numbers of racks.",
    )
