"""What else a figure could be of: another scope, direction or density, the product around, bits for bytes, a sibling.

Each is an alternative that explains a figure which is right about something else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pipelines.parsing.claims import kind_of, members_of, siblings_of
from pipelines.reconciling._claim_forms import SCOPE_NAMES, candidate_of, is_told_form, told_scopes
from pipelines.reconciling._claim_model import Alternative, Candidate, Claim
from pipelines.reconciling._claim_references import ADDITIVE, Reference
from pipelines.reconciling._claim_several import alternatives_of_several, several_of
from pipelines.reconciling._claim_world import World


def alternatives_of(
    claim: Claim, world: World, names: tuple[str, ...], metrics: tuple[str, ...], candidates: list[Candidate]
) -> Iterator[Alternative]:
    """Give what else the figure could be of, the likeliest confusion first."""
    if claim.dimension in ("generation", "version", "date"):
        return
    yield from alternatives_of_several(claim, names, metrics, world)
    for name in names:
        told = told_scopes(claim, name, world)
        for metric in metrics:
            for reference in world.references.of(name, metric):
                if claim.precision and reference.precision and claim.precision != reference.precision:
                    continue
                if reference.scope in told and is_told_form(claim, reference, name, world):
                    continue
                if reference.confidence == "low" or reference.scope == "rating":
                    continue
                yield Alternative(candidate_of(claim, reference), _reading(claim, reference, told))
    if not any(several_of(claim, name, world) for name in names):
        yield from _products_around(claim, world, names, metrics)
    yield from _unit_slips(claim, world, names, metrics, candidates)
    yield from _other_metrics(claim, world, names, metrics)
    yield from _named_siblings(claim, world, names, metrics)
    yield from _other_precisions(claim, world, names, metrics)


def _reading(claim: Claim, reference: Reference, told: frozenset[str]) -> str:
    if reference.scope not in told:
        return SCOPE_NAMES.get(reference.scope, reference.scope)
    if reference.direction and claim.direction and reference.direction != claim.direction:
        return "both directions together" if reference.direction == "both" else "one direction"
    if reference.density and claim.density and reference.density != claim.density:
        return "the rate with structured sparsity" if reference.density == "sparse" else "the dense rate"
    return "another form of it"


def _products_around(
    claim: Claim, world: World, names: tuple[str, ...], metrics: tuple[str, ...]
) -> Iterator[Alternative]:
    """Give the products that contain what is named, and those inside it, in the scope that the claim tells."""
    if claim.metric not in ADDITIVE and claim.metric not in ("fast_memory", "memory", "bandwidth", "racks"):
        return
    for name in names:
        related = [
            *world.references.containers_of(name),
            *(inner for inner, _ in world.references.inside.get(name, ())),
        ]
        for other in related:
            for metric in metrics:
                for reference in world.references.of(other, metric):
                    if (
                        reference.scope == "whole"
                        and reference.confidence != "low"
                        and (not claim.precision or reference.precision == claim.precision)
                    ):
                        yield Alternative(candidate_of(claim, reference), other)


def _unit_slips(
    claim: Claim, world: World, names: tuple[str, ...], metrics: tuple[str, ...], candidates: list[Candidate]
) -> Iterator[Alternative]:
    """Give what a rate or size is where bits and bytes, or directions, can have been confused."""
    is_bits = "b" in claim.unit
    if claim.dimension != "data_rate" and not (claim.dimension == "memory" and is_bits):
        return
    for candidate in candidates:
        is_open = claim.metric in ("scale_up_bandwidth", "bandwidth") and claim.dimension == "data_rate"
        if is_open and candidate.is_firm and "both directions" in candidate.note:
            twice = replace(
                candidate, low=candidate.low * 2, high=candidate.high * 2, expression=f"2 x ({candidate.expression})"
            )
            yield Alternative(twice, "both directions counted twice")
    told = [
        candidate_of(claim, reference)
        for name in names
        for metric in metrics
        for reference in world.references.of(name, metric)
        if is_told_form(claim, reference, name, world)
    ]
    for candidate in (*candidates, *told):
        if not candidate.is_firm:
            continue
        factor = 1 / 8 if is_bits else 8.0
        reading = "bytes told as bits" if is_bits else "bits told as bytes"
        yield Alternative(
            Candidate(
                candidate.label,
                candidate.low * factor,
                candidate.high * factor,
                f"({candidate.expression}) {'/' if is_bits else 'x'} 8",
                candidate.evidence,
                "in bytes" if is_bits else "in bits",
            ),
            reading,
        )


_TENSOR_PRECISIONS = frozenset({"FP4", "FP8", "BF16", "FP16", "INT8", "TF32"})


def _other_precisions(
    claim: Claim, world: World, names: tuple[str, ...], metrics: tuple[str, ...]
) -> Iterator[Alternative]:
    """Give the rates of the same subject in other precisions: FP4 told as FP8."""
    for name in names if claim.precision in _TENSOR_PRECISIONS else ():
        for metric in metrics:
            for reference in world.references.of(name, metric):
                is_other = reference.precision in _TENSOR_PRECISIONS and reference.precision != claim.precision
                as_told = replace(claim, precision=reference.precision)
                if is_other and reference.confidence != "low" and is_told_form(as_told, reference, name, world):
                    yield Alternative(candidate_of(claim, reference), f"its {reference.precision} rate")


def _other_metrics(
    claim: Claim, world: World, names: tuple[str, ...], metrics: tuple[str, ...]
) -> Iterator[Alternative]:
    """Give the other rates or sizes of the same subject in the same scope: memory bandwidth told as NVLink."""
    families = {
        "data_rate": ("scale_up_bandwidth", "scale_out_bandwidth", "memory_bandwidth"),
        "memory": ("memory_capacity", "fast_memory", "cpu_memory"),
    }.get(claim.dimension, ())
    is_in_bits = claim.dimension == "data_rate" and "b" in claim.unit
    for name in names if set(metrics) & set(families) and not is_in_bits else ():
        for metric in families:
            if metric in metrics:
                continue
            for reference in world.references.of(name, metric):
                if reference.scope in told_scopes(claim, name, world) and reference.confidence == "high":
                    yield Alternative(candidate_of(claim, reference), f"its {metric.replace('_', ' ')}")


def _named_siblings(
    claim: Claim, world: World, names: tuple[str, ...], metrics: tuple[str, ...]
) -> Iterator[Alternative]:
    """Give other products of the same kind that the sentence names, or whose names are alike.

    One's figure told of the other.
    """
    likely = [name for name in claim.mentions if kind_of(name) == claim.kind and name != claim.subject]
    likely += [name for name in claim.context if kind_of(name) == claim.kind and _are_alike(name, claim.subject or "")]
    likely += [name for own in names for name in siblings_of(own) if _differs_by_a_letter(name, claim.subject or "")]
    for name in dict.fromkeys(likely):
        for other in members_of(name):
            if other in names:
                continue
            for metric in metrics:
                for reference in world.references.of(other, metric):
                    if reference.confidence == "high" and is_told_form(claim, reference, other, world):
                        yield Alternative(candidate_of(claim, reference), other)


def _differs_by_a_letter(name: str, subject: str) -> bool:
    """Say whether a name holds another whole, as `GB200` holds `B200`, so that one is written for the other."""
    return bool(subject) and name != subject and (name.endswith(subject) or subject.endswith(name))


def _are_alike(name: str, subject: str) -> bool:
    """Say whether two names are easily taken for each other: `B200` and `GB200`, `GB200 NVL72` and `GB300 NVL72`."""
    if not subject or name == subject:
        return False
    return name in subject or subject in name or name.split()[-1] == subject.split()[-1]
