"""What a reader is told of a verdict: a fair rewording, and the footnote that a published result asks for.

MLCommons' rules for naming results ask for the benchmark and its round, the division, the submitter, where the result
was read, and that the trademark is noted; a figure that is not its own is to be called derived.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.parsing.claims import kind_of
from pipelines.reconciling._claim_model import Claim, Judgement
from pipelines.reconciling._claim_nouns import COUNTED_ACCELERATORS, NEUTRAL, accelerator_noun
from pipelines.reconciling._claim_references import plain_name
from pipelines.reconciling._claim_rules import CHECK_THIS, told
from pipelines.reconciling._claim_world import PARTS, PRODUCTS, World, parts_named
from pipelines.reconciling.trademark import TRADEMARK_HOLDER

_METRICS = {
    "scale_up_bandwidth": "scale-up bandwidth",
    "scale_out_bandwidth": "network bandwidth",
    "peak_compute": "peak rate",
    "memory_capacity": "accelerator memory",
    "fast_memory": "accelerator and CPU memory",
    "time_to_train": "time to train",
    "leaf_switches": "leaf switches",
    "dies": "compute dies",
    "cpus": "CPUs",
    "bandwidth_ratio": "bandwidth inside over outside",
    "power_ratio": "power of a level over the one inside it",
    "kv_bytes_per_token": "cache per token",
}


def counted_in(claim: Claim, world: World) -> str:
    """Return what a claim's figure is shown in: its unit, for accelerators the noun of the part that they are.

    Where no part is named, or several that are called differently, the text's own word is kept where it is GPU.
    """
    if claim.unit != COUNTED_ACCELERATORS:
        return claim.unit
    is_named = claim.kind in (*PARTS, *PRODUCTS) and claim.source in ("sentence", "heading", "contrasted")
    own = (claim.subject,) if is_named and claim.subject else ()
    named = own or tuple(name for name in claim.parts if kind_of(name) in (*PARTS, *PRODUCTS))
    nouns = {accelerator_noun(part) for part in parts_named(named, world) or named}
    if len(nouns) == 1:
        return nouns.pop()
    return COUNTED_ACCELERATORS if "GPU" in claim.sentence else NEUTRAL


def reword(claim: Claim, judgement: Judgement) -> str | None:
    """Return the sentence that the facts bear out, None where the claim needs none or nothing is known."""
    best = judgement.best
    metric = (
        ""
        if claim.dimension == "count" and claim.unit
        else f"{_METRICS.get(claim.metric, claim.metric.replace('_', ' '))} "
    )
    if judgement.verdict == "supported":
        return f"{best.label}: {metric}{told(claim, best)}, {best.note}." if best is not None and best.note else None
    if judgement.verdict in ("misplaced", "contradicted", "implausible", CHECK_THIS) and best is not None:
        note = f" ({best.note})" if best.note else ""
        return f"{best.label}: {metric}{told(claim, best)}{note}."
    if judgement.verdict == "assumption" and best is not None:
        return f"By computation, {best.label} would take {told(claim, best)}; no such run is published."
    if judgement.verdict == "not_checkable" and claim.dimension in ("ratio", "percent"):
        return "Say against what, measured how, and where it is published."
    return None


def footnote(row: Mapping[str, Any] | None, claim: Claim, world: World) -> str | None:
    """Return the note that a claim resting on a published result needs, None for a claim that rests on none."""
    if row is None:
        return None
    suite, _, version = row["round"].partition("-v")
    division = (row.get("division") or "closed").capitalize()
    read = world.retrieved.get(row["round"])
    repository = f"github.com/mlcommons/{'hpc' if suite == 'hpc' else suite}_results_v{version}"
    submitter = row["submitter"] or row["submitter_folder"]
    system = f"{row['accelerator_count']:,} x {plain_name(row['accelerator'] or 'accelerator')}"
    parts = [
        f"MLPerf {suite.capitalize()} v{version} {division}, {row['benchmark']}, {submitter}, {system}",
        f"result {row['result_id']}, read from {repository}{f' on {read[:10]}' if read else ''}",
    ]
    derived = "Computed here from the published logs by the official rule; not verified by MLCommons"
    if claim.metric != "time_to_train":
        derived = "A figure derived from published results, not itself a result, and not verified by MLCommons"
    return f"{'; '.join(parts)}. {derived}. {TRADEMARK_HOLDER}"
