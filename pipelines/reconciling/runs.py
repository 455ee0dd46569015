"""Each language-model result held against a model that did not see it: time, racks, network.

The model is fitted in `modelling.calibration`; which results enter a fit is decided in `members`; how a comparison is
put into words is in `wording`.
"""

from __future__ import annotations

import polars as pl

from pipelines.modelling import bandwidth, calibration, flops, intervals, peaks, workloads
from pipelines.modelling.racks import racks_by_division, racks_by_replica
from pipelines.modelling.sums import ordered_mean
from pipelines.modelling.time_to_train import predict
from pipelines.reconciling.members import ExpectedProgress, language_model_results
from pipelines.reconciling.sizing import least_replicas
from pipelines.reconciling.transfers import transferred
from pipelines.reconciling.wording import explanation, interval_basis, no_estimate_reason, verdict
from pipelines.schemas.mart import Calibrations, ReconciledRuns

CONVENTION: flops.Convention = "causal"
"""What the efficiencies in these tables count as work."""


def reconcile(
    results: pl.DataFrame,
    runs_core: pl.DataFrame,
    runs_mart: pl.DataFrame,
    launches: pl.DataFrame,
    systems: pl.DataFrame,
    accelerators: pl.DataFrame,
    expected_progress: ExpectedProgress,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return `mart.calibrations` and `mart.reconciled_runs`.

    Args:
        results: `mart.results`; the strong results of language-model benchmarks get a row each.
        runs_core: `core.runs` of the same rounds.
        runs_mart: `mart.runs` of the same rounds: which runs count, and where the same log was published first.
        launches: `core.launches`.
        systems: `core.systems`.
        accelerators: `mart.accelerators`.
        expected_progress: adds `expected_samples` to a frame with `round, benchmark, global_batch_size`, as
            `scoring.rcp.expected_progress` does.
    """
    known = language_model_results(results, runs_core, runs_mart, launches, systems, accelerators, expected_progress)
    return reconcile_known(known, expected_progress)


def reconcile_known(known: pl.DataFrame, expected_progress: ExpectedProgress) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the same from `members.language_model_results`."""
    members = known.filter("is_member")
    fits = calibration.fit(members.lazy()).collect()
    reconciled = (
        _with_predictions(known, members)
        .pipe(_with_family, fits)
        .pipe(_with_intervals, members)
        .join(transferred(known), on="result_id", how="left")
        .pipe(_with_racks, expected_progress)
        .pipe(_with_network, fits)
        .with_columns(
            achieved_tflops=flops.achieved_tflops(pl.col("step_seconds"), CONVENTION),
            residual_percent=calibration.percent_error(pl.col("predicted_minutes"), pl.col("score_minutes")),
        )
        .with_columns(model_flops_utilisation=pl.col("achieved_tflops") / pl.col("peak_tflops"))
        .with_columns(verdict=verdict())
        .with_columns(explanation=explanation())
        .with_columns(flops_convention=pl.when(pl.col("achieved_tflops").is_not_null()).then(pl.lit(CONVENTION)))
        .sort("result_id")
    )
    return (
        _calibrations(fits, members),
        ReconciledRuns.cast(reconciled.select(ReconciledRuns.column_names())),
    )


_SHARED = [
    "benchmark",
    "accelerator",
    "precision",
    "software_round",
    "layout",
    "replica_accelerator_count",
    "peak_tflops",
    "micro_batch",
]
"""What all members of a family have in common."""


def _calibrations(fits: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """Describe each family by what its members share."""
    families = members.group_by("family").agg(
        *(pl.col(name).first() for name in _SHARED),
        submitters=pl.col("submitter_folder").unique().sort().str.join(", "),
        step_basis=pl.col("step_basis").unique().sort().str.join(", "),
        rounds=pl.col("round").unique().sort().str.join(", "),
        nic_gigabytes_per_second=pl.when(pl.col("nic_available_gigabytes_per_second").n_unique() == 1).then(
            pl.col("nic_available_gigabytes_per_second").first()
        ),
    )
    described = (
        fits.join(families, on="family")
        .join(workloads.frame(), on="benchmark")
        .with_columns(
            workload=pl.col("benchmark"),
            form=pl.when(pl.col("micro_batch_seconds").is_not_null())
            .then(pl.lit("two_parameters"))
            .when(pl.col("even_step_seconds").is_not_null())
            .then(pl.lit("one_step_time")),
            efficiency=flops.micro_batch_efficiency(pl.col("micro_batch_seconds"), CONVENTION),
            flops_convention=pl.lit(CONVENTION),
            peak_basis=pl.when(pl.col("peak_tflops").is_not_null()).then(
                pl.format("{} TFLOPS, {}", "peak_tflops", pl.lit(peaks.BASIS))
            ),
            no_estimate_reason=no_estimate_reason(),
        )
        .sort("family")
    )
    return Calibrations.cast(described.select(Calibrations.column_names()))


def _with_predictions(known: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """Predict each result from the other members of its family; a log published twice is left out in both."""
    held_out = calibration.hold_out_each(members.lazy()).collect()
    return predict(known.join(held_out, on=["family", "member"], how="left"))


def _with_intervals(rows: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """Add intervals from the errors that the other members show when they are held out as well."""
    tested = members.drop("family", "member").rename({"result_id": "tested"})
    pairs = calibration.hold_out_pairs(members.lazy()).collect().join(tested, on="tested")
    error = calibration.percent_error(pl.col("predicted_minutes"), pl.col("score_minutes"))
    widths = (
        predict(pairs)
        .group_by("family", "member")
        .agg(
            half_width_percent=intervals.half_width_percent(error),
            held_out_error_count=error.count().cast(pl.Int64),
            held_out_error_percent=ordered_mean(error**2).sqrt(),
        )
    )
    share = pl.col("half_width_percent") / 100
    has_prediction = pl.col("predicted_minutes").is_not_null()
    joined = rows.join(widths, on=["family", "member"], how="left").with_columns(
        half_width_percent=pl.when(has_prediction).then(pl.col("half_width_percent"))
    )
    return joined.with_columns(
        predicted_low_minutes=pl.col("predicted_minutes") * (1 - share).clip(lower_bound=0.0),
        predicted_high_minutes=pl.col("predicted_minutes") * (1 + share),
        interval_basis=interval_basis(),
    )


def _with_family(rows: pl.DataFrame, fits: pl.DataFrame) -> pl.DataFrame:
    """Add the family's size and error, the ratio to its other sizes, and why there is no prediction."""
    sizes = fits.select("family", family_size="n", leave_one_out_mape_percent="leave_one_out_mape_percent")
    members = rows.filter("is_member").select("family", other="member", size="accelerator_count")
    others = (
        rows.select("result_id", "family", "member")
        .join(members, on="family")
        .filter(pl.col("other") != pl.col("member"))
        .group_by("result_id")
        .agg(largest_other=pl.col("size").max())
    )
    is_untested = pl.col("is_mixture") & pl.col("leave_one_out_mape_percent").is_null()
    predictions = [name for name in rows.columns if name.startswith("predicted_")]
    return (
        rows.join(sizes, on="family", how="left")
        .join(others, on="result_id", how="left")
        .with_columns(
            extrapolation_ratio=pl.col("accelerator_count") / pl.col("largest_other"),
            is_untested=is_untested.fill_null(value=False),
        )
        .with_columns(pl.when(~pl.col("is_untested")).then(pl.col(name)).alias(name) for name in predictions)
        .with_columns(no_prediction_reason=pl.when(pl.col("predicted_minutes").is_null()).then(_no_prediction_reason()))
    )


def _no_prediction_reason() -> pl.Expr:
    others = pl.col("family_size") - 1
    counted = (
        pl.when(others == 0)
        .then(pl.lit("no other result"))
        .when(others == 1)
        .then(pl.lit("one other result"))
        .otherwise(pl.format("{} other results", others))
    )
    too_few = pl.format("its family has {}, and two that tell its step are needed", counted)
    untested = "a mixture of experts, and its family has too few results to test a prediction on"
    return pl.coalesce(
        "not_modelled_reason",
        pl.when("is_untested").then(pl.lit(untested)),
        pl.when(pl.col("family_size").is_null()).then(pl.lit("its log was first published under another family")),
        pl.when(calibration.calibrated_step_seconds(pl.col("pipeline_slots")).is_null()).then(too_few),
        pl.when(pl.col("eval_base_seconds").is_null()).then(
            pl.lit("too few logs of the family time their evaluations")
        ),
        pl.when(pl.col("converging_samples").is_null()).then(
            pl.lit("neither the reference nor the logs tell how many samples are needed")
        ),
        pl.lit("the logs do not tell the parts of the run's time"),
    )


def _with_racks(rows: pl.DataFrame, expected_progress: ExpectedProgress) -> pl.DataFrame:
    """Add racks by division, by replica, and by the model: the fewest whose predicted time meets the score.

    The model may choose any batch between the least and the most that the round's results of the benchmark used.
    """
    batch = pl.col("global_batch_size")
    targets = rows.select(
        pl.exclude("data_parallel"),
        target="result_id",
        target_minutes="score_minutes",
        batch_least=batch.min().over("round", "benchmark"),
        batch_most=batch.max().over("round", "benchmark"),
        excess=pl.col("converging_samples") / pl.col("expected_samples"),
    ).filter(pl.col("predicted_minutes").is_not_null() & pl.col("excess").is_not_null())
    least = least_replicas(targets, expected_progress).select(result_id="target", model_data_parallel="data_parallel")
    return rows.join(least, on="result_id", how="left").with_columns(
        racks_by_division=racks_by_division(),
        racks_by_replica=racks_by_replica(pl.col("data_parallel")),
        racks_by_model=racks_by_replica(pl.col("model_data_parallel")),
        accelerators_by_model=pl.col("model_data_parallel") * pl.col("replica_accelerator_count"),
    )


def _with_network(rows: pl.DataFrame, fits: pl.DataFrame) -> pl.DataFrame:
    """Add the network bandwidth that the run needs to hide all but 1 % of its data-parallel traffic.

    The overlap windows take the family's micro-batch time, all members fitted; where the family gives none, the
    measured step over its slots, which counts the fixed part as well.
    """
    fitted = fits.select("family", family_micro_batch_seconds="micro_batch_seconds")
    measured = pl.col("step_seconds") / pl.col("pipeline_slots")
    windowed = (
        rows.select(pl.exclude("micro_batch_seconds"))
        .join(fitted, on="family", how="left")
        .with_columns(micro_batch_seconds=pl.coalesce("family_micro_batch_seconds", measured))
    )
    is_modelled = pl.col("not_modelled_reason").is_null()
    available = pl.col("nic_available_gigabytes_per_second")
    needs = {
        "nic_needed_gigabytes_per_second_low": bandwidth.FAVOURABLE,
        "nic_needed_gigabytes_per_second_mid": bandwidth.CENTRAL,
        "nic_needed_gigabytes_per_second_high": bandwidth.UNFAVOURABLE,
    }
    return (
        bandwidth.with_needs(windowed, needs)
        .with_columns(
            *(pl.when(is_modelled).then(name).alias(name) for name in needs),
            nic_exposed_seconds=pl.when(is_modelled).then(bandwidth.exposed_seconds(bandwidth.CENTRAL, available)),
        )
        .with_columns(
            nic_verdict=bandwidth.verdict(
                available,
                pl.col("nic_needed_gigabytes_per_second_low"),
                pl.col("nic_needed_gigabytes_per_second_high"),
            )
        )
    )
