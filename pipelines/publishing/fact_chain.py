"""What a figure of a specification rests on, as a tree: the source taken, why, every other source, what disagreed.

The words and figures of one part or platform; where they are printed is the caller's.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from pipelines.lake.tables import Lake
from pipelines.publishing.chain import Link

RESOLVED, CONFLICTS = "mart.resolved_facts", "mart.fact_conflicts"


def chain_of_fact(lake: Lake, spec_facts: pl.DataFrame, name: str) -> Link | None:
    """Return what the value of `SUBJECT/METRIC`, or each value of `SUBJECT`, rests on; None where there is none.

    Args:
        lake: Where the resolved values and conflicts are.
        spec_facts: `core.spec_facts`, every source's figure as printed.
        name: Such as `H100-SXM5-80GB/bf16_dense_teraflops` or `H100-SXM5-80GB`.
    """
    resolved = lake.read(RESOLVED)
    found = resolved.filter(pl.concat_str("subject", pl.lit("/"), "metric") == name)
    if found.height:
        root = Link(name)
        _add_value(root, found.row(0, named=True), lake.read(CONFLICTS), spec_facts)
        return root
    of_subject = resolved.filter(pl.col("subject") == name).sort("metric")
    if of_subject.is_empty():
        return None
    root = Link(f"{name}: {of_subject.height} values")
    for fact in of_subject.iter_rows(named=True):
        root.add(f"{fact['metric']} {_taken(fact)}: {fact['source']}, {fact['rule']}", fact)
    return root


def _add_value(root: Link, fact: dict[str, Any], conflicts: pl.DataFrame, spec_facts: pl.DataFrame) -> None:
    value = root.add(f"{_taken(fact)}: {fact['rule']}", fact)
    value.add(f"printed {fact['printed']!r} by {fact['source']} ({fact['publisher_kind']}), {fact['locator']}")
    value.add(f"{fact['source_address']}")
    value.add(f"{fact['basis']}, confidence in our reading {fact['confidence']}")
    ours = {"subject": fact["subject"], "metric": fact["metric"]}
    differing = conflicts.filter(**ours).sort("source", "locator")
    keys = ["source", "locator"]
    same = spec_facts.filter(subject=fact["subject"], quantity=fact["quantity"]).sort(keys)
    for other in same.join(differing, on=keys, how="anti", maintain_order="left").iter_rows(named=True):
        if (other["source"], other["locator"]) != (fact["source"], fact["locator"]):
            root.add(f"also {_printed(other)}: {other['source']}, {other['source_address']}", other)
    for other in differing.iter_rows(named=True):
        told = root.add(f"left out {_value(other)}, printed {other['printed']!r}: {other['source']}", other)
        told.add(f"{other['explained_by']}: {other['explanation']}")
        told.add(other["source_address"])


def _taken(fact: dict[str, Any]) -> str:
    """Return the value taken, a range as its two ends."""
    if fact["value_low"] is None or fact["value_high"] is None:
        return _value(fact)
    unit = f" {fact['unit']}" if fact["unit"] else ""
    return f"{fact['value_low']:.12g} to {fact['value_high']:.12g}{unit}, the middle, {fact['value']:.12g}, is taken"


def _value(fact: dict[str, Any]) -> str:
    if fact["value"] is None:
        return str(fact.get("words"))
    return f"{fact['value']:.12g} {fact['unit'] or ''}".rstrip()


def _printed(fact: dict[str, Any]) -> str:
    return f"{fact['printed']!r} ({fact['metric']})"
