"""What a claim is judged in: the known values, the published results, and what its document said before.

Results are read once into rows; which of them a claim speaks of is decided in `_claim_results`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from pipelines.parsing.claims import kind_of, members_of
from pipelines.reconciling._claim_model import Claim
from pipelines.reconciling._claim_references import Inputs, References, gather_references, plain_name

_RESULT_COLUMNS = (
    "result_id",
    "round",
    "submitter_folder",
    "submitter",
    "system",
    "system_name",
    "division",
    "benchmark",
    "scaling_mode",
    "accelerator",
    "accelerator_count",
    "raw_minutes",
    "rcp_factor",
    "score_minutes",
    "first_result_id",
)


@dataclass(slots=True)
class World:
    """Everything that claims are judged against."""

    references: References
    results: tuple[Mapping[str, Any], ...] = ()
    """Scored results with `racks_stated`, `slots_per_rack` and `precision` beside them."""
    rounds: frozenset[str] = frozenset()
    """Rounds in the lake."""
    retrieved: Mapping[str, str] = field(default_factory=dict)
    """For each round when its files were read."""
    equivalents: pl.DataFrame | None = None
    document: list[Claim] = field(default_factory=list)
    """Claims of the document so far, in order."""
    last_result: Mapping[str, Any] | None = None
    """The result that the document last spoke of."""


def make_world(inputs: Inputs) -> World:
    """Read the tables that claims are judged against.

    Args:
        inputs: any of `core.spec_facts`, `mart.accelerators`, `mart.platforms`, `registry.containments`,
            `mart.results`, `core.systems`, `core.launches`, `core.sources`, `mart.equivalents`.
    """
    results = _results(inputs)
    sources = inputs.get("core.sources")
    retrieved = dict(sources.select("round", "retrieved_at").iter_rows()) if sources is not None else {}
    return World(
        references=gather_references(inputs),
        results=results,
        rounds=frozenset(row["round"] for row in results) | frozenset(retrieved),
        retrieved=retrieved,
        equivalents=inputs.get("mart.equivalents"),
    )


def _results(inputs: Inputs) -> tuple[Mapping[str, Any], ...]:
    results = inputs.get("mart.results")
    if results is None:
        return ()
    frame = results.select(name for name in _RESULT_COLUMNS if name in results.columns)
    keys = ["round", "submitter_folder", "system"]
    systems = inputs.get("core.systems")
    if systems is not None and set(keys) <= set(frame.columns):
        wanted = [name for name in ("racks_stated", "slots_per_rack", "rack_product") if name in systems.columns]
        frame = frame.join(systems.select(*keys, *wanted), on=keys, how="left", maintain_order="left")
    launches = inputs.get("core.launches")
    if launches is not None and "result_id" in launches.columns:
        frame = frame.join(
            launches.select("result_id", "precision").unique("result_id"),
            on="result_id",
            how="left",
            maintain_order="left",
        )
    scored = frame.filter(pl.col("score_minutes").is_not_null())
    if "first_result_id" in scored.columns:
        scored = scored.filter(pl.col("first_result_id").is_null() | (pl.col("first_result_id") == pl.col("result_id")))
    return tuple(scored.iter_rows(named=True))


PARTS = ("accelerator", "accelerator_family")
PRODUCTS = ("platform", "platform_family")


def parts_named(names: tuple[str, ...], world: World) -> tuple[str, ...]:
    """Return the accelerators that names stand for; a product stands for the part that it holds."""
    parts: list[str] = []
    for name in names:
        kind = kind_of(name)
        if kind in PARTS:
            parts += members_of(name)
        elif kind in PRODUCTS:
            held = (world.references.platforms.get(member) for member in members_of(name))
            parts += [platform.accelerator for platform in held if platform and platform.accelerator]
    return tuple(dict.fromkeys(plain_name(part) for part in parts))


def members(claim: Claim, world: World) -> tuple[str, ...]:
    """Return what a claim is told of, as named in the fact tables, as narrowly as its surroundings allow."""
    return spoken_of(claim, world) or (members_of(claim.subject) if claim.subject else ())


def spoken_of(claim: Claim, world: World) -> tuple[str, ...]:
    """Return the members of a family that the text speaks of; of what is no family, all that it stands for.

    A family is narrowed to the members that the sentence, else the text around, speaks of: a SuperPOD in a text on
    NVL72 racks is the one made of them.
    """
    if claim.subject is None:
        return ()
    named = members_of(claim.subject)
    if claim.kind not in ("platform_family", "accelerator_family") or len(named) < 2:
        return named
    for names in (claim.mentions, claim.context):
        each = [{m for m in named if _is_related(m, name, world)} for name in names if name != claim.subject]
        related = set().union(*(found for found in each if len(found) < len(named)))
        if related:
            return tuple(member for member in named if member in related)
    return ()


def _is_related(member: str, name: str, world: World) -> bool:
    """Say whether a product is, holds or is held by what a name stands for."""
    if kind_of(name) not in (*PARTS, *PRODUCTS) or name == "supernode":
        return False
    others = members_of(name)
    if member in others:
        return True
    inside = {inner for inner, _ in world.references.inside.get(member, ())}
    platform = world.references.platforms.get(member)
    part = {platform.accelerator} if platform and platform.accelerator else set()
    return bool((inside | part) & {plain_name(other) for other in others})
