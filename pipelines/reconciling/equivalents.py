"""How many of another accelerator would give a result's time: `mart.equivalents`, always as a range.

The model of the other part's own runs says one number, a power law through two of its scores another. Parts without a
run of the benchmark are told by `modelling.transfer`, and say so.
"""

from __future__ import annotations

import polars as pl

from pipelines.modelling import calibration, flops, memory, peaks, scaling, workloads
from pipelines.modelling.calibration import PARAMETERS
from pipelines.modelling.parallelism import layout
from pipelines.modelling.racks import racks_by_replica
from pipelines.modelling.sums import ordered_mean
from pipelines.reconciling.members import ExpectedProgress
from pipelines.reconciling.sizing import least_replicas
from pipelines.reconciling.transfers import prior_by_pool
from pipelines.schemas.modelling_mart import Equivalents

NODES_PER_RACK = 4
"""Nodes that are taken to share a rack where no rack product says otherwise."""

PRIOR_PRECISIONS = ("fp8", "bf16")
"""Precisions that a part without a run is told at: the first of these that it has a peak for."""

USUAL_NODE = 8

_REPLICA = ["tensor_parallel", "context_parallel", "pipeline_parallel", "virtual_pipeline", "expert_parallel"]
_OF_FAMILY = [
    "accelerator",
    "precision",
    "layout",
    "replica_accelerator_count",
    "micro_batch",
    "sequence_length",
    *_REPLICA,
    "slots_per_rack",
    "accelerators_per_node",
]
_OF_TARGET = [
    "result_id",
    "benchmark",
    "round",
    "score_minutes",
    "accelerator_count",
    "samples_unit",
    "samples_to_converge",
    "step_count",
    "eval_count",
    "first_eval_samples",
    "eval_interval_samples",
]


def equivalents(
    known: pl.DataFrame, fits: pl.DataFrame, accelerators: pl.DataFrame, expected_progress: ExpectedProgress
) -> pl.DataFrame:
    """Return `mart.equivalents`.

    Args:
        known: `members.language_model_results`.
        fits: `calibration.fit` of its members.
        accelerators: `mart.accelerators`.
        expected_progress: as in `runs.reconcile`.
    """
    targets = _targets(known)
    told = pl.concat(
        [
            _by_family(known, fits, targets, expected_progress),
            _by_prior(known, fits, targets, accelerators, expected_progress),
        ],
        how="diagonal_relaxed",
    )
    counts = ["equivalent_accelerator_count", "held_out_accelerator_count", "power_law_accelerator_count"]
    ranged = (
        told.with_columns(
            low_accelerator_count=pl.min_horizontal(*counts, "prior_low_count").round().cast(pl.Int64),
            high_accelerator_count=pl.max_horizontal(*counts, "prior_high_count").round().cast(pl.Int64),
            racks=racks_by_replica(pl.col("equivalent_data_parallel")),
        )
        .with_columns(
            low_racks=_racks_of("low_accelerator_count"),
            high_racks=_racks_of("high_accelerator_count"),
            accelerators_per_rack="slots_per_rack",
        )
        .with_columns(no_equivalent_reason=_no_equivalent_reason())
        .with_columns(explanation=_explanation())
    )
    return Equivalents.cast(ranged.select(Equivalents.column_names()).sort("result_id", "family"))


def _targets(known: pl.DataFrame) -> pl.DataFrame:
    """Return the first-published scored results whose need of samples is known, with the batches of their round."""
    batch = pl.col("global_batch_size")
    is_first = pl.col("first_result_id") == pl.col("result_id")
    is_closed = pl.col("division") == "closed"
    excess = pl.col("converging_samples") / pl.col("expected_samples")
    return known.with_columns(
        batch_least=batch.min().over("round", "benchmark"),
        batch_most=batch.max().over("round", "benchmark"),
        excess=excess,
        own_family="family",
    ).filter(is_first & is_closed & pl.col("score_minutes").is_not_null() & excess.is_not_null()).select(
        *_OF_TARGET, "own_family", "batch_least", "batch_most", "excess"
    )  # fmt: skip


def _by_family(
    known: pl.DataFrame, fits: pl.DataFrame, targets: pl.DataFrame, expected_progress: ExpectedProgress
) -> pl.DataFrame:
    """Return each target told by every other family of its benchmark that has a fit."""
    members = known.filter("is_member")
    is_largest = pl.col("accelerator_count") == pl.col("accelerator_count").max().over("family")
    families = (
        members.group_by("benchmark", "family")
        .agg(pl.col(*_OF_FAMILY).first())
        .join(fits.drop_nulls("micro_batch_seconds"), on="family")
        .pipe(_with_rack)
    )
    without_largest = calibration.fit(members.filter(~is_largest).lazy()).collect()
    pairs = _pairs(targets, families).filter(pl.col("family") != pl.col("own_family").fill_null(""))
    by_all = _sized(pairs, expected_progress, "equivalent")
    by_smaller = _sized(
        pairs.drop(PARAMETERS).join(without_largest.select("family", *PARAMETERS), on="family"),
        expected_progress,
        "held_out",
    )
    return (
        pairs.join(by_all, on="target", how="left")
        .join(by_smaller.select("target", "held_out_accelerator_count"), on="target", how="left")
        .join(by_power_law(members, pairs), on="target", how="left")
        .with_columns(
            basis=pl.lit("family"),
            error_percent=pl.col("leave_one_out_mape_percent"),
            extrapolation_ratio=pl.col("equivalent_accelerator_count") / pl.col("accelerator_count_most"),
            prior_low_count=pl.lit(None, dtype=pl.Int64),
            prior_high_count=pl.lit(None, dtype=pl.Int64),
        )
    )


def _by_prior(
    known: pl.DataFrame,
    fits: pl.DataFrame,
    targets: pl.DataFrame,
    accelerators: pl.DataFrame,
    expected_progress: ExpectedProgress,
) -> pl.DataFrame:
    """Return the fastest target of each round and benchmark told for every part that no run of the benchmark is of.

    The replica is the smallest that the benchmark's own runs used and that fits in the part's memory and domain.
    Evaluations and the rest are the mean of the families; the range is the mean error of such guesses in the step.
    """
    fastest = targets.filter(
        pl.col("score_minutes") == pl.col("score_minutes").min().over("round", "benchmark")
    ).unique(["round", "benchmark"], keep="first", maintain_order=True)
    rest = (
        fits.join(known.select("family", "benchmark").drop_nulls().unique(), on="family")
        .group_by("benchmark")
        .agg(ordered_mean(pl.col("eval_base_seconds", "eval_per_replica_seconds", "other_seconds")))
    )
    prior = prior_by_pool(known).drop_nulls(["efficiency", "mape_percent"])
    replicas = _fitting_replicas(known, accelerators)
    families = (
        replicas.join(prior, on="benchmark")
        .join(rest, on="benchmark")
        .join(workloads.frame(), on="benchmark")
        .with_columns(
            micro_batch_seconds=flops.micro_batch_seconds_at_peak() / pl.col("efficiency"),
            even_slots=pl.lit(None, dtype=pl.Float64),
            even_step_seconds=pl.lit(None, dtype=pl.Float64),
            family=pl.format("prior/{}/{}/{}", "accelerator", "precision", "layout"),
            error_percent=pl.col("mape_percent"),
        )
        .pipe(_with_rack)
    )
    pairs = _pairs(fastest, families)
    share = pl.col("error_percent") / 100
    by_error = {
        name: _sized(
            pairs.with_columns(pl.col("micro_batch_seconds", "fixed_seconds") * factor), expected_progress, name
        )
        for name, factor in (("equivalent", pl.lit(1.0)), ("prior_low", 1 - share), ("prior_high", 1 + share))
    }
    return (
        pairs.join(by_error["equivalent"], on="target", how="left")
        .join(by_error["prior_low"].select("target", "prior_low_accelerator_count"), on="target", how="left")
        .join(by_error["prior_high"].select("target", "prior_high_accelerator_count"), on="target", how="left")
        .with_columns(
            basis=pl.lit("physical_prior"),
            prior_low_count=pl.col("prior_low_accelerator_count"),
            prior_high_count=pl.col("prior_high_accelerator_count"),
            held_out_accelerator_count=pl.lit(None, dtype=pl.Int64),
            power_law_accelerator_count=pl.lit(None, dtype=pl.Float64),
            power_law_exponent=pl.lit(None, dtype=pl.Float64),
            power_law_results=pl.lit(None, dtype=pl.String),
            extrapolation_ratio=pl.lit(None, dtype=pl.Float64),
        )
    )


def _fitting_replicas(known: pl.DataFrame, accelerators: pl.DataFrame) -> pl.DataFrame:
    """Return, for each benchmark and part without a run of it, the smallest published replica that fits the part."""
    rates = peaks.by_precision(accelerators).filter(pl.col("precision").is_in(PRIOR_PRECISIONS))
    order = pl.col("precision").replace_strict({name: place for place, name in enumerate(PRIOR_PRECISIONS)})
    parts = (
        rates.sort("accelerator", order)
        .unique("accelerator", keep="first", maintain_order=True)
        .join(
            accelerators.select("accelerator", "memory_bytes", domain="scale_up_domain_accelerators"),
            on="accelerator",
        )
    )
    used = known.filter("is_pooled").select("benchmark", *_REPLICA, "micro_batch", "global_batch_size").unique()
    have_run = known.filter(pl.col("accelerator").is_not_null()).select("benchmark", "accelerator").unique()
    candidates = (
        used.join(parts, how="cross")
        .join(have_run, on=["benchmark", "accelerator"], how="anti")
        .join(workloads.frame(), on="benchmark")
        .with_columns(
            layout=layout(),
            data_parallel=pl.lit(1),
            replica_accelerator_count=pl.col("tensor_parallel")
            * pl.col("context_parallel")
            * pl.col("pipeline_parallel"),
            accelerators_per_node=pl.min_horizontal(pl.col("domain").fill_null(USUAL_NODE), USUAL_NODE),
            slots_per_rack=pl.when(pl.col("domain") > 2 * USUAL_NODE).then(pl.min_horizontal("domain", 72)),
        )
        .with_columns(needed_bytes=memory.training_bytes())
    )
    fits = (pl.col("needed_bytes") <= pl.col("memory_bytes")) & (
        pl.col("tensor_parallel") <= pl.col("domain").fill_null(USUAL_NODE)
    )
    return (
        candidates.filter(fits)
        .sort("benchmark", "accelerator", "replica_accelerator_count", "layout", "global_batch_size")
        .unique(["benchmark", "accelerator"], keep="first", maintain_order=True)
        .select("benchmark", "peak_tflops", *_OF_FAMILY)
        .drop("sequence_length")
    )


def _with_rack(families: pl.DataFrame) -> pl.DataFrame:
    """Add the accelerators of one rack: a product's slots, else the nodes that are taken to share one."""
    has_product = pl.col("slots_per_rack").is_not_null()
    return families.with_columns(
        slots_per_rack=pl.coalesce("slots_per_rack", NODES_PER_RACK * pl.col("accelerators_per_node")),
        rack_basis=pl.when(has_product).then(pl.lit("rack_product")).otherwise(pl.lit("assumption")),
    )


def _pairs(targets: pl.DataFrame, families: pl.DataFrame) -> pl.DataFrame:
    """Return every target beside every family of its benchmark."""
    return targets.join(families, on="benchmark", suffix="_of_family").with_columns(
        target=pl.format("{} {}", "result_id", "family"), target_minutes=pl.col("score_minutes")
    )


def _sized(pairs: pl.DataFrame, expected_progress: ExpectedProgress, name: str) -> pl.DataFrame:
    """Return `target` and the replicas, accelerators, batch and minutes of the least that meets it."""
    least = least_replicas(pairs, expected_progress)
    return least.join(pairs.select("target", "replica_accelerator_count"), on="target").select(
        "target",
        pl.col("data_parallel").alias(f"{name}_data_parallel"),
        (pl.col("data_parallel") * pl.col("replica_accelerator_count")).alias(f"{name}_accelerator_count"),
        pl.col("global_batch_size").alias(f"{name}_global_batch_size"),
        predicted_minutes="predicted_minutes",
    )


def by_power_law(members: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return each target by the law through the two of the family's scores that enclose it, else the nearest two.

    Args:
        members: results of the families, `family, accelerator_count, score_minutes, result_id`.
        pairs: `target, family, target_minutes`.

    Returns:
        `target, power_law_accelerator_count, power_law_exponent, power_law_results`; no row for a family of one size.
    """
    best = (
        members.sort("family", "accelerator_count", "score_minutes")
        .unique(["family", "accelerator_count"], keep="first", maintain_order=True)
        .select("family", "accelerator_count", "score_minutes", "result_id")
    )
    steps = best.with_columns(
        pl.col("accelerator_count", "score_minutes", "result_id").shift(1).over("family").name.suffix("_base")
    ).drop_nulls()
    law = scaling.accelerators_by_power_law(pl.col("target_minutes"))
    distance = (
        pl.when(pl.col("target_minutes") > pl.col("score_minutes_base"))
        .then((pl.col("target_minutes") / pl.col("score_minutes_base")).log())
        .when(pl.col("target_minutes") < pl.col("score_minutes"))
        .then((pl.col("score_minutes") / pl.col("target_minutes")).log())
        .otherwise(0.0)
    )
    return (
        pairs.select("target", "family", "target_minutes")
        .join(steps, on="family")
        .filter(scaling.power_law_exponent() > 0)
        .with_columns(distance=distance)
        .sort("target", "distance", "accelerator_count")
        .unique("target", keep="first", maintain_order=True)
        .select(
            "target",
            power_law_accelerator_count=law,
            power_law_exponent=scaling.power_law_exponent(),
            power_law_results=pl.format("{}, {}", "result_id_base", "result_id"),
        )
    )


def _racks_of(column: str) -> pl.Expr:
    """Return the racks of whole replicas that hold so many accelerators."""
    replica = pl.col("replica_accelerator_count")
    return racks_by_replica((pl.col(column) + replica - 1) // replica)


def _no_equivalent_reason() -> pl.Expr:
    return pl.when(pl.col("equivalent_accelerator_count").is_null()).then(
        pl.when(pl.col("eval_per_replica_seconds").is_null() | pl.col("other_seconds").is_null())
        .then(pl.lit("too few logs of the family time their evaluations"))
        .otherwise(pl.lit("no batch that the round's results used is fast enough"))
    )


def _explanation() -> pl.Expr:
    none = pl.format("None: {}.", "no_equivalent_reason")
    told = pl.format(
        "{} accelerators, {} racks of {}, for {} min",
        _span("low_accelerator_count", "high_accelerator_count"),
        _span("low_racks", "high_racks"),
        "slots_per_rack",
        pl.col("score_minutes").round(2),
    )
    prior = pl.format(
        "; an extrapolation: no run of the part is here, and guesses from other parts miss a step by {} % on average.",
        pl.col("error_percent").round(1),
    )
    family = pl.format(
        "; {} by the model{}; no such run exists, and the benchmark's own noise is some 5 % of a time.",
        "equivalent_accelerator_count",
        pl.format(", {} by a power law", pl.col("power_law_accelerator_count").round(0).cast(pl.Int64)).fill_null(""),
    )
    return pl.coalesce(none, told + pl.when(pl.col("basis") == "family").then(family).otherwise(prior))


def _span(low: str, high: str) -> pl.Expr:
    return pl.when(pl.col(low) == pl.col(high)).then(pl.format("{}", low)).otherwise(pl.format("{} to {}", low, high))
