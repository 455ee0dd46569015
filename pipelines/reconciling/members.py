"""What is known of each language-model result before anything is predicted, and which results may enter a fit.

One row per result: its parallelism, its measured step, the parts of its time, the network and racks of its system.
A result that cannot be modelled keeps its row, with the first reason that applies.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from pipelines.modelling import peaks, workloads
from pipelines.modelling.connectivity import active_accelerators
from pipelines.modelling.parallelism import experts_over, fills_world, layout, replica_accelerators, spreads_experts
from pipelines.modelling.step_time import pipeline_slots
from pipelines.modelling.time_to_train import converging_samples

ExpectedProgress = Callable[[pl.DataFrame], pl.DataFrame]
"""Adds `expected_samples`, what the round's reference needs, to a frame with round, benchmark and batch."""

SYSTEM_KEYS = ["round", "submitter_folder", "system"]
_LAUNCHED = [
    "tensor_parallel",
    "pipeline_parallel",
    "virtual_pipeline",
    "context_parallel",
    "expert_parallel",
    "data_parallel",
    "micro_batch",
    "precision",
    "precision_source",
    "batch_check",
]
_DESCRIBED = {
    "submitter_canonical": "submitter_canonical",
    "framework": "framework",
    "accelerators_per_node": "accelerators_per_node",
    "slots_per_rack": "slots_per_rack",
    "racks_stated": "racks_stated",
    "nic_gigabytes_per_second_per_accelerator": "nic_available_gigabytes_per_second",
}
_REPORTED = [
    "submitter",
    "system_name",
    "division",
    "accelerator",
    "accelerator_count",
    "score_minutes",
    "raw_minutes",
    "rcp_factor",
    "global_batch_size",
    "samples_to_converge",
    "step_median_seconds",
    "first_result_id",
]
_WIDTHS = {"fp4": 1, "fp8": 1, "bf16": 2, "fp16": 2, "tf32": 4, "fp32": 4}
"""Bytes of a parameter as it is gathered: low-precision runs gather in 8 bits."""

_POSITIVE = (
    "accelerator_count",
    "accelerators_per_node",
    "racks_stated",
    "slots_per_rack",
    "nic_available_gigabytes_per_second",
    "score_minutes",
    "raw_minutes",
    "global_batch_size",
    "samples_to_converge",
    "step_median_seconds",
    "step_mean_seconds",
    "step_count",
    "eval_interval_samples",
)
"""Facts that say nothing where they are not above zero."""

PRECISION_NOT_STATED = "the launch configuration does not state the precision"


def language_model_results(
    results: pl.DataFrame,
    runs_core: pl.DataFrame,
    runs_mart: pl.DataFrame,
    launches: pl.DataFrame,
    systems: pl.DataFrame,
    accelerators: pl.DataFrame,
    expected_progress: ExpectedProgress,
) -> pl.DataFrame:
    """Return one row per strong result of a language-model benchmark, sorted by `result_id`.

    `not_modelled_reason` says why a result takes part in nothing; `is_member` marks those that a fit uses: modelled,
    and published for the first time. `is_pooled` marks also those whose precision is only assumed, which enter no
    family.
    """
    rows = (
        _described(results, launches, systems, accelerators)
        .join(_middle_runs(runs_core, runs_mart), on="result_id", how="left")
        .join(_over_runs(runs_core, runs_mart), on="result_id", how="left")
        .join(workloads.frame(), on="benchmark", how="left")
        .join(workloads.without_prediction(), on="benchmark", how="left")
        .with_columns(pl.when(pl.col(name) > 0).then(pl.col(name)).alias(name) for name in _POSITIVE)
        .with_columns(context_parallel=_context_parallel())
    )
    modelled = (
        _with_progress(rows, expected_progress)
        .with_columns(
            software_round=pl.col("first_result_id").str.extract(r"^([^/]+)/"),
            layout=layout(),
            is_mixture=pl.col("moe_layers") > 0,
            replica_accelerator_count=replica_accelerators(),
            pipeline_slots=pipeline_slots(),
            step_seconds=pl.coalesce("step_median_seconds", _step_from_throughput()),
            step_basis=pl.when(pl.col("step_median_seconds").is_not_null())
            .then(pl.lit("logged"))
            .when(_step_from_throughput().is_not_null())
            .then(pl.lit("throughput")),
            parameter_bytes=pl.col("precision").replace_strict(_WIDTHS, default=None, return_dtype=pl.Int64),
            domain_accelerators=active_accelerators(),
        )
        .with_columns(remainder_seconds=_remainder_seconds())
        .join(peaks.by_precision(accelerators), on=["accelerator", "precision"], how="left")
        .with_columns(not_modelled_reason=_not_modelled_reason())
    )
    reason = pl.col("not_modelled_reason")
    is_first = pl.col("first_result_id") == pl.col("result_id")
    is_assumed = (reason == PRECISION_NOT_STATED) & pl.col("precision").is_not_null()
    return modelled.with_columns(
        family=pl.when(reason.is_null()).then(_family()),
        member=pl.col("first_result_id"),
        is_member=reason.is_null() & is_first,
        is_pooled=(reason.is_null() | is_assumed) & is_first & pl.col("peak_tflops").is_not_null(),
    ).sort("result_id")


def _described(
    results: pl.DataFrame, launches: pl.DataFrame, systems: pl.DataFrame, accelerators: pl.DataFrame
) -> pl.DataFrame:
    """Return the results with their launch, their system and their part."""
    is_language_model = pl.col("benchmark").is_in(workloads.LANGUAGE_MODEL_BENCHMARKS)
    described = systems.select(*SYSTEM_KEYS, *(pl.col(old).alias(new) for old, new in _DESCRIBED.items()))
    parts = accelerators.select(
        "accelerator",
        "memory_bytes",
        part_domain_accelerators="scale_up_domain_accelerators",
        scale_up_gigabytes_per_second="scale_up_gigabytes_per_second_per_direction",
    )
    return (
        results.filter(is_language_model & (pl.col("scaling_mode") == "strong"))
        .select("result_id", "benchmark", *SYSTEM_KEYS, *_REPORTED)
        .join(described, on=SYSTEM_KEYS, how="left")
        .join(launches.select("result_id", *_LAUNCHED), on="result_id", how="left")
        .join(parts, on="accelerator", how="left")
    )


def _counted_runs(runs_core: pl.DataFrame, runs_mart: pl.DataFrame) -> pl.DataFrame:
    judged = runs_mart.filter("is_counted").select("round", "source_path", "raw_minutes", "rank")
    return judged.join(runs_core, on=["round", "source_path"])


def _middle_runs(runs_core: pl.DataFrame, runs_mart: pl.DataFrame) -> pl.DataFrame:
    """Return the parts of the run whose clock time is the median of each result; of an even number, the faster."""
    counted = _counted_runs(runs_core, runs_mart)
    is_middle = pl.col("rank") == (pl.len().over("result_id").cast(pl.Int64) + 1) // 2
    return counted.filter(is_middle).select(
        "result_id",
        "step_count",
        "step_mean_seconds",
        "eval_count",
        "eval_total_seconds",
        "first_eval_samples",
        "eval_interval_samples",
        middle_run_minutes="raw_minutes",
        init_seconds=(pl.col("init_stop_ms") - pl.col("init_start_ms")) / 1000,
    )


def _over_runs(runs_core: pl.DataFrame, runs_mart: pl.DataFrame) -> pl.DataFrame:
    """Return medians over all counted runs of each result: of their evaluations' times, of their throughput."""
    counted = _counted_runs(runs_core, runs_mart)
    seconds = pl.col("eval_seconds").str.json_decode(pl.List(pl.Float64))
    evaluations = (
        counted.select("result_id", eval_seconds=seconds)
        .explode("eval_seconds")
        .group_by("result_id")
        .agg(pl.col("eval_seconds").median())
    )
    summaries = counted.group_by("result_id").agg(
        throughput=pl.col("throughput_median").median(),
        throughput_unit=pl.col("throughput_unit").drop_nulls().first(),
        samples_unit=pl.col("samples_unit").drop_nulls().first(),
    )
    return summaries.join(evaluations, on="result_id", how="left")


def _context_parallel() -> pl.Expr:
    """Return context parallelism; of scripts that know none, what the accelerators leave room for, which is 1."""
    others = pl.col("tensor_parallel") * pl.col("pipeline_parallel") * pl.col("data_parallel")
    left = pl.when(pl.col("accelerator_count") % others == 0).then(pl.col("accelerator_count") // others)
    return pl.coalesce("context_parallel", left)


def _with_progress(rows: pl.DataFrame, expected_progress: ExpectedProgress) -> pl.DataFrame:
    """Add what the reference and the run needed, in samples whatever the benchmark counts.

    A score that is scaled cannot be predicted without the reference.
    """
    can_be_scored = pl.col("expected_samples").is_not_null() | (pl.col("rcp_factor") == 1)
    return (
        expected_progress(rows)
        .with_columns(pl.col("expected_samples", "samples_to_converge") * samples_per_unit())
        .with_columns(converging_samples=pl.when(can_be_scored).then(converging_samples()))
    )


def samples_per_unit() -> pl.Expr:
    """Return the samples in one unit of a benchmark's progress; null for epochs, whose length varies."""
    unit = pl.col("samples_unit").fill_null("samples")
    return (
        pl.when(unit == "samples")
        .then(1.0)
        .when(unit == "tokens")
        .then(1 / pl.col("sequence_length"))
        .when(unit == "steps")
        .then(pl.col("global_batch_size").cast(pl.Float64))
    )


def _step_from_throughput() -> pl.Expr:
    """Return the time of a step as the logged throughput has it; null where its unit is not known."""
    tokens = pl.when(pl.col("throughput_unit") == "tokens/s").then(pl.col("sequence_length"))
    samples = pl.when(pl.col("throughput_unit") == "samples/s").then(1)
    seconds = pl.col("global_batch_size") * pl.coalesce(tokens, samples) / pl.col("throughput")
    return pl.when(pl.col("throughput") > 0).then(seconds)


def _remainder_seconds() -> pl.Expr:
    """Return what of the middle run is neither step nor evaluation."""
    mean = pl.coalesce("step_mean_seconds", "step_seconds")
    return pl.col("middle_run_minutes") * 60 - pl.col("step_count") * mean - pl.col("eval_total_seconds")


def _family() -> pl.Expr:
    """Name a family; the part without the words that say what of it is counted, such as `(per GPU)`.

    Mixtures of experts of two submitters differ by more than their sizes do, so each submitter is one of its own.
    """
    part = pl.col("accelerator").str.replace(r"\s*\(.*\)$", "")
    submitter = pl.coalesce("submitter_canonical", "submitter", "submitter_folder")
    return pl.format(
        "{}/{}/{}/{}/{}{}",
        "benchmark",
        part,
        "precision",
        "software_round",
        "layout",
        pl.when("is_mixture").then(pl.format("/{}", submitter)).otherwise(pl.lit("")),
    )


def _not_modelled_reason() -> pl.Expr:
    """Return the first reason why a result is neither fitted nor predicted, null where there is none."""
    stated_experts = pl.when(experts_over() > 1).then(spreads_experts()).otherwise(pl.lit(value=True))
    reasons = [
        (pl.col("division").fill_null("") != "closed", pl.lit("not in the closed division: other rules, other work")),
        (pl.col("not_validated_reason").is_not_null(), pl.col("not_validated_reason")),
        (pl.col("score_minutes").is_null(), pl.lit("the result has no score")),
        (pl.col("accelerator").is_null(), pl.lit("the description names no single known accelerator")),
        (
            replica_accelerators().is_null(),
            pl.lit("the launch configuration does not state the parallelism"),
        ),
        (
            ~fills_world().fill_null(value=False),
            pl.lit("the accelerators are not the product of the stated parallelisms"),
        ),
        (
            ~stated_experts.fill_null(value=False),
            pl.lit("the stated expert parallelism does not divide a pipeline stage"),
        ),
        (
            pl.col("batch_check") == "contradicted",
            pl.lit("the launch configuration contradicts the batch in the log"),
        ),
        (
            pl.col("micro_batch").is_null() | pl.col("global_batch_size").is_null(),
            pl.lit("the micro-batch or the batch is not known"),
        ),
        (pl.col("step_seconds").is_null(), pl.lit("the logs hold no step times")),
        (
            pl.col("precision").is_null() | (pl.col("precision_source") == "assumption"),
            pl.lit(PRECISION_NOT_STATED),
        ),
    ]
    return pl.coalesce(pl.when(applies).then(reason) for applies, reason in reasons)
