"""Facts brought to comparable form, and the one that is taken where several state the same.

What explains the others belongs in `_fact_readings`.
"""

from __future__ import annotations

import polars as pl

from pipelines.schemas.spec_metrics import CONFIDENCES, QUANTITIES

AGREES_WITHIN = 0.01
"""Two figures that differ by less are the same figure, rounded differently."""

MATRIX_FORMATS = ("tf32_teraflops", "bf16_teraflops", "fp16_teraflops")
"""Formats for which a vector rate exists that could be mistaken for the matrix rate."""

VECTOR_RATES = (1, 2, 4)
"""Rate of the vector engine at half precision over its FP32 rate, in every part so far."""

GROUP = ["subject", "quantity", "form"]

_FAMILIES = {name: quantity.family for name, quantity in QUANTITIES.items()}
_METRICS = {name: quantity.metric for name, quantity in QUANTITIES.items()}
_ENGINES = {name: quantity.canonical_engine for name, quantity in QUANTITIES.items()}
_BASIS_ORDER = {"published": 0, "measured": 0, "derived": 1, "announced": 2, "estimate": 3}
_CONFIDENCE_ORDER = {confidence: place for place, confidence in enumerate(CONFIDENCES)}


def with_forms(facts: pl.DataFrame) -> pl.DataFrame:
    """Return facts with `family`, `figure`, `form`, `is_form_stated` and the metric in canonical form.

    Args:
        facts: rows of `core.spec_facts`.

    Returns:
        `figure` is the value, or the middle of a range that is no count; one direction where the source states both.
        `form` is empty for what is or may be the canonical form (dense, on the usual engine, per package, not raw
        memory, the usual configuration), else names what sets the fact apart, such as `sparse`.
    """
    by_quantity = pl.col("quantity").replace_strict
    is_count = by_quantity(_FAMILIES, return_dtype=pl.String) == "count"
    middle = pl.when(~is_count).then((pl.col("value_low") + pl.col("value_high")) / 2)
    to_one_direction = pl.when(pl.col("direction") == "both_directions").then(0.5).otherwise(1.0)
    return facts.with_columns(
        family=by_quantity(_FAMILIES, return_dtype=pl.String),
        canonical_metric=by_quantity(_METRICS, return_dtype=pl.String),
        figure=pl.col("value").fill_null(middle) * to_one_direction,
        figure_low=pl.col("value_low") * to_one_direction,
        figure_high=pl.col("value_high") * to_one_direction,
        form=_form(),
    ).with_columns(is_form_stated=_is_form_stated(), looks_like_vector=_looks_like_vector())


def _form() -> pl.Expr:
    usual_engine = pl.col("quantity").replace_strict(_ENGINES, return_dtype=pl.String)
    parts = [
        pl.when(pl.col("density") == "sparse").then(pl.lit("sparse")),
        pl.when(pl.col("engine") != usual_engine).then(pl.col("engine")),
        pl.when(pl.col("scope") != "package").then(pl.col("scope")),
        pl.when(pl.col("capacity_basis") == "raw").then(pl.lit("raw")),
        pl.col("variant"),
    ]
    return pl.concat_str(parts, separator=" | ", ignore_nulls=True)


def _is_form_stated() -> pl.Expr:
    """Say whether the source states what decides the meaning of a figure of this family."""
    stated = {
        "compute": pl.col("density").is_not_null() | (pl.col("engine") == "vector").fill_null(False),
        "scale_up": pl.col("direction").is_not_null(),
        "capacity": pl.col("capacity_basis").is_not_null() | (pl.col("quantity") != "memory_bytes"),
    }
    families = pl.col("family")
    return (
        pl.when(families == "compute")
        .then(stated["compute"])
        .when(families == "scale_up")
        .then(stated["scale_up"])
        .when(families == "capacity")
        .then(stated["capacity"])
        .otherwise(True)
    )


def _looks_like_vector() -> pl.Expr:
    """Say whether a half-precision rate of no stated engine is 1, 2 or 4 times the FP32 rate of the same source."""
    single = pl.col("figure").filter(pl.col("quantity") == "fp32_teraflops").first().over("subject", "source")
    is_open = pl.col("quantity").is_in(MATRIX_FORMATS) & pl.col("engine").is_null() & pl.col("density").is_null()
    is_multiple = pl.any_horizontal((pl.col("figure") / single / times - 1).abs() < 0.01 for times in VECTOR_RATES)
    return (is_open & is_multiple).fill_null(False)


def taken(formed: pl.DataFrame) -> pl.DataFrame:
    """Return the fact that is taken for each subject, quantity and form, with `agreeing_count` and `rule`.

    The first that is left by these rules, in this order: no defect; form stated rather than left open; matrix engine
    stated, and not the vector engine's rate by the look of it; vendor over third party; one figure rather than a range;
    higher confidence; published or measured over derived, announced, estimated; more sources that agree within 1 %;
    then by name of the source, so that the choice never depends on order.
    """
    usable = formed.filter(
        pl.col("defect").is_null(),
        pl.any_horizontal(pl.col("figure", "words", "figure_low", "figure_high").is_not_null()),
    )
    ranked = usable.join(
        _agreeing(usable), on=[*GROUP, "source", "locator", "metric"], how="left", maintain_order="left"
    )
    return (
        ranked.with_columns(rule=_rule(), is_range=pl.col("value").is_null() & pl.col("words").is_null())
        .sort(
            ~pl.col("is_form_stated"),
            pl.col("family").eq("compute") & pl.col("engine").is_null(),
            "looks_like_vector",
            pl.col("publisher_kind") != "vendor",
            "is_range",
            pl.col("confidence").replace_strict(_CONFIDENCE_ORDER, return_dtype=pl.Int64),
            pl.col("basis").replace_strict(_BASIS_ORDER, return_dtype=pl.Int64),
            pl.col("agreeing_count").neg(),
            "source",
            "locator",
            "metric",
        )
        .unique(GROUP, keep="first", maintain_order=True)
        .sort(GROUP)
    )


def _agreeing(usable: pl.DataFrame) -> pl.DataFrame:
    """Count, for each fact, the other sources of its group with the same words or a figure within `AGREES_WITHIN`."""
    key = [*GROUP, "source", "locator", "metric"]
    others = usable.select(
        *GROUP, other="source", other_figure="figure", other_words=pl.col("words").str.to_lowercase()
    )
    same_words = (pl.col("other_words") == pl.col("words").str.to_lowercase()).fill_null(False)
    near = ((pl.col("other_figure") / pl.col("figure") - 1).abs() <= AGREES_WITHIN).fill_null(False)
    agrees = (same_words | near) & (pl.col("source") != pl.col("other"))
    return (
        usable.select(*key, "figure", "words")
        .join(others, on=GROUP, how="left", maintain_order="left")
        .group_by(key, maintain_order=True)
        .agg(agreeing_count=pl.col("other").filter(agrees).n_unique().cast(pl.Int64))
    )


def _rule() -> pl.Expr:
    form = (
        pl.when(pl.col("capacity_basis") == "usable")
        .then(pl.lit("usable memory, as the driver reports it"))
        .when(pl.col("direction") == "both_directions")
        .then(pl.lit("half of what is stated for both directions"))
        .when(~pl.col("is_form_stated"))
        .then(pl.lit("no source states the form"))
        .otherwise(pl.lit("stated in this form"))
    )
    publisher = (
        pl.when(pl.col("publisher_kind") == "vendor")
        .then(pl.lit("by the vendor"))
        .otherwise(pl.lit("by a third party"))
    )
    basis = pl.when(pl.col("basis").is_in(["published", "measured"])).then(pl.lit("")).otherwise(", " + pl.col("basis"))
    spread = (
        pl.when(pl.col("value").is_null() & pl.col("words").is_null()).then(pl.lit(", a range")).otherwise(pl.lit(""))
    )
    return form + ", " + publisher + basis + spread


def as_text(figure: pl.Expr) -> pl.Expr:
    """Return a figure of six digits at most as text, without a needless fraction."""
    rounded = figure.round_sig_figs(6)
    whole = rounded.round().cast(pl.Int64, strict=False).cast(pl.String)
    is_whole = ((rounded - rounded.round()).abs() < 1e-9) | (rounded.abs() >= 1e6)
    return pl.when(is_whole & (rounded.abs() < 1e15)).then(whole).otherwise(rounded.cast(pl.String))


def with_unit(figure: pl.Expr, unit: pl.Expr) -> pl.Expr:
    """Return a figure as text with its unit, where it has one; bytes are told in GB."""
    is_bytes = (unit == "bytes").fill_null(False)
    told = as_text(pl.when(is_bytes).then(figure / 1e9).otherwise(figure))
    return pl.concat_str(told, pl.when(is_bytes).then(pl.lit("GB")).otherwise(unit), separator=" ", ignore_nulls=True)


def unit_of_last_digit(figure: pl.Expr, most_digits: int = 4) -> pl.Expr:
    """Return the worth of the last digit that is not a padding zero: 1,000 for 8,000, 100 for 7,700."""
    magnitude = figure.abs().log10().floor()
    units = [pl.lit(10.0).pow(magnitude - (digits - 1)) for digits in range(1, most_digits + 1)]
    chain = pl.lit(None, dtype=pl.Float64)
    for unit in reversed(units):
        scaled = figure / unit
        chain = pl.when((scaled - scaled.round()).abs() < 1e-6).then(unit).otherwise(chain)
    return chain
