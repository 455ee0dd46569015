"""Checks that compute: cliffs of bandwidth, powers of ten between levels, fabrics, caches, equivalents, jobs,
divisions.

Each holds a claim against a formula of the modelling core fed with known values; how a verdict follows is in
`_claim_rules`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from pipelines.modelling.levels import kv_cache_bytes_per_token, place_jobs
from pipelines.parsing.claims import kind_of, members_of
from pipelines.reconciling._claim_model import Candidate, Check, Claim
from pipelines.reconciling._claim_references import plain_name
from pipelines.reconciling._claim_rules import fits
from pipelines.reconciling._claim_world import PARTS, PRODUCTS, World, members, parts_named

ACCELERATORS_PER_RACK = 32
"""Accelerators in a rack of four nodes of eight, where a text names no other."""


def power_of_count_check(claim: Claim, world: World) -> Check:
    """Hold a power told of a number of accelerators against that number's share of known products and parts."""
    count = claim.beside_value("accelerators") or 1.0
    parts = _parts_named(claim, world)
    products = _power_products(claim, parts, world)
    candidates = [
        Candidate(
            f"{count:,.0f} x {r.subject}",
            r.low * count,
            r.high * count,
            f"{count:,.0f} x ({r.expression})",
            r.evidence,
            r.note,
        )
        for part in parts
        for r in world.references.of(part, "power")
        if r.scope == "accelerator" and r.confidence != "low"
    ]
    for name in products:
        for reference in world.references.of(name, "power"):
            if reference.scope == "accelerator" and reference.confidence != "low" and "whole" not in reference.note:
                low, high = reference.low * count, reference.high * count
                label = f"{count:,.0f} accelerators of {name}"
                candidates.append(
                    Candidate(
                        label, low, high, f"{count:,.0f} x {reference.expression}", reference.evidence, reference.note
                    )
                )
    rated = [
        r
        for name in (*products, *parts)
        for r in world.references.of(name, "power")
        if r.scope == ("rating" if name in products else "accelerator") and r.confidence != "low"
    ]
    floor = min(rated, key=lambda r: r.low, default=None)
    lowest = None
    if floor is not None and count > 2 and claim.high < 2 * floor.low:
        return Check(reason="It is no more than the power of one or two of them.")
    if floor is not None:
        each, rating = claim.value / count * 1000, floor.low * 1000
        part = f"the lowest rated part of such systems, in the {floor.subject}"
        text = f"{each:,.0f} W each, where {part}, has {rating:,.0f} W"
        lowest = Candidate(
            text,
            floor.low * count,
            floor.high * count,
            f"{count:,.0f} x {floor.expression} {floor.low * 1000:,.0f} W",
            floor.evidence,
        )
    return Check(
        f"power({count:,.0f} accelerators; {' | '.join((products or parts)[:5])})",
        tuple(candidates),
        is_any=True,
        floor=lowest,
        reason="No power of such systems is known.",
    )


def _parts_named(claim: Claim, world: World) -> tuple[str, ...]:
    """Return the parts whose power is told, where the sentence names them and no product."""
    if claim.kind in PRODUCTS:
        return ()
    return parts_named(
        tuple(name for name in (claim.subject, *claim.mentions) if name and kind_of(name) in PARTS), world
    )


def _power_products(claim: Claim, parts: tuple[str, ...], world: World) -> tuple[str, ...]:
    if claim.kind in PRODUCTS and claim.subject != "supernode":
        return members(claim, world)
    if parts:
        return tuple(name for name, platform in world.references.platforms.items() if platform.accelerator in parts)
    named = [
        m
        for name in (*claim.mentions, *claim.context)
        if kind_of(name) in PRODUCTS and name != "supernode"
        for m in members_of(name)
    ]
    if claim.kind == "level" and named:
        return tuple(dict.fromkeys(named))
    every = members_of("supernode") if claim.subject == "supernode" else tuple(world.references.platforms)
    return tuple(name for name in every if any(r.scope == "accelerator" for r in world.references.of(name, "power")))


def kv_cache_check(claim: Claim, world: World) -> Check:
    """Hold bytes per token of a model's cache against 2 x layers x KV heads x head dimension x bytes of a value."""
    name = claim.subject or ""
    values = {}
    for metric in ("layers", "kv_heads", "head_dimension"):
        known = world.references.of(name, metric)
        if not known:
            return Check(reason=f"The architecture of {name or 'the model'} is not known here.")
        values[metric] = known[0].low
    sizes = {"BF16": 2, "FP16": 2, "FP8": 1, "INT8": 1, "FP4": 0.5, "FP32": 4}
    wanted = {claim.precision: sizes[claim.precision]} if claim.precision in sizes else {"BF16": 2, "FP8": 1}
    layers, heads, dimension = values["layers"], values["kv_heads"], values["head_dimension"]
    candidates = tuple(
        Candidate(
            f"{name} in {precision}",
            bytes_,
            bytes_,
            f"2 x {layers:,.0f} x {heads:,.0f} x {dimension:,.0f} x {size}",
            world.references.of(name, "layers")[0].evidence,
        )
        for precision, size in wanted.items()
        for bytes_ in (kv_cache_bytes_per_token(int(layers), int(heads), int(dimension), size),)
    )
    return Check(f"kv_cache({name})", candidates, is_any=True)


_BYTES = {"FP32": 4.0, "BF16": 2.0, "FP16": 2.0, "FP8": 1.0, "INT8": 1.0, "FP4": 0.5, "INT4": 0.5}


def model_memory_check(claim: Claim) -> Check:
    """Hold the memory of a model's weights against its parameters times the bytes of one in the precision told."""
    size = re.search(r"(\d+(?:\.\d+)?)B\b", f"{claim.subject or ''} {claim.sentence}")
    if size is None:
        return Check(reason="It does not say how large the model is.")
    billions = float(size[1])
    wanted = (
        {claim.precision: _BYTES[claim.precision]}
        if claim.precision in _BYTES
        else {"BF16": 2.0, "FP8": 1.0, "FP4": 0.5}
    )
    candidates = tuple(
        Candidate(
            f"weights of {size[0]} in {name}",
            billions * bytes_,
            billions * bytes_,
            f"{billions:g} billion x {bytes_:g} bytes",
            "arithmetic",
            is_firm=False,
        )
        for name, bytes_ in wanted.items()
    )
    fitting = tuple(c for c in candidates if fits(claim, c))
    return Check(
        f"weights({size[0]})",
        fitting,
        is_any=True,
        reason="It is not the weights alone; what else it counts is not said.",
    )


def equivalent_check(claim: Claim, world: World) -> Check:
    """Hold racks of an equivalent system against what published runs of that part need for the same time.

    The need is a power law through the two largest results of the part on the benchmark, and the model's where
    `mart.equivalents` gives it. No such run exists, so the verdict is an assumption whatever it comes to.
    """
    run = world.last_result
    parts = parts_named(claim.mentions, world)
    if run is None or not parts:
        reason = "No published run is of such a system, and neither the run nor the part it stands for is named."
        return Check(verdict="assumption", reason=reason)
    per_rack = claim.beside_value("accelerators") if claim.metric == "racks" else None
    per_rack = per_rack if per_rack and per_rack <= 144 else ACCELERATORS_PER_RACK
    needs = list(_needs(run, parts, world))
    if claim.metric != "racks":
        reason = (
            f"A premise of the equivalent: {claim.value:,.0f} a rack is four nodes of eight, not a figure of any run."
        )
        return Check(f"equivalent({parts[0]})", verdict="assumption", reason=reason)
    if not needs:
        runs = f"two runs of {parts[0]} on {run['benchmark']} in {run['round']}"
        return Check(verdict="assumption", reason=f"An equivalent follows from {runs}, and they are not here.")
    low, high = math.ceil(min(n for n, _ in needs) / per_rack), math.ceil(max(n for n, _ in needs) / per_rack)
    expression = "; ".join(f"{text} = {n:,.0f} accelerators" for n, text in needs) + f"; over {per_rack:.0f} a rack"
    run_text = f"{run['score_minutes']:.2f} minutes of {run['accelerator_count']:,} {plain_name(run['accelerator'])}"
    label = f"{parts[0]} for the {run_text}"
    candidate = Candidate(
        label, low, high, expression, f"mart.results: {run['result_id']}", "computed, no such run exists"
    )
    multiple = claim.value * per_rack / run["accelerator_count"]
    span = f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"
    reason = (
        f"{claim.value:,.0f} x {per_rack:.0f} = {claim.value * per_rack:,.0f} is {multiple:.3g} times the "
        f"{run['accelerator_count']:,} of the run: a premise, not a measurement. "
        f"Published runs of {parts[0]} need {span} racks for that time."
    )
    return Check(f"equivalent({parts[0]}, {per_rack:.0f} a rack)", (candidate,), verdict="assumption", reason=reason)


_LEAST_EXPONENT = 0.05
"""Below, twice the accelerators shorten a time by less than 3.5 %, and no number of them follows from one."""


def _needs(run: Any, parts: tuple[str, ...], world: World) -> Iterator[tuple[float, str]]:
    best: dict[int, float] = {}
    for row in world.results:
        is_like = (row["benchmark"], row["round"]) == (run["benchmark"], run["round"])
        if is_like and plain_name(row["accelerator"] or "") in parts and row["score_minutes"]:
            size, minutes = row["accelerator_count"], row["score_minutes"]
            best[size] = min(minutes, best.get(size, minutes))
    if len(best) >= 2:
        small, large = sorted(best)[-2:]
        exponent = math.log(best[small] / best[large]) / math.log(large / small)
        if exponent >= _LEAST_EXPONENT:
            count = small * (best[small] / run["score_minutes"]) ** (1 / exponent)
            yield count, f"power law through {small:,} and {large:,}, exponent {exponent:.3f}"
    frame = world.equivalents
    needed = {"result_id", "accelerator", "basis", "equivalent_accelerator_count"}
    if frame is not None and needed <= set(frame.columns):
        for row in frame.filter(pl.col("result_id") == run["result_id"]).iter_rows(named=True):
            has_runs = row["basis"] == "family" and row["equivalent_accelerator_count"]
            if has_runs and plain_name(row["accelerator"]) in parts:
                yield float(row["equivalent_accelerator_count"]), "step-time model of its runs"


def jobs_check(claim: Claim) -> Check:
    """Hold accelerators or racks that jobs of a kind need against the sizing of the standard jobs."""
    kind = next((word for word in ("pretrain", "fine-tune", "serve") if re.search(word[:6], claim.sentence, re.I)), "")
    placed = place_jobs().filter(pl.col("job").str.starts_with(kind) if kind else pl.lit(value=True))
    by_memory = claim.metric == "racks"
    candidates = []
    for row in placed.iter_rows(named=True):
        value = row["needed_by_memory"] / 72 if by_memory else float(row["needed"])
        low = min(value, 1.0) if by_memory else value
        text = (
            f"{row['needed_by_memory']:.4g} accelerators by memory / 72"
            if by_memory
            else f"{row['by_memory']} by memory, {row['by_time']} by time"
        )
        candidates.append(
            Candidate(row["job"], low, max(value, 1.0) if by_memory else value, text, f"modelling.levels: {row['job']}")
        )
    return Check(f"levels({kind or 'all jobs'})", tuple(candidates))


def names_jobs(claim: Claim) -> bool:
    """Say whether a sentence tells what training or serving jobs need."""
    return (
        claim.metric in ("accelerators", "racks")
        and re.search(r"\bpre-?training\s(?:runs?|jobs?)\b|\b(?:both|all)\s(?:jobs|runs)\b", claim.sentence, re.I)
        is not None
        and re.search(r"\bneed|\bfit\b|\brequire", claim.sentence, re.I) is not None
    )
