"""The scale-up link that somebody states for a part, held against the facts: its generation, its rate.

Memory and counts are in `figures`; how any figure is explained belongs in `facts`.
"""

from __future__ import annotations

import polars as pl

from pipelines.reconciling._fact_forms import taken, with_forms
from pipelines.reconciling.facts import explain_figures
from pipelines.schemas.facts_core import SpecFacts
from pipelines.schemas.spec_metrics import metric_name

SAME_LINK = ("direction", "rounding", "scope", "range", "variant")
"""Readings under which two rates are of the same link."""

_RATE = "scale_up_gigabytes_per_second"
_GENERATION_BEHIND = r"(?i)nvlink[ -]?(?:gen(?:eration)?[ -]?)?v?(\d)\b"
_GENERATION_BEFORE = r"(?i)\b(\d)(?:st|nd|rd|th)[ -]?gen(?:eration)?[ -]nvlink"


def judge_links(
    stated: pl.DataFrame, facts: pl.DataFrame, subjects: pl.DataFrame, containments: pl.DataFrame
) -> pl.DataFrame:
    """Say whether a link stated for a part can be that part's link.

    Args:
        stated: `subject`, `link_text` as written, `link_gigabytes_per_second` as printed there, `link_scope` (`link` or
            `accelerator`; null for `accelerator`).
        facts, subjects, containments: as in `facts.reconcile_facts`.

    Returns:
        The rows of `stated` with `link_generation`, `known_link_generation`,
        `known_link_gigabytes_per_second_per_direction`, `link_verdict` and `link_evidence`. One direction or both, a
        link or all of them: all of these agree.
    """
    rows = stated.with_row_index("row")
    explained = explain_figures(_as_facts(rows), facts, subjects, containments).select(
        pl.col("locator").cast(pl.UInt32).alias("row"), "explained_by", link_evidence="evidence"
    )
    generation, known = pl.col("link_generation"), pl.col("known_link_generation")
    rate, known_rate = pl.col("link_gigabytes_per_second"), pl.col("known_link_gigabytes_per_second_per_direction")
    has_facts = (generation.is_not_null() & known.is_not_null()) | (rate.is_not_null() & known_rate.is_not_null())
    verdict = (
        pl.when((generation != known).fill_null(False))
        .then(pl.lit("another_generation"))
        .when(rate.is_null() & generation.is_null())
        .then(pl.lit("not_stated"))
        .when(~has_facts)
        .then(pl.lit("no_facts"))
        .when(pl.col("explained_by").is_null() | pl.col("explained_by").is_in(SAME_LINK))
        .then(pl.lit("agrees"))
        .when(pl.col("explained_by") == "another_part")
        .then(pl.lit("another_part"))
        .otherwise(pl.lit("contradicted"))
    )
    return (
        rows.join(explained, on="row", how="left", maintain_order="left")
        .join(_known(facts), on="subject", how="left", maintain_order="left")
        .with_columns(link_generation=link_generation(pl.col("link_text")))
        .with_columns(link_verdict=verdict)
        .drop("row", "explained_by")
    )


def link_generation(text: pl.Expr) -> pl.Expr:
    """Return the generation of NVLink that a text names: `NVLINK Gen5`, `NVLink 4`, `5th Gen NVLink`."""
    return pl.coalesce(text.str.extract(_GENERATION_BEHIND), text.str.extract(_GENERATION_BEFORE)).cast(pl.Int64)


def _known(facts: pl.DataFrame) -> pl.DataFrame:
    """Return the generation and the rate of each part's link."""
    of_links = facts.filter(pl.col("quantity").is_in([_RATE, "scale_up_name"]))
    usual = taken(with_forms(of_links)).filter(pl.col("form") == "")
    return usual.group_by("subject", maintain_order=True).agg(
        known_link_generation=link_generation(pl.col("words")).drop_nulls().first(),
        known_link_gigabytes_per_second_per_direction=pl.col("figure").filter(pl.col("quantity") == _RATE).first(),
    )


def _as_facts(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rates as stated in the shape of `core.spec_facts`, the row's number as locator."""
    schema = SpecFacts.create_empty().schema
    given = rows.filter(pl.col("link_gigabytes_per_second").is_not_null()).select(
        "subject",
        metric=pl.lit(metric_name(_RATE)),
        quantity=pl.lit(_RATE),
        source=pl.lit("as stated"),
        source_address=pl.lit(""),
        locator=pl.col("row").cast(pl.String),
        value=pl.col("link_gigabytes_per_second"),
        unit=pl.lit("GB/s"),
        printed=pl.col("link_text"),
        scope=pl.when(pl.col("link_scope") == "link").then(pl.lit("link")),
        basis=pl.lit("published"),
    )
    missing = [pl.lit(None, dtype=kind).alias(name) for name, kind in schema.items() if name not in given.columns]
    return given.with_columns(missing).select(schema.names())
