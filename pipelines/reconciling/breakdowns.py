"""Where the minutes of each result went, and how results scale: `mart.time_breakdown` and `mart.strong_scaling`."""

from __future__ import annotations

import polars as pl

from pipelines.modelling import breakdown, scaling, step_time
from pipelines.modelling.calibration import calibrated_step_seconds
from pipelines.schemas.modelling_mart import LOSSES, StrongScaling, TimeBreakdown

_FITTED = ("micro_batch_seconds", "fixed_seconds", "even_slots", "even_step_seconds")


def time_breakdown(known: pl.DataFrame, fits: pl.DataFrame) -> pl.DataFrame:
    """Return `mart.time_breakdown`.

    Args:
        known: `members.language_model_results`.
        fits: `calibration.fit` of its members, each family with all of them.
    """
    mean = pl.coalesce("step_mean_seconds", "step_seconds")
    split = known.join(fits.select("family", *_FITTED), on="family", how="left").with_columns(
        score_seconds=pl.col("score_minutes") * 60,
        startup_seconds=pl.col("init_seconds"),
        middle_run_seconds=pl.col("middle_run_minutes") * 60,
        steps_seconds=pl.col("step_count") * mean,
        ideal_seconds=breakdown.ideal_seconds(),
        bubble_seconds=breakdown.bubble_seconds(),
        fixed_seconds=breakdown.fixed_seconds(),
        evaluation_seconds=pl.col("eval_total_seconds"),
        other_runs_seconds=(pl.col("raw_minutes") - pl.col("middle_run_minutes")) * 60,
        rcp_seconds=(pl.col("score_minutes") - pl.col("raw_minutes")) * 60,
    )
    modelled = pl.col("ideal_seconds") + pl.col("bubble_seconds") + pl.col("fixed_seconds")
    told = split.with_columns(beyond_model_seconds=pl.col("steps_seconds") - modelled).with_columns(
        largest_loss=breakdown.largest_part([f"{name}_seconds" for name in LOSSES]),
        no_split_reason=pl.when(modelled.is_null()).then(_no_split_reason()),
    )
    return TimeBreakdown.cast(told.select(TimeBreakdown.column_names()).sort("result_id"))


def strong_scaling(known: pl.DataFrame, fits: pl.DataFrame) -> pl.DataFrame:
    """Return `mart.strong_scaling`: every pair of scored results of one benchmark and part that differ in size.

    Arguments as of `time_breakdown`. A log that was published again counts where it was published first.
    """
    runs = _scaled_runs(known, fits)
    base = runs.rename({name: f"{name}_base" for name in runs.columns if name not in ("benchmark", "accelerator")})
    pairs = (
        runs.join(base, on=["benchmark", "accelerator"])
        .filter(pl.col("accelerator_count_base") < pl.col("accelerator_count"))
        .with_columns(
            is_mixed_precision=_differs("precision"),
            is_mixed_software=_differs("software_round"),
            is_mixed_layout=_differs("layout"),
            is_other_submitter=_differs("submitter_folder"),
            is_one_family=(pl.col("family") == pl.col("family_base")).fill_null(value=False),
        )
        .with_columns(no_efficiency_reason=_no_efficiency_reason())
    )
    is_scaling = pl.col("no_efficiency_reason").is_null()
    efficiencies = {
        "efficiency_raw": scaling.time_efficiency("raw_minutes"),
        "efficiency_score": scaling.time_efficiency("score_minutes"),
        "efficiency_throughput": scaling.throughput_efficiency("step_seconds"),
        "power_law_exponent": scaling.power_law_exponent(),
    }
    by_model = scaling.throughput_efficiency("modelled_step_seconds")
    told = pairs.with_columns(
        *(pl.when(is_scaling).then(value).alias(name) for name, value in efficiencies.items()),
        efficiency_model=pl.when("is_one_family").then(by_model),
        size_ratio=scaling.size_ratio(),
        base_result_id=pl.col("result_id_base"),
        base_accelerator_count=pl.col("accelerator_count_base"),
        base_precision=pl.col("precision_base"),
        base_bubble_share=pl.col("bubble_share_base"),
        base_fixed_share=pl.col("fixed_share_base"),
    )
    return StrongScaling.cast(told.select(StrongScaling.column_names()).sort("base_result_id", "result_id"))


def _scaled_runs(known: pl.DataFrame, fits: pl.DataFrame) -> pl.DataFrame:
    """Return the runs that pairs are made of, with the step that their family's fit gives."""
    is_first = pl.col("first_result_id") == pl.col("result_id")
    is_usable = pl.col("score_minutes").is_not_null() & (pl.col("accelerator_count") > 0)
    return (
        known.filter(is_first & is_usable & pl.col("accelerator").is_not_null() & (pl.col("division") == "closed"))
        .join(fits.select("family", *_FITTED), on="family", how="left")
        .with_columns(modelled_step_seconds=calibrated_step_seconds(pl.col("pipeline_slots")))
        .select(
            "result_id",
            "benchmark",
            "accelerator",
            "accelerator_count",
            "submitter_folder",
            "precision",
            "software_round",
            "layout",
            "family",
            "raw_minutes",
            "score_minutes",
            "global_batch_size",
            "step_seconds",
            "modelled_step_seconds",
            bubble_share=step_time.bubble_share(),
            fixed_share=step_time.fixed_share(pl.col("modelled_step_seconds")),
        )
    )


def _differs(column: str) -> pl.Expr:
    return (pl.col(column) != pl.col(f"{column}_base")).fill_null(value=True)


def _no_split_reason() -> pl.Expr:
    return pl.coalesce(
        "not_modelled_reason",
        pl.when(pl.col("even_step_seconds").is_not_null()).then(
            pl.lit("all results of its family run the same number of micro-batches: only their step is known")
        ),
        pl.when(pl.col("family").is_not_null() & pl.col("micro_batch_seconds").is_null()).then(
            pl.lit("its family does not tell the two parts of a step")
        ),
        pl.lit("the log does not tell how many steps the run took"),
    )


def _no_efficiency_reason() -> pl.Expr:
    both = pl.format(
        "{} and {}", pl.col("precision_base").fill_null("unknown"), pl.col("precision").fill_null("unknown")
    )
    rounds = pl.format("{} and {}", "software_round_base", "software_round")
    return (
        pl.when("is_mixed_precision")
        .then(pl.format("precisions differ or are not known: {}", both))
        .when("is_mixed_software")
        .then(pl.format("software of different rounds: {}", rounds))
    )
