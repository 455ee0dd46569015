"""Every known value that a claim can be held against, from spec facts, platforms, networks, models and clusters.

A value keeps the form that it was published in (direction, density, scope), since most errors are a wrong form.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from typing import Any

import polars as pl

from pipelines.modelling.workloads import WORKLOADS
from pipelines.parsing.claims import named_unit
from pipelines.reconciling._claim_columns import QUANTITIES, RESOLVED
from pipelines.reconciling._claim_nouns import accelerator_noun

Inputs = Mapping[str, pl.DataFrame]
"""Tables of the lake by name, such as `mart.results`; a table that is missing is read as empty."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One known value, in the canonical unit of its metric's dimension."""

    subject: str
    kind: str
    metric: str
    scope: str
    """accelerator, die, link, port, node, rack, domain, active, fabric, run, ...; `whole` is the subject itself."""
    low: float
    high: float
    expression: str
    evidence: str
    direction: str | None = None
    density: str | None = None
    precision: str | None = None
    capacity: str | None = None
    note: str = ""
    confidence: str = "high"
    noun: str = ""
    """What its accelerators are called, of a count of them."""


@dataclass(frozen=True, slots=True)
class Platform:
    """What a node, rack or pod is made of."""

    name: str
    vendor: str
    accelerator: str | None
    count: float
    racks: float | None
    level: str
    """node, rack or pod."""


_SCOPE_WORDS = {"package": "accelerator", "pod": "pod", "superchip": "superchip", "board": "board"}
_DIRECTIONS = {"per_direction": "one", "both_directions": "both"}
ADDITIVE = frozenset(
    {
        "scale_up_bandwidth",
        "memory_capacity",
        "memory_bandwidth",
        "peak_compute",
        "power",
        "accelerators",
        "fast_memory",
        "cpu_memory",
        "cpus",
    }
)
"""Metrics whose value for several is the sum."""


def plain_name(name: str) -> str:
    """Return a subject's name without what stands in brackets or after a slash: `GB200 (per GPU)` is `GB200`."""
    return re.sub(r"\s*\([^)]*\)", "", name).split(" / ")[0].strip()


class References:
    """The known values, by subject and metric."""

    def __init__(
        self,
        values: Iterable[Reference],
        platforms: Iterable[Platform],
        inside: Mapping[str, tuple[tuple[str, int], ...]],
        sums: Iterable[Reference] = (),
    ):
        self.by_key: dict[tuple[str, str], list[Reference]] = defaultdict(list)
        self.by_metric: dict[str, list[Reference]] = defaultdict(list)
        self.platforms = {platform.name: platform for platform in platforms}
        self.inside = dict(inside)
        """For each pod or rack the products that it is made of, with their number."""
        self.sums: dict[tuple[str, str], list[Reference]] = defaultdict(list)
        """What a product's accelerators come to, by product and metric, beside a total that is published."""
        for value in sums:
            self.sums[value.subject, value.metric].append(value)
        for value in values:
            self.by_key[value.subject, value.metric].append(value)
            self.by_metric[value.metric].append(value)

    def of(self, subject: str, metric: str) -> list[Reference]:
        """Return the known values of a subject's metric, in every form."""
        return self.by_key.get((subject, metric), [])

    def containers_of(self, subject: str) -> list[str]:
        """Return the larger products that are made of this one."""
        return [outer for outer, parts in self.inside.items() if any(inner == subject for inner, _ in parts)]

    def platforms_of(self, level: str) -> list[str]:
        """Return the products of a level: node, rack, pod."""
        return [platform.name for platform in self.platforms.values() if platform.level == level]


def gather_references(inputs: Inputs) -> References:
    """Gather every known value.

    Args:
        inputs: `core.spec_facts`, `mart.accelerators`, `mart.platforms`, `registry.containments`, each optional.

    Returns:
        Published values in every form, and those that follow from them: a platform's from its accelerators, one
        accelerator's share of a platform, one rack's share of a pod.
    """
    facts = list(_from_facts(inputs.get("core.spec_facts")))
    facts += _from_resolved(inputs.get("mart.accelerators"), inputs.get("mart.platforms"), facts)
    facts += list(_own_references())
    facts += list(_from_workloads())
    platforms = list(_platforms(facts, inputs.get("core.spec_facts"), inputs.get("mart.platforms")))
    known = {(r.subject, r.metric, r.scope, r.precision) for r in facts}
    sums = [r for platform in platforms for r in _summed(platform, facts)]
    facts += [r for platform in platforms for r in _derived(platform, facts)]
    facts += [r for r in sums if (r.subject, r.metric, r.scope, r.precision) not in known]
    parts = {platform.name: platform.accelerator or platform.name for platform in platforms}
    facts = [
        replace(r, noun=accelerator_noun(parts.get(r.subject, r.subject))) if r.metric == "accelerators" else r
        for r in facts
    ]
    inside = _containments(inputs.get("registry.containments"))
    facts += [r for platform in platforms for r in _counts_inside(platform, platforms, inside)]
    published = [r for r in sums if (r.subject, r.metric, r.scope, r.precision) in known and r.metric != "power"]
    return References(facts, platforms, inside, published)


def _from_facts(spec_facts: pl.DataFrame | None) -> Iterator[Reference]:
    if spec_facts is None:
        return
    for row in spec_facts.iter_rows(named=True):
        if row["quantity"] == "scale_up_name" and (found := re.match(r"NVLink (\d)", row["words"] or "")):
            yield Reference(
                plain_name(row["subject"]),
                "accelerator",
                "nvlink_generation",
                "accelerator",
                float(found[1]),
                float(found[1]),
                f"{plain_name(row['subject'])} scale-up interconnect = {row['words']}",
                f"core.spec_facts: {row['subject']}, scale_up_name, {row['source']}",
                confidence=row["confidence"],
            )
        if row["quantity"] not in QUANTITIES or row.get("defect"):
            continue
        low = row["value"] if row["value"] is not None else row["value_low"]
        high = row["value"] if row["value"] is not None else row["value_high"]
        if low is None or high is None:
            continue
        yield _reference(row, float(low), float(high))


def _reference(row: Mapping[str, Any], low: float, high: float) -> Reference:
    metric, scope, factor, precision = QUANTITIES[row["quantity"]]
    subject = plain_name(row["subject"])
    variant, printed = row.get("variant") or "", row.get("printed") or ""
    if metric == "switch_chips" and variant == "trays":
        metric, variant = "switch_trays", ""
    source = row.get("source") or ""
    return Reference(
        subject=subject,
        kind=row.get("subject_kind") or ("platform" if scope == "whole" else "accelerator"),
        metric=metric,
        scope=_SCOPE_WORDS.get(row.get("scope") or "", row.get("scope") or "") or scope,
        low=low * factor,
        high=high * factor,
        expression=f"{subject} {row['quantity']} = {printed or low}",
        evidence=f"core.spec_facts: {row['subject']}, {row['quantity']}, {source}",
        direction=_DIRECTIONS.get(row.get("direction") or ""),
        density=row.get("density") or None,
        precision=precision,
        capacity=row.get("capacity_basis") or None,
        note=variant,
        confidence=row.get("confidence") or "medium",
    )


def _from_resolved(
    accelerators: pl.DataFrame | None, platforms: pl.DataFrame | None, facts: list[Reference]
) -> list[Reference]:
    """Return resolved values of subjects and metrics that no spec fact gives."""
    known = {(r.subject, r.metric, r.scope) for r in facts}
    found = []
    for table, key, frame in (
        ("mart.accelerators", "accelerator", accelerators),
        ("mart.platforms", "platform", platforms),
    ):
        if frame is None:
            continue
        for row in frame.iter_rows(named=True):
            for column, quantity in RESOLVED.items():
                if row.get(column) is None or isinstance(row[column], str):
                    continue
                direction = "per_direction" if column.endswith("per_direction") else None
                density = "dense" if "_dense_" in column else None
                fact = {
                    "subject": row[key],
                    "quantity": quantity,
                    "direction": direction,
                    "density": density,
                    "printed": f"{row[column]:,}",
                    "subject_kind": key,
                }
                reference = _reference(fact, float(row[column]), float(row[column]))
                if (reference.subject, reference.metric, reference.scope) not in known:
                    found.append(replace(reference, evidence=f"{table}: {row[key]}, {column}"))
    return found


@lru_cache(maxsize=1)
def _own_rows() -> tuple[dict[str, str], ...]:
    path = resources.files("pipelines.sources").joinpath("registry", "claims_references.csv")
    return tuple(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def _own_references() -> Iterator[Reference]:
    """Return the values that the claims registry itself holds: networks, links, clusters, rounds, vendors' claims."""
    for row in _own_rows():
        unit = named_unit(row["unit"]) if row["unit"] else None
        factor = unit.factor if unit is not None else 1.0
        yield Reference(
            subject=row["subject"],
            kind=row["kind"],
            metric=row["metric"],
            scope=row["scope"] or "whole",
            low=float(row["low"]) * factor,
            high=float(row["high"]) * factor,
            expression=f"{row['subject']} {row['metric'].replace('_', ' ')} = {row['low']} {row['unit']}".strip(),
            evidence=f"claims registry: {row['subject']}, {row['metric']}, {row['source']}",
            direction=row["direction"] or None,
            note=f"{row['statement']}{' against ' + row['baseline'] if row['baseline'] else ''}"
            if row["statement"] != "published"
            else "",
            confidence=row["confidence"],
        )


def _from_workloads() -> Iterator[Reference]:
    for workload in WORKLOADS:
        values = {
            "layers": workload.layers,
            "kv_heads": workload.kv_heads,
            "attention_heads": workload.heads,
            "head_dimension": workload.head_dim,
            "hidden_size": workload.hidden,
        }
        for metric, value in values.items():
            yield Reference(
                workload.model,
                "model",
                metric,
                "whole",
                float(value),
                float(value),
                f"{workload.model} {metric.replace('_', ' ')} = {value:,}",
                f"modelling.workloads: {workload.model}, {workload.source}",
            )


def _platforms(
    facts: list[Reference], spec_facts: pl.DataFrame | None, platforms: pl.DataFrame | None
) -> Iterator[Platform]:
    parts: dict[str, str] = {"GB200 Superchip": "GB200"}
    vendors: dict[str, str] = {}
    if spec_facts is not None:
        for row in spec_facts.filter(pl.col("quantity") == "accelerator").iter_rows(named=True):
            parts.setdefault(plain_name(row["subject"]), plain_name(row["words"] or ""))
    for row in platforms.iter_rows(named=True) if platforms is not None else ():
        vendors[plain_name(row["platform"])] = row.get("vendor") or ""
        if row.get("accelerator"):
            parts[plain_name(row["platform"])] = plain_name(row["accelerator"])
    for subject in dict.fromkeys(
        r.subject for r in facts if r.metric == "accelerators" and r.scope == "whole" and r.kind == "platform"
    ):
        counts = [
            r
            for r in facts
            if r.subject == subject and r.metric == "accelerators" and r.scope == "whole" and not r.note
        ]
        racks = [r for r in facts if r.subject == subject and r.metric == "racks" and r.confidence != "low"]
        if counts:
            count, rack = counts[0].low, racks[0].low if racks else None
            yield Platform(
                subject, vendors.get(subject, ""), parts.get(subject) or None, count, rack, _level(count, rack)
            )


def _level(count: float, racks: float | None) -> str:
    if racks is None or racks < 1:
        return "node" if count <= 16 else "rack"
    return "rack" if racks == 1 else "pod"


def _summed(platform: Platform, facts: list[Reference]) -> Iterator[Reference]:
    """Return what a platform's accelerators come to together."""
    for part in facts:
        is_its_own = part.subject == platform.accelerator and part.scope == "accelerator"
        if is_its_own and part.metric in ADDITIVE and not part.note and part.confidence != "low":
            yield replace(
                part,
                subject=platform.name,
                kind="platform",
                scope="whole",
                low=part.low * platform.count,
                high=part.high * platform.count,
                expression=f"{platform.count:,.0f} x ({part.expression})",
            )


def _derived(platform: Platform, facts: list[Reference]) -> Iterator[Reference]:
    """Return a platform's values that follow from its accelerators, and the shares of one accelerator and one rack."""
    own = [r for r in facts if r.subject == platform.name]
    for part in (r for r in facts if r.subject == platform.accelerator and r.scope == "accelerator"):
        yield replace(part, subject=platform.name, kind="platform")
        if part.metric == "power":
            yield replace(
                part,
                subject=platform.name,
                kind="platform",
                scope="rating",
                expression=f"rated power of one {platform.accelerator}",
            )
    for value in own:
        if value.scope != "whole" or value.metric not in ADDITIVE:
            continue
        if value.metric not in ("accelerators", "cpus"):
            yield replace(
                value,
                scope="accelerator",
                low=value.low / platform.count,
                high=value.high / platform.count,
                expression=f"({value.expression}) / {platform.count:,.0f}",
            )
        if platform.racks and platform.racks > 1:
            yield replace(
                value,
                scope="rack",
                low=value.low / platform.racks,
                high=value.high / platform.racks,
                expression=f"({value.expression}) / {platform.racks:g} racks",
            )


def _counts_inside(
    outer: Platform, platforms: list[Platform], inside: Mapping[str, tuple[tuple[str, int], ...]]
) -> Iterator[Reference]:
    """Return how many racks or nodes a product is made of."""
    levels = {platform.name: platform.level for platform in platforms}
    for inner, count in inside.get(outer.name, ()):
        metric = {"rack": "racks", "node": "nodes"}.get(levels.get(inner, ""))
        if metric is not None:
            told, evidence = f"{outer.name} = {count} x {inner}", f"registry.containments: {outer.name}, {inner}"
            yield Reference(outer.name, "platform", metric, "whole", float(count), float(count), told, evidence)


def _containments(frame: pl.DataFrame | None) -> dict[str, tuple[tuple[str, int], ...]]:
    inside: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for row in frame.iter_rows(named=True) if frame is not None else ():
        pair = (plain_name(row["inner"]), int(row["count"]))
        if pair not in inside[plain_name(row["outer"])]:
            inside[plain_name(row["outer"])].append(pair)
    return {outer: tuple(parts) for outer, parts in inside.items()}
