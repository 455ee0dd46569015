"""Counts in the names of systems, held against nodes and accelerators: what does the number in a name count?

How a count is read out of a name belongs in `parsing.name_counts`; racks that a name counts belong in `racks`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import polars as pl

from pipelines.parsing.name_counts import Hardware, NameCount, counts_in_name
from pipelines.schemas.audits_mart import NameCounts
from pipelines.schemas.findings import findings_frame

_PLACES = {"folder": "system", "system_name": "system_name"}
"""Where a name stands, and the column of `core.systems` that holds it."""

_SEVERITY = {
    "counts_one_node": "info",
    "counts_racks": "info",
    "counts_accelerators": "warning",
    "counts_nodes": "warning",
    "counts_cores": "warning",
    "counts_dies": "warning",
    "another_machine": "warning",
    "contradicted": "warning",
}
"""What a reader should know of a name that does not count what its form says."""

_EXPECTED = {
    "accelerators": "accelerator_count",
    "grid": "accelerator_count",
    "tpu_units": "accelerator_count",
    "accelerators_per_node": "accelerators_per_node",
    "nodes": "number_of_nodes",
    "machines": "number_of_nodes",
}

_FORM_WORDS = {
    "accelerators": "accelerators",
    "grid": "accelerators",
    "tpu_units": "chips",
    "accelerators_per_node": "accelerators of a node",
    "nodes": "nodes",
    "machines": "machines",
}


@dataclass(frozen=True, slots=True)
class _System:
    """What a description says of a system's size."""

    nodes: int | None
    per_node: int | None
    total: int | None
    racks: int | None
    slots: int | None
    cores: int
    dies: int

    def fills_racks(self, racks: int) -> bool:
        """Say whether the accelerators need just so many racks, or the description states so many."""
        if self.racks is not None:
            return self.racks == racks
        return self.slots is not None and self.total is not None and -(-self.total // self.slots) == racks

    @property
    def size(self) -> str:
        """Return the size in words."""
        return f"{self.nodes} x {self.per_node} = {self.total} accelerators"


def audit_names(systems: pl.DataFrame, accelerators: pl.DataFrame) -> pl.DataFrame:
    """Return `mart.name_counts`: every count in the name of a system, with what it counts.

    Args:
        systems: `core.systems`.
        accelerators: `mart.accelerators`, for the dies and TensorCores of a part.
    """
    parts = accelerators.select("accelerator", "die_count", "tensorcore_count")
    described = systems.join(parts, on="accelerator", how="left")
    rows = [row for system in described.iter_rows(named=True) for row in _rows(system)]
    frame = pl.DataFrame(rows, schema=NameCounts.create_empty().schema, orient="row")
    return frame.sort(NameCounts.primary_key())


def name_findings(name_counts: pl.DataFrame) -> pl.DataFrame:
    """Return rows of `mart.findings`, one for each system and kind of count that does not say what its form says."""
    told = name_counts.filter(pl.col("verdict").is_in(list(_SEVERITY)))
    keys = ["round", "submitter_folder", "system", "verdict"]
    grouped = told.group_by(keys, maintain_order=True).agg(
        pl.col("explanation").first(),
        expected=pl.col("expected_count").first(),
        found=pl.format("{} ({})", "words", "stated_in").str.join("; "),
    )
    return findings_frame(
        grouped.with_columns(
            kind=pl.format("names.{}", "verdict"),
            severity=pl.col("verdict").replace_strict(_SEVERITY, default=None, return_dtype=pl.String),
            subject=pl.format("{}/{}/{}", "round", "submitter_folder", "system"),
            evidence=pl.lit("mart.name_counts: stated_count, number_of_nodes, accelerators_per_node"),
        )
    )


def _rows(described: dict[str, Any]) -> Iterator[dict[str, Any]]:
    hardware = Hardware(
        described["accelerator_text"] or "", described["host_processor_text"] or "", described["accelerator"]
    )
    system = _System(
        described["number_of_nodes"],
        described["accelerators_per_node"],
        described["accelerator_count"],
        described["racks_stated"],
        described["slots_per_rack"],
        described["tensorcore_count"] or 1,
        described["die_count"] or 1,
    )
    names = {place: described[column] or "" for place, column in _PLACES.items()}
    counts = {place: counts_in_name(name, hardware) for place, name in names.items()}
    models = {count.model for count in counts["folder"] if count.model}
    for place, name in names.items():
        for position, count in enumerate(counts[place]):
            verdict, explanation = _judge(count, counts[place], system)
            if verdict == "agrees" and place == "system_name" and _is_another_machine(count.model, models):
                verdict = "another_machine"
                explanation = f"The name says {count.model}, the folder {' and '.join(sorted(models))}."
            yield {
                **{column: described[column] for column in NameCounts.column_names() if column in described},
                "stated_in": place,
                "position": position,
                "name": name,
                "words": count.words,
                "counts": count.unit,
                "stated_count": count.count,
                "expected_count": described[_EXPECTED[count.unit]],
                "verdict": verdict,
                "explanation": explanation,
            }


def _is_another_machine(model: str | None, others: set[str]) -> bool:
    """Say whether a model is none of the others, however they are written."""

    def bare(name: str) -> str:
        return re.sub("[^a-z0-9]", "", name.casefold())

    return model is not None and bool(others) and all(bare(model) != bare(other) for other in others)


def _judge(count: NameCount, beside: tuple[NameCount, ...], system: _System) -> tuple[str, str]:
    """Return the verdict on one count and the sentence that says it; `beside` are all counts of the same name."""
    total, nodes, per_node = system.total, system.nodes, system.per_node
    counts_nodes = count.unit in ("nodes", "machines")
    if nodes is None or (total in (None, 0) and not counts_nodes):
        return "not_checkable", "The description states no count that this could be held against."
    of_parts = [other.count for other in beside if other.unit in ("accelerators", "grid")]
    multiplied = len(beside) > 1 and total == prod(other.count for other in beside)
    added = count.unit in ("accelerators", "grid") and total == sum(of_parts)
    expected = {"nodes": nodes, "machines": nodes, "accelerators_per_node": per_node}.get(count.unit, total)
    as_written = f"{count.words} in the name"
    if count.unit == "machines" and count.count != nodes and system.fills_racks(count.count):
        return "counts_racks", f"{as_written} counts racks, where its form counts machines: {system.size}."
    if count.count == expected or multiplied or added:
        return "agrees", f"{as_written} agrees with {system.size}."
    if count.unit == "machines" and _nodes_stand_beside(beside, nodes) and count.count in (total, per_node):
        return "agrees", f"{as_written} agrees with {system.size}."
    if counts_nodes or count.unit == "accelerators_per_node":
        if count.count == total:
            meant = _FORM_WORDS[count.unit]
            return (
                "counts_accelerators",
                f"{as_written} counts accelerators, where its form counts {meant}: {system.size}.",
            )
    elif count.count == per_node:
        return (
            "counts_one_node",
            f"{as_written} counts the accelerators of one node; the system has {total} in {nodes}.",
        )
    elif count.unit == "tpu_units" and total and system.cores > 1 and count.count == total * system.cores:
        return "counts_cores", f"{as_written} counts TensorCores, {system.cores} a chip: the system has {total} chips."
    elif total and system.dies > 1 and count.count == total * system.dies:
        return "counts_dies", f"{as_written} counts dies, {system.dies} a package: the system has {total} packages."
    elif count.count == nodes:
        return "counts_nodes", f"{as_written} counts nodes, where its form counts accelerators: {system.size}."
    meant = _FORM_WORDS[count.unit]
    return "contradicted", f"{as_written} states {count.count} {meant}; the description has {system.size}."


def _nodes_stand_beside(beside: tuple[NameCount, ...], nodes: int) -> bool:
    return any(other.unit == "nodes" and other.count == nodes for other in beside)
