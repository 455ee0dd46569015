"""What is known of each language-model result before anything is predicted, and which results may enter a fit.

One row per result: its parallelism, its measured step, the parts of its time, the network and racks of its system.
A result that cannot be modelled keeps its row, with the first reason that applies.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from pipelines.modelling import peaks, workloads
from pipelines.modelling.parallelism import fills_world, layout, replica_accelerators
from pipelines.modelling.step_time import pipeline_slots
from pipelines.modelling.time_to_train import converging_samples

ExpectedProgress = Callable[[pl.DataFrame], pl.DataFrame]
"""Adds `expected_samples`, what the round's reference needs, to a frame with round, benchmark and batch."""

_SYSTEM_KEYS = ["round", "submitter_folder", "system"]
_LAUNCHED = [
    "tensor_parallel",
    "pipeline_parallel",
    "virtual_pipeline",
    "context_parallel",
    "data_parallel",
    "micro_batch",
    "precision",
    "precision_source",
    "batch_check",
]
_DESCRIBED = {
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


def language_model_results(
    results: pl.DataFrame,
    runs_core: pl.DataFrame,
    runs_mart: pl.DataFrame,
    launches: pl.DataFrame,
    systems: pl.DataFrame,
    expected_progress: ExpectedProgress,
) -> pl.DataFrame:
    """Return one row per strong result of a language-model benchmark, sorted by `result_id`.

    `not_modelled_reason` says why a result takes part in nothing; `is_member` marks those that a fit uses: modelled,
    and published for the first time.
    """
    is_language_model = pl.col("benchmark").is_in(workloads.LANGUAGE_MODEL_BENCHMARKS)
    described = systems.select(*_SYSTEM_KEYS, *(pl.col(old).alias(new) for old, new in _DESCRIBED.items()))
    rows = (
        results.filter(is_language_model & (pl.col("scaling_mode") == "strong"))
        .select("result_id", "benchmark", *_SYSTEM_KEYS, *_REPORTED)
        .join(described, on=_SYSTEM_KEYS, how="left")
        .join(launches.select("result_id", *_LAUNCHED), on="result_id", how="left")
        .join(_middle_runs(runs_core, runs_mart), on="result_id", how="left")
        .join(_evaluations(runs_core, runs_mart), on="result_id", how="left")
        .join(workloads.frame().drop("not_validated_reason"), on="benchmark", how="left")
        .join(workloads.without_prediction(), on="benchmark", how="left")
    )
    can_be_scored = pl.col("expected_samples").is_not_null() | (pl.col("rcp_factor") == 1)
    modelled = (
        expected_progress(rows)
        .with_columns(
            software_round=pl.col("first_result_id").str.extract(r"^([^/]+)/"),
            layout=layout(),
            replica_accelerator_count=replica_accelerators(),
            pipeline_slots=pipeline_slots(),
            step_seconds=pl.col("step_median_seconds"),
            parameter_bytes=pl.col("precision").replace_strict(_WIDTHS, default=None, return_dtype=pl.Int64),
            domain_accelerators=pl.coalesce("slots_per_rack", "accelerators_per_node"),
            converging_samples=pl.when(can_be_scored).then(converging_samples()),
        )
        .join(peaks.frame(), on=["accelerator", "precision"], how="left")
        .with_columns(not_modelled_reason=_not_modelled_reason())
    )
    return modelled.with_columns(
        family=pl.when(pl.col("not_modelled_reason").is_null()).then(_family()),
        member=pl.col("first_result_id"),
        is_member=pl.col("not_modelled_reason").is_null() & (pl.col("first_result_id") == pl.col("result_id")),
    ).sort("result_id")


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
        "eval_count",
        "first_eval_samples",
        "eval_interval_samples",
        middle_run_minutes="raw_minutes",
        remainder_seconds=pl.col("raw_minutes") * 60
        - pl.col("step_count") * pl.col("step_mean_seconds")
        - pl.col("eval_total_seconds"),
    )


def _evaluations(runs_core: pl.DataFrame, runs_mart: pl.DataFrame) -> pl.DataFrame:
    """Return the median time of the evaluations of all counted runs of each result."""
    seconds = pl.col("eval_seconds").str.json_decode(pl.List(pl.Float64))
    return (
        _counted_runs(runs_core, runs_mart)
        .select("result_id", eval_seconds=seconds)
        .explode("eval_seconds")
        .group_by("result_id")
        .agg(pl.col("eval_seconds").median())
    )


def _family() -> pl.Expr:
    """Name a family; the part without the words that say what of it is counted, such as `(per GPU)`."""
    part = pl.col("accelerator").str.replace(r"\s*\(.*\)$", "")
    return pl.format("{}/{}/{}/{}/{}", "benchmark", part, "precision", "software_round", "layout")


def _not_modelled_reason() -> pl.Expr:
    """Return the first reason why a result is neither fitted nor predicted, null where there is none."""
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
            pl.col("batch_check") == "contradicted",
            pl.lit("the launch configuration contradicts the batch in the log"),
        ),
        (
            pl.col("micro_batch").is_null() | pl.col("global_batch_size").is_null(),
            pl.lit("the micro-batch or the batch is not known"),
        ),
        (
            pl.col("precision").is_null() | (pl.col("precision_source") == "assumption"),
            pl.lit("the launch configuration does not state the precision"),
        ),
        (pl.col("step_seconds").is_null(), pl.lit("the logs hold no step times")),
    ]
    return pl.coalesce(pl.when(applies).then(reason) for applies, reason in reasons)
