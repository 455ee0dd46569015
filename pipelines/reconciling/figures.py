"""What somebody states of a part or a platform, held against the facts: memory, counts.

How facts are resolved and how any other figure is explained belongs in `facts`.
"""

from __future__ import annotations

import polars as pl

from pipelines.reconciling._fact_forms import taken, with_forms
from pipelines.reconciling.facts import explain_figures
from pipelines.schemas.facts_core import SpecFacts

COUNT_VERDICTS = (
    "agrees",
    "per_node_for_total",
    "nodes_for_total",
    "dies_for_packages",
    "contradicted",
    "not_checkable",
)

SAME_MEMORY = ("binary_prefix", "raw_capacity", "variant", "rounding", "range")
"""Readings under which two capacities are of the same memory."""

FITTED_AT_MOST = 1.1
"""Largest share of the known capacity that another way to count can give."""


def judge_memory(
    stated: pl.DataFrame, facts: pl.DataFrame, subjects: pl.DataFrame, containments: pl.DataFrame
) -> pl.DataFrame:
    """Say whether a memory stated for a part can be that part's memory.

    Args:
        stated: `subject`, `memory_bytes`, and `host_memory_bytes` of the same system where it is known.
        facts, subjects, containments: as in `facts.reconcile_facts`.

    Returns:
        The rows of `stated` with `memory_verdict`, `known_memory_bytes`, `memory_ratio` and `memory_evidence`.
        Powers of ten or two, raw or usable, a known variant: all of them agree. `host_memory` is said where the host
        of the same system has that memory, `too_large` where no way to count gives so much.
    """
    rows = stated.with_row_index("row")
    explained = explain_figures(_as_facts(rows), facts, subjects, containments).select(
        pl.col("locator").cast(pl.UInt32).alias("row"), "explained_by", memory_evidence="evidence"
    )
    memory = taken(with_forms(facts.filter(pl.col("quantity") == "memory_bytes")))
    known = memory.filter(pl.col("form") == "").select("subject", known_memory_bytes="figure")
    ratio = pl.col("memory_bytes") / pl.col("known_memory_bytes")
    host = "host_memory_bytes"
    is_host = (pl.col("memory_bytes") == pl.col(host)).fill_null(False) if host in rows.columns else pl.lit(False)
    verdict = (
        pl.when(pl.col("memory_ratio").is_null())
        .then(pl.lit("no_facts"))
        .when(pl.col("explained_by").is_null() | pl.col("explained_by").is_in(SAME_MEMORY))
        .then(pl.lit("agrees"))
        .when(is_host)
        .then(pl.lit("host_memory"))
        .when(pl.col("explained_by") == "another_part")
        .then(pl.lit("another_part"))
        .when(pl.col("explained_by") == "scope")
        .then(pl.lit("sum_of_node"))
        .when(pl.col("memory_ratio") > FITTED_AT_MOST)
        .then(pl.lit("too_large"))
        .otherwise(pl.lit("contradicted"))
    )
    return (
        rows.join(explained, on="row", how="left", maintain_order="left")
        .join(known, on="subject", how="left", maintain_order="left")
        .with_columns(memory_ratio=ratio)
        .with_columns(memory_verdict=verdict)
        .drop("row", "explained_by")
    )


def _as_facts(rows: pl.DataFrame) -> pl.DataFrame:
    """Return memory as stated in the shape of `core.spec_facts`, the row's number as locator."""
    schema = SpecFacts.create_empty().schema
    given = rows.filter(pl.col("memory_bytes").is_not_null()).select(
        "subject",
        metric=pl.lit("memory_bytes"),
        quantity=pl.lit("memory_bytes"),
        source=pl.lit("as stated"),
        source_address=pl.lit(""),
        locator=pl.col("row").cast(pl.String),
        value=pl.col("memory_bytes").cast(pl.Float64),
        unit=pl.lit("bytes"),
        printed=pl.col("memory_bytes").cast(pl.String),
        basis=pl.lit("published"),
    )
    missing = [pl.lit(None, dtype=kind).alias(name) for name, kind in schema.items() if name not in given.columns]
    return given.with_columns(missing).select(schema.names())


def judge_counts(stated: pl.DataFrame) -> pl.DataFrame:
    """Say whether a total is the product of nodes and accelerators per node.

    Args:
        stated: `node_count`, `accelerators_per_node`, `accelerator_count`; `die_count` of the part where it is known.

    Returns:
        The rows of `stated` with `count_verdict`, `expected_accelerator_count` and `count_ratio`, stated over expected.
    """
    total, expected = pl.col("accelerator_count"), pl.col("expected_accelerator_count")
    dies = pl.col("die_count") if "die_count" in stated.columns else pl.lit(None, dtype=pl.Int64)
    verdict = (
        pl.when(expected.is_null() | total.is_null())
        .then(pl.lit("not_checkable"))
        .when(total == expected)
        .then(pl.lit("agrees"))
        .when(total == pl.col("accelerators_per_node"))
        .then(pl.lit("per_node_for_total"))
        .when(total == pl.col("node_count"))
        .then(pl.lit("nodes_for_total"))
        .when((dies > 1) & (total == expected * dies))
        .then(pl.lit("dies_for_packages"))
        .otherwise(pl.lit("contradicted"))
    )
    return stated.with_columns(
        expected_accelerator_count=pl.col("node_count") * pl.col("accelerators_per_node")
    ).with_columns(count_verdict=verdict, count_ratio=total / expected)
