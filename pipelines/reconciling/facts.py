"""Several published facts to one value each, and every disagreement to the reason for it.

How a sheet is read belongs in `parsing.spec_sheets`; what a system description says of a part is held against these
values in `figures`.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from pipelines.reconciling._fact_forms import (
    AGREES_WITHIN,
    GROUP,
    as_text,
    taken,
    unit_of_last_digit,
    with_forms,
    with_unit,
)
from pipelines.reconciling._fact_readings import all_readings
from pipelines.schemas.facts_mart import Accelerators, FactConflicts, Platforms, ResolvedFacts
from pipelines.schemas.spec_metrics import METRICS

UNEXPLAINED = "unexplained"
ROUNDED_WITHIN = 0.05
"""A figure of one or two digits that rounds the other within this is called rounded."""

_OF_DEFECT = {
    "network.bits_in_byte_field": "bits_for_bytes",
    "network.not_a_port_rate": "bytes_for_bits",
    "capacity.bytes_in_gib_field": "unit_of_field",
    "capacity.mixed_prefix": "binary_prefix",
    "capacity.against_name": "variant",
    "compute.gigaflops_in_teraflops_field": "thousandfold",
}
"""What a reader's finding about a figure explains, where no reading on good evidence does."""

GOOD_EVIDENCE = 10
"""Readings of this priority and below rest on another fact or on a factor that nothing else has."""

_FACT_KEY = ["subject", "quantity", "form", "source", "locator", "metric"]

_SENTENCES = {
    "density": "The figure counts structured sparsity where the other does not.",
    "direction": "One figure is for one direction, the other for both together.",
    "dies": "One figure is of a die, the other of the package.",
    "vector_for_tensor": "The figure is the rate of the vector engine, the other that of the matrix engine.",
    "other_precision": "The figure is the rate at another precision.",
    "raw_capacity": "The figure is the memory fitted, the other what software can use.",
    "binary_prefix": "One figure counts in powers of ten, the other in powers of two.",
    "bits_for_bytes": "Bits stand where bytes belong: the figure is eight times too high.",
    "bytes_for_bits": "Bytes stand where bits belong: the figure is eight times too low.",
    "thousandfold": "The prefix of the unit is wrong.",
    "unit_of_field": "The figure is in another unit than its field says.",
    "scope": "The figure is of another scope: a link, a port, a board, a node or a pod.",
    "variant": "The figure is of another configuration of the same part.",
    "pod_for_rack": "The figure of the pod is told of one of the racks that it holds.",
    "rack_for_pod": "The figure of one rack is told of the pod.",
    "data_rate": "The figure counts the double data rate of the memory twice.",
    "network_generation": "The figure is of another generation of network adapters.",
    "estimate": "The figure is an estimate.",
    "part_figure": "The figure sums what a source states of the part, which is itself in dispute.",
    "other_field": "The figure is the count of something else.",
    "announced": "The figure was announced, the other is of the product.",
    "range": "A source gives a range that holds the figure.",
    "rounding": "The figure is the other one, rounded.",
    "another_part": "The figure is that of another part.",
    UNEXPLAINED: "No known reading gives the figure.",
}


@dataclass(frozen=True, slots=True)
class FactTables:
    """What the facts come to."""

    resolved: pl.DataFrame
    """Rows of `mart.resolved_facts`."""
    conflicts: pl.DataFrame
    """Rows of `mart.fact_conflicts`."""
    accelerators: pl.DataFrame
    """Rows of `mart.accelerators`."""
    platforms: pl.DataFrame
    """Rows of `mart.platforms`."""


def reconcile_facts(facts: pl.DataFrame, subjects: pl.DataFrame, containments: pl.DataFrame) -> FactTables:
    """Resolve facts and explain what disagrees.

    Args:
        facts: rows of `core.spec_facts`, of any number of sources.
        subjects: `subject`, `subject_kind`, `vendor` of every part and platform that is to have a row.
        containments: `outer` (a pod) holds `count` of `inner` (a rack).

    Returns:
        The four `mart` tables. A subject without facts has null figures.
    """
    formed = with_forms(facts).join(
        subjects.select("subject", "vendor"), on="subject", how="left", maintain_order="left"
    )
    chosen = taken(formed)
    conflicts = _conflicts(formed, chosen, containments)
    resolved = _resolved(formed, chosen, conflicts)
    return FactTables(
        resolved=resolved,
        conflicts=conflicts.select(FactConflicts.column_names()).sort(FactConflicts.primary_key()),
        accelerators=_wide(resolved, formed, subjects, "accelerator", Accelerators.column_names()),
        platforms=_wide(resolved, formed, subjects, "platform", Platforms.column_names()),
    )


def explain_figures(
    figures: pl.DataFrame, facts: pl.DataFrame, subjects: pl.DataFrame, containments: pl.DataFrame
) -> pl.DataFrame:
    """Hold figures that somebody states against the facts: how far off, and what they would be if not what is said.

    Args:
        figures: rows in the shape of `core.spec_facts`; what a row leaves open in its qualifiers is taken as meant in
            canonical form.
        facts, subjects, containments: as in `reconcile_facts`.

    Returns:
        Rows of `mart.fact_conflicts` for the figures that differ by more than 1 %; those that agree, and those of a
        subject or metric without facts, have none.
    """
    vendors = subjects.select("subject", "vendor")
    formed = with_forms(facts).join(vendors, on="subject", how="left", maintain_order="left")
    stated = with_forms(figures).join(vendors, on="subject", how="left", maintain_order="left")
    chosen = _with_link_rates(taken(formed))
    readings = all_readings(formed, chosen, containments)
    return _explained(_differing(stated, chosen), readings).select(FactConflicts.column_names())


def _with_link_rates(chosen: pl.DataFrame) -> pl.DataFrame:
    """Add the rate of one link, the accelerator's over its links, where no source states it."""
    rates = chosen.filter(pl.col("quantity") == "scale_up_gigabytes_per_second")
    links = chosen.filter(pl.col("quantity") == "scale_up_link_count", pl.col("form") == "")
    derived = (
        rates.filter(pl.col("form") == "")
        .join(rates.filter(pl.col("form") == "link").select("subject"), on="subject", how="anti")
        .join(links.select("subject", link_count="figure"), on="subject", how="inner")
        .with_columns(
            figure=pl.col("figure") / pl.col("link_count"), form=pl.lit("link"), figure_low=None, figure_high=None
        )
        .drop("link_count")
    )
    return pl.concat([chosen, derived], how="vertical_relaxed")


def _conflicts(formed: pl.DataFrame, chosen: pl.DataFrame, containments: pl.DataFrame) -> pl.DataFrame:
    others = formed.join(chosen.select(_FACT_KEY), on=_FACT_KEY, how="anti", maintain_order="left")
    as_read_before_as_curated = others.sort(pl.col("source_sha256").is_null(), maintain_order=True)
    differing = _differing(as_read_before_as_curated, chosen)
    explained = _explained(differing, all_readings(formed, chosen, containments))
    return explained.unique(["subject", "conflict_metric", "source", "value"], keep="first", maintain_order=True)


def _differing(others: pl.DataFrame, chosen: pl.DataFrame) -> pl.DataFrame:
    """Return the facts that differ by more than 1 % from the one taken in their group, and lie in no range with it."""
    base = chosen.filter(pl.col("figure").is_not_null()).select(
        *GROUP,
        resolved_value="figure",
        resolved_source="source",
        base_low="figure_low",
        base_high="figure_high",
    )
    ratio = pl.col("figure") / pl.col("resolved_value")
    inside_own = pl.col("resolved_value").is_between(pl.col("figure_low"), pl.col("figure_high")).fill_null(False)
    inside_base = pl.col("figure").is_between(pl.col("base_low"), pl.col("base_high")).fill_null(False)
    return (
        others.filter(pl.col("figure").is_not_null())
        .join(base, on=GROUP, how="inner", maintain_order="left")
        .with_columns(ratio=ratio)
        .filter((pl.col("ratio") - 1).abs() > AGREES_WITHIN, ~inside_own, ~inside_base)
    )


def _explained(differing: pl.DataFrame, readings: pl.DataFrame) -> pl.DataFrame:
    """Add to each figure the reading that gives it, by the best evidence and then the closest."""
    key = [*_FACT_KEY, "printed"]
    error = (pl.col("figure") / pl.col("expected_value") - 1).abs()
    best = (
        differing.select(*key, "figure")
        .join(readings, on=["subject", "quantity"], how="inner", suffix="_read")
        .filter(pl.col("form_read").is_null() | (pl.col("form_read") == pl.col("form")))
        .filter(pl.col("reading_source").is_null() | (pl.col("reading_source") == pl.col("source")))
        .filter(error <= pl.col("tolerance"))
        .sort("priority", error, "explained_by", "evidence")
        .unique(key, keep="first", maintain_order=True)
        .select(*key, "explained_by", "expected_value", "evidence", "priority")
    )
    of_defect = pl.col("defect").replace_strict(_OF_DEFECT, default=None, return_dtype=pl.String)
    is_canonical = pl.col("form") == ""
    return (
        differing.join(best, on=key, how="left", maintain_order="left", nulls_equal=True)
        .with_columns(of_defect=of_defect, value=pl.col("figure"))
        .pipe(_override, _is_rounded(), "rounding", pl.lit("digits as printed"), pl.col("resolved_value"))
        .pipe(
            _override,
            pl.col("of_defect").is_not_null() & (pl.col("priority").fill_null(99) > GOOD_EVIDENCE),
            pl.col("of_defect"),
            pl.format("finding of the reader: {}", "defect"),
            pl.lit(None, dtype=pl.Float64),
        )
        .pipe(
            _override,
            pl.col("explained_by").is_null() & (pl.col("basis") == "estimate"),
            "estimate",
            pl.lit("as the source says"),
            pl.lit(None, dtype=pl.Float64),
        )
        .with_columns(
            pl.col("explained_by").fill_null(UNEXPLAINED),
            conflict_metric=pl.when(is_canonical).then("canonical_metric").otherwise("metric"),
        )
        .with_columns(explanation=_sentence(), metric=pl.col("conflict_metric"))
    )


def _override(
    frame: pl.DataFrame, condition: pl.Expr, explained_by: str | pl.Expr, evidence: pl.Expr, expected: pl.Expr
) -> pl.DataFrame:
    """Replace the explanation of the rows that a condition holds for."""
    instead = pl.lit(explained_by) if isinstance(explained_by, str) else explained_by
    applies = condition.fill_null(False)
    return frame.with_columns(
        explained_by=pl.when(applies).then(instead).otherwise("explained_by"),
        evidence=pl.when(applies).then(evidence).otherwise("evidence"),
        expected_value=pl.when(applies).then(expected).otherwise("expected_value"),
        priority=pl.when(applies).then(0).otherwise("priority"),
    )


def _is_rounded() -> pl.Expr:
    """Say whether one of the two figures is the other, rounded to the digits that it has."""
    apart = (pl.col("resolved_value") - pl.col("figure")).abs()
    coarser = pl.max_horizontal(unit_of_last_digit(pl.col("figure")), unit_of_last_digit(pl.col("resolved_value")))
    is_near = (pl.col("ratio") - 1).abs() <= ROUNDED_WITHIN
    return (apart <= coarser / 2) & is_near & pl.col("defect").is_null()


def _sentence() -> pl.Expr:
    reason = pl.col("explained_by").replace_strict(_SENTENCES, return_dtype=pl.String)
    figures = pl.concat_str(
        pl.col("source"),
        pl.lit(" states "),
        with_unit(pl.col("figure"), pl.col("unit")),
        pl.lit(" against "),
        with_unit(pl.col("resolved_value"), pl.col("unit")),
        pl.lit(" by "),
        pl.col("resolved_source"),
        pl.lit(": a ratio of "),
        as_text(pl.col("ratio").round_sig_figs(4)),
        pl.lit(". "),
    )
    return figures + reason


def _resolved(formed: pl.DataFrame, chosen: pl.DataFrame, conflicts: pl.DataFrame) -> pl.DataFrame:
    counts = formed.group_by("subject", "quantity").agg(fact_count=pl.len().cast(pl.Int64))
    told = pl.concat_str(
        as_text(pl.col("value")),
        pl.lit(" ("),
        pl.col("source"),
        pl.lit(", "),
        pl.col("explained_by"),
        pl.lit(")"),
    )
    disagreeing = (
        conflicts.filter(pl.col("form") == "")
        .sort("source", "locator")
        .group_by("subject", "quantity", maintain_order=True)
        .agg(
            conflict_count=pl.len().cast(pl.Int64),
            unexplained_count=(pl.col("explained_by") == UNEXPLAINED).sum().cast(pl.Int64),
            disagreeing=told.str.join("; "),
        )
    )
    has_usual_form = chosen.filter(pl.col("form") == "").select("subject", "quantity")
    raw_memory = (pl.col("form") == "raw") & (pl.col("quantity") == "memory_bytes")
    raw_alone = chosen.filter(raw_memory).join(has_usual_form, on=["subject", "quantity"], how="anti")
    return (
        pl.concat([chosen.filter(pl.col("form") == ""), raw_alone])
        .join(counts, on=["subject", "quantity"], how="left")
        .join(disagreeing, on=["subject", "quantity"], how="left")
        .with_columns(
            pl.col("conflict_count", "unexplained_count").fill_null(0),
            value=pl.col("figure"),
            value_low="figure_low",
            value_high="figure_high",
            metric="canonical_metric",
        )
        .select(ResolvedFacts.column_names())
        .sort(ResolvedFacts.primary_key())
    )


def _wide(
    resolved: pl.DataFrame, formed: pl.DataFrame, subjects: pl.DataFrame, kind: str, columns: list[str]
) -> pl.DataFrame:
    """Return one row per subject of a kind, with a column per metric."""
    listed = subjects.filter(pl.col("subject_kind") == kind).select("subject", "vendor").unique(maintain_order=True)
    metrics = [column for column in columns if column in METRICS and column != kind]
    values = [_metric_of(resolved, metric).alias(metric) for metric in metrics]
    basis = pl.col("capacity_basis").filter(pl.col("metric") == "memory_bytes").first().alias("memory_bytes_basis")
    figures = resolved.group_by("subject", maintain_order=True).agg(*values, basis)
    counts = formed.group_by("subject").agg(
        fact_count=pl.len().cast(pl.Int64), source_count=pl.col("source").n_unique().cast(pl.Int64)
    )
    conflicts = resolved.group_by("subject").agg(pl.col("conflict_count", "unexplained_count").sum())
    tallies = ["fact_count", "source_count", "conflict_count", "unexplained_count"]
    return (
        listed.join(figures, on="subject", how="left")
        .join(counts, on="subject", how="left")
        .join(conflicts, on="subject", how="left")
        .with_columns(pl.col(tallies).fill_null(0))
        .rename({"subject": kind})
        .select(columns)
        .sort(kind)
    )


def _metric_of(resolved: pl.DataFrame, metric: str) -> pl.Expr:
    family = METRICS[metric].family
    column = "words" if family == "words" else "value"
    value = pl.col(column).filter(pl.col("metric") == metric).first()
    whole = metric in ("memory_bytes",) or (family == "count" and metric not in ("rack_count", "accelerators_per_rack"))
    return value.round().cast(pl.Int64) if whole else value
