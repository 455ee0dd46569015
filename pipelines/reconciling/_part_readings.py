"""Readings of a figure that rest on how parts are built: engines, sparsity, dies, precisions, sister parts.

Readings that hold for any figure, such as a direction or a prefix, belong in `_fact_readings`.
"""

from __future__ import annotations

import polars as pl

from pipelines.reconciling._fact_forms import GROUP, MATRIX_FORMATS, VECTOR_RATES, as_text
from pipelines.reconciling._reading import KEY, reading

PORT_RATES = (25.0, 50.0, 100.0, 200.0, 400.0, 800.0, 1600.0)
"""Network rates for one accelerator that follow each other from one generation of adapters to the next."""

WORKED_OUT = (
    ("fp8_teraflops", "fp4_teraflops", 1 / 2),
    ("bf16_teraflops", "fp4_teraflops", 1 / 4),
    ("fp16_teraflops", "fp4_teraflops", 1 / 4),
    ("int8_teraops", "fp4_teraflops", 1 / 2),
    ("int8_teraops", "fp16_teraflops", 2),
    ("int4_teraops", "fp16_teraflops", 4),
)
"""Rates that a source may have worked out from another precision: quantity, where from, factor."""

VECTOR_QUANTITIES = ("fp32_teraflops", "fp64_teraflops")
"""Rates of the vector engine: no sparsity, and too alike between parts to tell one from another."""

SUMMED = {
    "bf16_teraflops": "bf16_petaflops",
    "fp8_teraflops": "fp8_petaflops",
    "fp4_teraflops": "fp4_petaflops",
}
"""Rates of a part and the platform's rate that sums them."""

MOST_VECTOR_SHARE = 0.6
"""A vector rate is at most this share of the matrix rate that it is mistaken for."""


def vector_rates(known: pl.DataFrame, figures: pl.DataFrame) -> pl.DataFrame:
    """The vector engine's rate where the matrix engine's belongs: 1, 2 or 4 times FP32, best by the same source."""
    formats = figures.filter(pl.col("quantity").is_in(MATRIX_FORMATS), pl.col("form").is_in(["", "sparse"]))
    formats = formats.select(*GROUP, tensor="figure")
    single = pl.col("quantity") == "fp32_teraflops"
    own = known.filter(single).select("subject", "source", fp32="figure", is_own=pl.lit(True))
    general = figures.filter(single, pl.col("form") == "").select(
        "subject", "source", fp32="figure", is_own=pl.lit(False)
    )
    rates = formats.join(pl.concat([own, general]), on="subject", how="inner")
    frames = []
    for times in VECTOR_RATES:
        expected = pl.col("fp32") * times
        evidence = pl.format(f"{times} x the FP32 vector rate {{}}, {{}}", as_text(pl.col("fp32")), "source")
        for is_own, tolerance, priority in ((True, 0.01, 6), (False, 0.02, 7)):
            of = rates.filter(pl.col("is_own") == is_own, expected <= MOST_VECTOR_SHARE * pl.col("tensor"))
            source = pl.col("source") if is_own else None
            frames.append(
                reading(
                    of, "vector_for_tensor", expected, evidence, tolerance=tolerance, priority=priority, source=source
                )
            )
    alone = pl.lit("ratio of 4 alone: the usual one of matrix to vector rate")
    quarter = reading(formats, "vector_for_tensor", pl.col("tensor") / 4, alone, tolerance=0.07, priority=12)
    return pl.concat([*frames, quarter])


def half_precision_variants(figures: pl.DataFrame) -> pl.DataFrame:
    """A known variant of the FP16 rate in BF16's place: many sources print both formats in one column."""
    variants = figures.filter(pl.col("quantity") == "fp16_teraflops", pl.col("variant").is_not_null())
    usual = figures.filter(pl.col("quantity") == "bf16_teraflops", pl.col("form") == "").select("subject")
    of = variants.join(usual, on="subject", how="semi").with_columns(quantity=pl.lit("bf16_teraflops"))
    evidence = pl.format("stated of FP16 as {}: {}, {}", "form", as_text(pl.col("figure")), "source")
    return reading(of, "variant", pl.col("figure"), evidence, tolerance=0.015, priority=0, form=pl.lit(""))


def densities(formed: pl.DataFrame, figures: pl.DataFrame) -> pl.DataFrame:
    """Twice the dense rate, where no source states the rate with sparsity and the part may have structured sparsity."""
    stated = formed.filter(pl.col("density") == "sparse").select(KEY).unique()
    without = formed.filter(pl.col("quantity") == "structured_sparsity", pl.col("words") == "none").select("subject")
    rates = (
        figures.filter(pl.col("family") == "compute", pl.col("form") == "")
        .filter(~pl.col("quantity").is_in(VECTOR_QUANTITIES))
        .join(stated, on=KEY, how="anti")
        .join(without.unique(), on="subject", how="anti")
    )
    evidence = pl.lit("ratio of 2 alone: the usual one of structured sparsity")
    return reading(rates, "density", pl.col("figure") * 2, evidence, tolerance=0.02, priority=8)


def dies(known: pl.DataFrame, figures: pl.DataFrame) -> pl.DataFrame:
    """The figure of one die where the package's belongs, or the dies counted as packages."""
    is_count = pl.col("quantity") == "die_count"
    count = figures.filter(is_count, pl.col("form") == "", pl.col("figure") > 1)
    count = count.select("subject", dies="figure", die_source="source")
    families = ["capacity", "bandwidth", "compute", "count"]
    of = known.filter(pl.col("family").is_in(families), ~is_count).join(count, on="subject", how="inner")
    counted = of.filter(pl.col("family") == "count")
    evidence = pl.format("{} dies in a package, {}", pl.col("dies").cast(pl.Int64), "die_source")
    return pl.concat(
        [
            reading(of, "dies", pl.col("figure") / pl.col("dies"), evidence, tolerance=0.03, priority=9),
            reading(counted, "dies", pl.col("figure") * pl.col("dies"), evidence, tolerance=0.015, priority=9),
        ]
    )


def other_precisions(known: pl.DataFrame, figures: pl.DataFrame) -> pl.DataFrame:
    """The rate at another precision, or a rate that the source works out from another by the usual factor.

    The usual factor is not always right: FP4 of some parts is three times FP8, INT8 of some equals FP16.
    """
    every = figures.filter(pl.col("family") == "compute")
    rates = every.filter(pl.col("form").is_in(["", "sparse"]))
    others = every.select("subject", "source", other_quantity="quantity", other_form="form", other="figure")
    pairs = rates.select(*GROUP).join(others, on="subject", how="inner")
    pairs = pairs.filter(pl.col("quantity") != pl.col("other_quantity"))
    named = pl.concat_str("other_quantity", pl.col("other_form").replace("", None), separator=" ", ignore_nulls=True)
    evidence = pl.format("{} {}, {}", named, as_text(pl.col("other")), "source")
    is_like = (pl.col("quantity") == "fp32_teraflops") & (pl.col("other_quantity") == "tf32_teraflops")
    frames = [
        reading(
            pairs.filter(((pl.col("other_form") == "") | is_like) == is_usual),
            "other_precision",
            pl.col("other"),
            evidence,
            tolerance=0.01,
            priority=priority,
        )
        for is_usual, priority in ((True, 11), (False, 19))
    ]
    for quantity, origin, factor in WORKED_OUT:
        base = known.filter(pl.col("quantity") == origin).select("subject", base_source="source", base="figure")
        of = rates.filter(pl.col("quantity") == quantity).select(*GROUP).join(base, on="subject", how="inner")
        evidence = pl.format(f"{factor:g} x {origin} {{}}, {{}}", as_text(pl.col("base")), "base_source")
        frames.append(reading(of, "other_precision", pl.col("base") * factor, evidence, tolerance=0.002, priority=20))
    return pl.concat(frames)


def network_generations(figures: pl.DataFrame) -> pl.DataFrame:
    """The rate of another generation of network adapters."""
    rates = figures.filter(pl.col("family") == "network", pl.col("figure").is_in(PORT_RATES))
    return pl.concat(
        [
            reading(
                rates.filter(pl.col("figure") != rate),
                "network_generation",
                pl.lit(rate),
                pl.lit(f"adapters of {rate:.0f} Gb/s are sold"),
                tolerance=0.001,
                priority=12,
            )
            for rate in PORT_RATES
        ]
    )


def other_parts(known: pl.DataFrame, figures: pl.DataFrame) -> pl.DataFrame:
    """The figure of another part of the same maker, taken over by mistake or because one row stands for both.

    A figure that the same source gives for both counts only where it is right for the other within 1.5 %.
    """
    accelerators = figures.filter(pl.col("subject_kind") == "accelerator", pl.col("form") == "")
    is_telling = pl.col("family").is_in(["compute", "capacity"]) & ~pl.col("quantity").is_in(VECTOR_QUANTITIES)
    telling = accelerators.filter(is_telling)
    subjects = telling.select(*GROUP, "vendor")
    theirs = telling.select("quantity", "vendor", "source", other_part="subject", other="figure")
    of_any = subjects.join(theirs, on=["quantity", "vendor"], how="inner")
    right = known.join(accelerators.select(*KEY, taken="figure"), on=KEY, how="inner").filter(
        (pl.col("figure") / pl.col("taken") - 1).abs() <= 0.015
    )
    same = right.select("quantity", "vendor", "source", "subject_text", other_part="subject", other="figure")
    of_same = subjects.join(same, on=["quantity", "vendor"], how="inner")
    in_row = known.join(accelerators.select(*GROUP), on=GROUP, how="semi").select(*GROUP, "source", "subject_text")
    of_row = in_row.join(same.drop("vendor"), on=["quantity", "source", "subject_text"], how="inner")
    evidence = pl.format("{} {}, {}", "other_part", as_text(pl.col("other")), "source")
    is_other = pl.col("subject") != pl.col("other_part")
    frames = [reading(of_any.filter(is_other), "another_part", pl.col("other"), evidence, tolerance=0.005, priority=18)]
    for pairs in (of_same, of_row):
        frames.append(
            reading(
                pairs.filter(is_other),
                "another_part",
                pl.col("other"),
                evidence,
                tolerance=1e-6,
                priority=18,
                source=pl.col("source"),
            )
        )
    return pl.concat(frames)


def platform_sums(known: pl.DataFrame, chosen: pl.DataFrame) -> pl.DataFrame:
    """The sum over a platform's accelerators of what some source states of the part."""
    parts = chosen.filter(pl.col("quantity") == "accelerator", pl.col("form") == "").select("subject", part="words")
    counts = chosen.filter(pl.col("quantity") == "accelerator_count", pl.col("form") == "").select(
        "subject", count="figure"
    )
    stated = known.filter(pl.col("quantity").is_in(list(SUMMED))).select(
        "source",
        part="subject",
        quantity=pl.col("quantity").replace_strict(SUMMED),
        of_part="figure",
    )
    of = (
        parts.join(counts, on="subject", how="inner").join(stated, on="part", how="inner").with_columns(form=pl.lit(""))
    )
    evidence = pl.format(
        "{} x {} of the part, {}", pl.col("count").cast(pl.Int64), as_text(pl.col("of_part")), "source"
    )
    total = pl.col("count") * pl.col("of_part") / 1000
    return reading(of, "part_figure", total, evidence, tolerance=0.005, priority=18)


def other_counts(figures: pl.DataFrame) -> pl.DataFrame:
    """The count of something else on the same platform."""
    counts = figures.filter(
        pl.col("family") == "count", pl.col("subject_kind") == "platform", pl.col("form") == "", pl.col("figure") > 1
    ).filter(pl.col("quantity") != "release_year")
    others = counts.select("subject", "source", other_quantity="quantity", other="figure")
    pairs = counts.select(*GROUP).join(others, on="subject", how="inner")
    evidence = pl.format("{} {}, {}", "other_quantity", as_text(pl.col("other")), "source")
    is_other = pl.col("quantity") != pl.col("other_quantity")
    return reading(pairs.filter(is_other), "other_field", pl.col("other"), evidence, tolerance=1e-9, priority=21)
