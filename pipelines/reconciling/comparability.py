"""Which scores may be held against which: rounds, divisions, precisions and sizes that stand in the way.

How two results differ as a product of factors belongs in `comparing`.
"""

from __future__ import annotations

import polars as pl

from pipelines.modelling.sums import ordered_mean
from pipelines.parsing.names import canonical_benchmark
from pipelines.schemas.audits_mart import Comparability

SAME_REFERENCE_WITHIN = 0.001
"""Two rounds' references that need samples this close are one reference, rounded."""

SAME_TARGET_WITHIN = 1e-6

_GROUP = ["benchmark", "group"]
_OF_GROUP = ["round", "division", "scaling_mode", "accelerator", "precision", "result_count", "target_quality"]
_A, _B = "{}_a", "{}_b"


def compare_groups(results: pl.DataFrame, runs: pl.DataFrame, launches: pl.DataFrame) -> pl.DataFrame:
    """Return `mart.comparability`: every pair of groups of scored results of one benchmark.

    Args:
        results: `mart.results`.
        runs: `core.runs`, for the targets that logs state.
        launches: `core.launches`, for the precision of a result.
    """
    grouped = _grouped(results, runs, launches)
    groups = grouped.group_by(_GROUP, maintain_order=True).agg(
        pl.col("round", "division", "scaling_mode", "accelerator", "precision").first(),
        result_count=pl.len().cast(pl.Int64),
        target_quality=pl.when(pl.col("target_quality").n_unique() == 1).then(pl.col("target_quality").first()),
    )
    sides = [
        groups.select("benchmark", *(pl.col(name).alias(form.format(name)) for name in ("group", *_OF_GROUP)))
        for form in (_A, _B)
    ]
    pairs = sides[0].join(sides[1], on="benchmark", how="inner").filter(pl.col("group_a") <= pl.col("group_b"))
    compared = (
        pairs.join(_references(grouped), on=["benchmark", "round_a", "round_b"], how="left")
        .join(_same_logs(grouped), on=["benchmark", "group_a", "group_b"], how="left")
        .join(_at_common_sizes(grouped), on=["benchmark", "group_a", "group_b"], how="left")
        .with_columns(pl.col("same_log_count", "common_count").fill_null(0))
        .with_columns(verdict=_verdict())
        .with_columns(is_comparable=pl.col("verdict") == "comparable", explanation=_explanation())
    )
    return Comparability.cast(compared.select(Comparability.column_names()).sort(Comparability.primary_key()))


def _grouped(results: pl.DataFrame, runs: pl.DataFrame, launches: pl.DataFrame) -> pl.DataFrame:
    """Return the scored results with the group that each is in."""
    targets = runs.group_by("result_id").agg(
        target_quality=pl.when(pl.col("target_quality").n_unique() == 1).then(pl.col("target_quality").first())
    )
    unknown = pl.lit("unknown")
    return (
        results.filter(pl.col("score_minutes").is_not_null())
        .join(targets, on="result_id", how="left", maintain_order="left")
        .join(launches.select("result_id", "precision"), on="result_id", how="left", maintain_order="left")
        .with_columns(benchmark=_newest_names(results))
        .with_columns(
            group=pl.concat_str(
                "round",
                pl.col("division").fill_null(unknown),
                "scaling_mode",
                pl.col("accelerator").fill_null(unknown),
                pl.col("precision").fill_null(unknown),
                separator="/",
            )
        )
        .sort("benchmark", "group", "result_id")
    )


def _newest_names(results: pl.DataFrame) -> pl.Expr:
    names = {name: canonical_benchmark(name) for name in results["benchmark"].unique().to_list()}
    return pl.col("benchmark").replace_strict(names, default=pl.col("benchmark"), return_dtype=pl.String)


def _references(grouped: pl.DataFrame) -> pl.DataFrame:
    """Return how the references of two rounds stand to each other, over the batch sizes that results of both used."""
    known = (
        grouped.filter(pl.col("expected_samples").is_not_null() & pl.col("global_batch_size").is_not_null())
        .group_by("benchmark", "round", "global_batch_size")
        .agg(ordered_mean(pl.col("expected_samples")))
    )
    pairs = known.join(known, on=["benchmark", "global_batch_size"], how="inner", suffix="_b")
    return pairs.group_by("benchmark", round_a="round", round_b="round_b").agg(
        reference_ratio=ordered_mean(pl.col("expected_samples_b") / pl.col("expected_samples"))
    )


def _same_logs(grouped: pl.DataFrame) -> pl.DataFrame:
    """Return, for each pair of groups, the results that rest on the same logs and what became of their scores."""
    columns = ["benchmark", "group", "result_id", "first_result_id", "score_minutes"]
    pairs = grouped.select(columns).join(
        grouped.select(columns), on=["benchmark", "first_result_id"], how="inner", suffix="_b"
    )
    return (
        pairs.filter(pl.col("result_id") != pl.col("result_id_b"), pl.col("group") <= pl.col("group_b"))
        .group_by("benchmark", group_a="group", group_b="group_b")
        .agg(
            same_log_count=pl.col("result_id_b").n_unique().cast(pl.Int64),
            same_log_score_ratio=ordered_mean(pl.col("score_minutes_b") / pl.col("score_minutes")),
        )
    )


def _at_common_sizes(grouped: pl.DataFrame) -> pl.DataFrame:
    """Return the ratio of the best scores of two groups at the numbers of accelerators that both have."""
    best = (
        grouped.filter(pl.col("accelerator_count").is_not_null())
        .group_by("benchmark", "group", "accelerator_count")
        .agg(pl.col("score_minutes").min())
    )
    pairs = best.join(best, on=["benchmark", "accelerator_count"], how="inner", suffix="_b")
    return pairs.group_by("benchmark", group_a="group", group_b="group_b").agg(
        common_count=pl.len().cast(pl.Int64),
        score_ratio=ordered_mean((pl.col("score_minutes_b") / pl.col("score_minutes")).log()).exp(),
    )


def _differs(name: str) -> pl.Expr:
    return (pl.col(_A.format(name)) != pl.col(_B.format(name))).fill_null(False)


def _verdict() -> pl.Expr:
    target = (pl.col("target_quality_a") - pl.col("target_quality_b")).abs() > SAME_TARGET_WITHIN
    reference = (pl.col("reference_ratio") - 1).abs() > SAME_REFERENCE_WITHIN
    grave_first = {
        "other_mode": _differs("scaling_mode"),
        "other_division": _differs("division"),
        "other_target": target.fill_null(False),
        "other_reference": _differs("round") & reference.fill_null(False),
        "other_round": _differs("round"),
        "other_precision": _differs("precision"),
        "other_size": pl.col("common_count") == 0,
    }
    reasons = [pl.when(applies).then(pl.lit(name)) for name, applies in grave_first.items()]
    return pl.coalesce(*reasons, pl.lit("comparable"))


def _explanation() -> pl.Expr:
    percent = ((pl.col("same_log_score_ratio") - 1) * 100).round(2)
    rescored = pl.when(pl.col("same_log_count") > 0).then(
        pl.format(" {} results rest on the same logs in both: their scores differ by {} %.", "same_log_count", percent)
    )
    reference = ((pl.col("reference_ratio") - 1).abs() * 100).round(2)
    more_or_fewer = pl.when(pl.col("reference_ratio") > 1).then(pl.lit("more")).otherwise(pl.lit("fewer"))
    sizes = pl.when(pl.col("common_count") == 1).then(pl.lit("size")).otherwise(pl.lit("sizes"))
    precision_unknown = pl.when(pl.col("precision_a").is_null() | pl.col("precision_b").is_null()).then(
        pl.lit(" The precision is not known of both.")
    )
    sentences = {
        "other_mode": pl.lit("Strong scaling times one model, weak scaling many at once."),
        "other_division": pl.lit("Divisions have other rules: an open result may train another model in another way."),
        "other_target": pl.format(
            "The logs train to other targets, {} and {}.", "target_quality_a", "target_quality_b"
        ),
        "other_reference": pl.format(
            "The reference of {} needs {} % {} samples than that of {}, so scores are on another scale.",
            *("round_b", reference, more_or_fewer, "round_a"),
        ),
        "other_round": pl.lit(
            "Rounds differ in rules and software: a ratio of scores is progress of both, not of the part alone."
        ),
        "other_precision": pl.format(
            "One trains in {}, the other in {}: a ratio of scores is not one of parts.", "precision_a", "precision_b"
        ),
        "other_size": pl.lit("No number of accelerators has results of both, and times do not scale in proportion."),
        "comparable": pl.format(
            "Same round, division and mode, and results of both at {} {}.{}",
            *("common_count", sizes, precision_unknown.fill_null("")),
        ),
    }
    chosen = [pl.when(pl.col("verdict") == name).then(sentence) for name, sentence in sentences.items()]
    return pl.concat_str(pl.coalesce(*chosen), rescored, ignore_nulls=True)
