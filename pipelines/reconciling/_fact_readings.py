"""What a figure may be if it is not what it was taken for: every known reading of it, with the value it would have.

A reading rests on another fact where there is one; a factor alone is the weaker evidence and is tried after it. The
readings that rest on how parts are built are in `_part_readings`.
"""

from __future__ import annotations

import polars as pl

from pipelines.reconciling import _part_readings as part
from pipelines.reconciling._fact_forms import GROUP, as_text
from pipelines.reconciling._reading import KEY, SCHEMA, reading

GIB_PER_GB = 2**30 / 1e9


def all_readings(formed: pl.DataFrame, chosen: pl.DataFrame, containments: pl.DataFrame) -> pl.DataFrame:
    """Return every reading of a figure of each subject, quantity and form.

    Args:
        formed: facts from `with_forms`, with the vendor of each subject.
        chosen: the facts that `taken` takes.
        containments: `outer` holds `count` of `inner`.

    Returns:
        `reading_source` is set where a reading holds for figures of that source only. `priority` is lower for what
        rests on better evidence.
    """
    figures = chosen.filter(pl.col("figure").is_not_null())
    known = formed.filter(pl.col("figure").is_not_null(), pl.col("form") == "", pl.col("defect").is_null())
    readings = [
        _other_forms(figures),
        _directions(figures),
        _prefixes(figures),
        _bits_and_bytes(figures),
        part.vector_rates(known, figures),
        part.half_precision_variants(figures),
        part.densities(formed, figures),
        part.dies(known, figures),
        _containers(figures, containments),
        part.other_precisions(known, figures),
        part.network_generations(figures),
        _sums(known),
        _data_rates(figures),
        _thousands(figures),
        _announced(known, figures),
        _ranges(formed),
        part.other_parts(known, figures),
        part.platform_sums(known, chosen),
        part.other_counts(figures),
    ]
    return pl.concat([frame.select(pl.col(name).cast(kind) for name, kind in SCHEMA.items()) for frame in readings])


def _other_forms(figures: pl.DataFrame) -> pl.DataFrame:
    """A fact states the very figure, in another form: sparse for dense, a die for the package, a variant."""
    others = figures.select(*KEY, "source", other_form="form", other="figure")
    pairs = figures.select(*GROUP).join(others, on=KEY, how="inner")
    pairs = pairs.filter(pl.col("form") != pl.col("other_form"), (pl.col("form") == "") | (pl.col("other_form") == ""))
    apart = pl.col("form") + " | " + pl.col("other_form")
    explained_by = (
        pl.when(apart.str.contains(r"\bsparse\b"))
        .then(pl.lit("density"))
        .when(apart.str.contains(r"\b(vector|tensor)\b"))
        .then(pl.lit("vector_for_tensor"))
        .when(apart.str.contains(r"(^|\| )die\b"))
        .then(pl.lit("dies"))
        .when(apart.str.contains(r"(^|\| )(superchip|board|port|link|node|rack|pod|package)\b"))
        .then(pl.lit("scope"))
        .when(apart.str.contains(r"(^|\| )raw\b"))
        .then(pl.lit("raw_capacity"))
        .otherwise(pl.lit("variant"))
    )
    what = pl.when(pl.col("other_form") == "").then(pl.lit("the usual form")).otherwise(pl.col("other_form"))
    evidence = pl.format("stated as {}: {}, {}", what, as_text(pl.col("other")), "source")
    rates = pairs.filter(pl.col("quantity").str.starts_with("scale_up_gigabytes"))
    halved = pl.format("stated as {}: {} in one direction, {}", what, as_text(pl.col("other")), "source")
    return pl.concat(
        [
            reading(pairs, explained_by, pl.col("other"), evidence, tolerance=0.015, priority=0),
            reading(rates, explained_by, pl.col("other") * 2, halved, tolerance=0.015, priority=5),
            reading(rates, explained_by, pl.col("other") / 2, halved, tolerance=0.015, priority=5),
        ]
    )


def _directions(figures: pl.DataFrame) -> pl.DataFrame:
    rates = figures.filter(pl.col("family") == "scale_up")
    one = as_text(pl.col("figure"))
    both = pl.format("both directions of {}, {}", one, "source")
    half = pl.format("one direction taken for both: half of {}, {}", one, "source")
    return pl.concat(
        [
            reading(rates, "direction", pl.col("figure") * 2, both, tolerance=0.015, priority=1),
            reading(rates, "direction", pl.col("figure") / 2, half, tolerance=0.015, priority=5),
        ]
    )


def _prefixes(figures: pl.DataFrame) -> pl.DataFrame:
    """Powers of ten for powers of two: 1.074 for GB and GiB, 1.049 for MB and MiB, 1.024 for a step between.

    A driver reports a little less than is fitted, so the first factor is wider for capacities.
    """
    sizes = figures.filter(pl.col("family").is_in(["capacity", "bandwidth"]))
    capacities = sizes.filter(pl.col("family") == "capacity")
    factors = (
        (sizes, GIB_PER_GB, 0.005),
        (capacities, GIB_PER_GB, 0.025),
        (sizes, 2**40 / 1e12, 0.005),
        (sizes, 2**20 / 1e6, 0.005),
        (sizes, 1.024, 0.005),
    )
    return pl.concat(
        [
            reading(
                frame,
                "binary_prefix",
                pl.col("figure") * power,
                pl.lit(f"factor {factor:.4g} between powers of ten and of two"),
                tolerance=tolerance,
                priority=2,
            )
            for frame, factor, tolerance in factors
            for power in (factor, 1 / factor)
        ]
    )


def _bits_and_bytes(figures: pl.DataFrame) -> pl.DataFrame:
    rates = figures.filter(pl.col("family").is_in(["scale_up", "network", "bandwidth"]))
    both = rates.filter(pl.col("family") == "scale_up")
    eight = pl.lit("factor 8 between bits and bytes")
    sixteen = pl.lit("factor 8 between bits and bytes, both directions")
    return pl.concat(
        [
            reading(rates, "bits_for_bytes", pl.col("figure") * 8, eight, tolerance=0.015, priority=3),
            reading(rates, "bytes_for_bits", pl.col("figure") / 8, eight, tolerance=0.015, priority=3),
            reading(both, "bits_for_bytes", pl.col("figure") * 16, sixteen, tolerance=0.015, priority=4),
        ]
    )


def _containers(figures: pl.DataFrame, containments: pl.DataFrame) -> pl.DataFrame:
    """The figure of the pod on a rack that it holds, or the other way round; both directions of a bandwidth too."""
    resolved = figures.filter(pl.col("form") == "").select(
        "quantity", "family", "source", holder="subject", theirs="figure"
    )
    frames = []
    for subject, holder, explained_by in (("inner", "outer", "pod_for_rack"), ("outer", "inner", "rack_for_pod")):
        pairs = containments.select(subject=subject, holder=holder).join(resolved, on="holder", how="inner")
        for times, pairs_of in ((1, pairs), (2, pairs.filter(pl.col("family") == "scale_up"))):
            theirs = pl.col("theirs") * times
            evidence = pl.format("{} {}, {}", "holder", as_text(theirs), "source")
            frames.append(
                reading(pairs_of, explained_by, theirs, evidence, tolerance=0.05, priority=10, form=pl.lit(""))
            )
    return pl.concat(frames)


def _sums(known: pl.DataFrame) -> pl.DataFrame:
    """The memory of a board or node where that of one accelerator belongs."""
    sizes = known.filter(pl.col("quantity") == "memory_bytes")
    return pl.concat(
        [
            reading(
                sizes,
                "scope",
                pl.col("figure") * count,
                pl.format(f"the sum over {count} of {{}}, {{}}", as_text(pl.col("figure")), "source"),
                tolerance=0.01,
                priority=13,
            )
            for count in (2, 4, 8, 16)
        ]
    )


def _data_rates(figures: pl.DataFrame) -> pl.DataFrame:
    """A memory bandwidth in which the two transfers of a clock were counted once more."""
    rates = figures.filter(pl.col("quantity") == "memory_bandwidth_gigabytes_per_second")
    evidence = pl.lit("ratio of 2 alone: the double data rate counted twice")
    return reading(rates, "data_rate", pl.col("figure") * 2, evidence, tolerance=0.04, priority=13)


def _thousands(figures: pl.DataFrame) -> pl.DataFrame:
    measured = figures.filter(~pl.col("family").is_in(["count", "words"]))
    frames = [
        reading(
            measured,
            "thousandfold",
            pl.col("figure") * factor,
            pl.lit("a prefix too high or too low"),
            tolerance=0.03,
            priority=14,
        )
        for factor in (1e3, 1e-3, 1e6, 1e-6)
    ]
    sizes = measured.filter(pl.col("family") == "capacity")
    evidence = pl.lit("a number of bytes in a field of GiB")
    return pl.concat(
        [*frames, reading(sizes, "unit_of_field", pl.col("figure") * 1e9, evidence, tolerance=0.08, priority=14)]
    )


def _announced(known: pl.DataFrame, figures: pl.DataFrame) -> pl.DataFrame:
    """A figure that was announced before the product that the other is of."""
    shipped = figures.filter(pl.col("basis") != "announced").select(*GROUP)
    early = known.filter(pl.col("basis") == "announced").select(*KEY, "source", early="figure")
    pairs = shipped.join(early, on=KEY, how="inner")
    evidence = pl.format("announced: {}, {}", as_text(pl.col("early")), "source")
    return reading(pairs, "announced", pl.col("early"), evidence, tolerance=0.01, priority=15)


def _ranges(formed: pl.DataFrame) -> pl.DataFrame:
    """A fact gives a range that holds the figure: its middle, as wide as it is."""
    ranges = formed.filter(pl.col("value_low").is_not_null() & pl.col("value_high").is_not_null())
    middle = (pl.col("figure_low") + pl.col("figure_high")) / 2
    half_width = (pl.col("figure_high") - pl.col("figure_low")) / 2 / middle
    evidence = pl.format("within the range {}, {}", "printed", "source")
    return reading(ranges, "range", middle, evidence, tolerance=half_width + 1e-9, priority=16)
