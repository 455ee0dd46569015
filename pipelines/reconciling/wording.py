"""What a comparison says, in a word and in a sentence that a person who did not fit the model understands."""

from __future__ import annotations

import polars as pl

from pipelines.modelling.intervals import BENCHMARK_NOISE_PERCENT, LEVEL_PERCENT

_NIC_WORDS = {
    "enough": "the network is enough",
    "not_enough": "by the window model the network is not enough",
    "too_close_to_call": "whether the network is enough is too close to call",
}


def verdict() -> pl.Expr:
    """Return how the reported score stands to the interval of the prediction."""
    reported = pl.col("score_minutes")
    return (
        pl.when(pl.col("predicted_minutes").is_null())
        .then(pl.lit("not_predicted"))
        .when(pl.col("predicted_low_minutes").is_null())
        .then(pl.lit("no_interval"))
        .when(reported > pl.col("predicted_high_minutes"))
        .then(pl.lit("slower_than_predicted"))
        .when(reported < pl.col("predicted_low_minutes"))
        .then(pl.lit("faster_than_predicted"))
        .otherwise(pl.lit("as_predicted"))
    )


def explanation() -> pl.Expr:
    """Return the time, then the racks, then the network, each where there is something to say."""
    no_prediction = pl.format("No prediction: {}.", "no_prediction_reason")
    transfer = pl.format(
        "By the efficiency of other parts its step is {} s, {} % off; such guesses miss by {} % on average.",
        pl.col("transfer_step_seconds").round(3),
        _signed(pl.col("transfer_residual_percent")),
        pl.col("transfer_mape_percent").round(1),
    )
    no_prediction = pl.concat_str(no_prediction, transfer, separator=" ", ignore_nulls=True)
    no_prediction = pl.when(pl.col("no_prediction_reason").is_not_null()).then(no_prediction)
    time = pl.format(
        "{} min reported, {} min predicted with this result held out ({} %){}.",
        pl.col("score_minutes").round(2),
        pl.col("predicted_minutes").round(2),
        _signed(pl.col("residual_percent")),
        _ahead(),
    )
    return pl.concat_str(pl.coalesce(time, no_prediction), _racks(), _network(), separator=" ", ignore_nulls=True)


def interval_basis() -> pl.Expr:
    """Say how the interval was made, or why there is none; null without a prediction."""
    made = pl.format(
        "{} %: root mean square of {} errors of other members, held out together with this one ({} %), "
        "times Student's t, and the benchmark's noise of +-{} %, in quadrature",
        pl.lit(LEVEL_PERCENT),
        pl.col("held_out_error_count"),
        pl.col("held_out_error_percent").round(2),
        pl.lit(BENCHMARK_NOISE_PERCENT),
    )
    none = pl.lit("none: with this result held out the family leaves too few others to hold out as well")
    has_interval = pl.col("half_width_percent").is_not_null()
    return pl.when(pl.col("predicted_minutes").is_not_null()).then(pl.when(has_interval).then(made).otherwise(none))


def no_estimate_reason() -> pl.Expr:
    """Say which figures of a family are null and why; null where none is."""
    size = pl.col("n")
    return (
        pl.when(size == 1)
        .then(pl.lit("one result: two parameters cannot be told apart"))
        .when(pl.col("micro_batch_seconds").is_null() & (size == 2))
        .then(pl.lit("two results of one number of micro-batches: only their step is known, and no error of it"))
        .when(pl.col("micro_batch_seconds").is_null())
        .then(pl.lit("all results run the same number of micro-batches: only their step is known, not its two parts"))
        .when(size == 2)
        .then(pl.lit("two results are met exactly by two parameters: no error can be estimated"))
        .when(pl.col("leave_one_out_mape_percent").is_null())
        .then(pl.lit("without some result the others do not tell its step"))
    )


def _ahead() -> pl.Expr:
    """Mark a prediction beyond the sizes that it was fitted on."""
    ratio = pl.col("extrapolation_ratio")
    return (
        pl.when(ratio > 1)
        .then(pl.format(", extrapolated to {} times the largest other size", ratio.round(2)))
        .otherwise(pl.lit(""))
    )


def _racks() -> pl.Expr:
    stated, model = pl.col("racks_stated"), pl.col("racks_by_model")
    counts = pl.format("{} by division, {} by replica", "racks_by_division", "racks_by_replica")
    return pl.format(
        "Racks: {}{}{}.",
        pl.when(stated.is_not_null()).then(pl.format("{} stated, ", stated)).otherwise(pl.lit("")),
        counts,
        pl.when(model.is_not_null()).then(pl.format(", {} by the model", model)).otherwise(pl.lit("")),
    )


def _network() -> pl.Expr:
    return pl.format(
        "To keep exposed communication under 1 % it needs {} GB/s per accelerator ({} to {}) and has {}: {}.",
        pl.col("nic_needed_gigabytes_per_second_mid").round(1),
        pl.col("nic_needed_gigabytes_per_second_low").round(1),
        pl.col("nic_needed_gigabytes_per_second_high").round(1),
        pl.col("nic_available_gigabytes_per_second"),
        pl.col("nic_verdict").replace_strict(_NIC_WORDS, default=None, return_dtype=pl.String),
    )


def _signed(percent: pl.Expr) -> pl.Expr:
    rounded = percent.round(2)
    return pl.when(rounded > 0).then(pl.format("+{}", rounded)).otherwise(rounded.cast(pl.String))
