"""Which network a run needs, and what pairs of runs with other networks say of that: two `mart` tables.

`mart.bandwidth` is the window model's answer, `mart.natural_experiments` what it can be held against.
"""

from __future__ import annotations

import polars as pl

from pipelines.modelling import bandwidth, calibration, traffic
from pipelines.modelling.bandwidth import CENTRAL, FAVOURABLE, UNFAVOURABLE, Assumptions
from pipelines.modelling.parallelism import fills_world, spreads_experts
from pipelines.schemas.networks_mart import Bandwidth, NaturalExperiments

FIVE_PERCENT = Assumptions(exposed_share=0.05)

OTHER_NIC_RATIO = 1.2
"""Ratio from which two NIC bandwidths are told apart."""

LEAST_TOLERANCE_PERCENT = 3.0
"""A gap below this says nothing: half of the benchmark's own noise, and what sites differ by."""

_ACTIVATIONS = [(name, f"{name}_bytes", f"{name}_scale_up_share") for name in traffic.DIMENSIONS]


def bandwidths(known: pl.DataFrame, fits: pl.DataFrame) -> pl.DataFrame:
    """Return `mart.bandwidth`.

    Args:
        known: `members.language_model_results`.
        fits: `calibration.fit` of its members.
    """
    sent = with_traffic(known, fits)
    inside, outside = pl.col("scale_up_gigabytes_per_second"), pl.col("nic_gigabytes_per_second")
    needs = {
        "needed_gigabytes_per_second": CENTRAL,
        "needed_at_5_percent_gigabytes_per_second": FIVE_PERCENT,
        "needed_low_gigabytes_per_second": FAVOURABLE,
        "needed_high_gigabytes_per_second": UNFAVOURABLE,
    }
    told = (
        bandwidth.with_needs(sent, needs)
        .with_columns(
            scale_up_utilisation=bandwidth.utilisation(pl.col("scale_up_bytes"), inside),
            nic_utilisation=bandwidth.utilisation(pl.col("scale_out_bytes"), outside),
            exposed_seconds=bandwidth.exposed_seconds(CENTRAL, outside),
            exposed_collective=bandwidth.exposed_collective(CENTRAL, outside),
            binding_collective=_binding_collective(),
        )
        .with_columns(
            binding_tier=_binding_tier(),
            oversubscription_most=pl.when(pl.col("needed_gigabytes_per_second") > 0).then(
                outside / pl.col("needed_gigabytes_per_second")
            ),
            verdict=bandwidth.verdict(
                outside, pl.col("needed_low_gigabytes_per_second"), pl.col("needed_high_gigabytes_per_second")
            ),
        )
        .with_columns(explanation=_explanation())
    )
    return Bandwidth.cast(told.select(Bandwidth.column_names()).sort("result_id"))


def with_traffic(known: pl.DataFrame, fits: pl.DataFrame) -> pl.DataFrame:
    """Return the results whose parallelism is known, with the bytes of a step and the windows that hide them.

    The windows take the family's micro-batch time, all members fitted; where the family gives none, the measured step
    over its slots, which counts the fixed part as well.
    """
    is_told = (
        fills_world()
        & spreads_experts()
        & pl.col("micro_batch").is_not_null()
        & pl.col("global_batch_size").is_not_null()
        & pl.col("parameter_bytes").is_not_null()
        & pl.col("step_seconds").is_not_null()
        & pl.col("domain_accelerators").is_not_null()
        & (pl.col("batch_check") != "contradicted")
    )
    chosen = known.filter(is_told.fill_null(value=False))
    measured = pl.col("step_seconds") / pl.col("pipeline_slots")
    windowed = chosen.join(
        fits.select("family", family_micro_batch_seconds="micro_batch_seconds"), on="family", how="left"
    ).with_columns(
        micro_batch_seconds=pl.coalesce("family_micro_batch_seconds", measured),
        nic_gigabytes_per_second=pl.col("nic_available_gigabytes_per_second"),
    )
    by_width = [
        _sent(windowed.filter(pl.col("parameter_bytes") == width), width)
        for width in windowed["parameter_bytes"].unique().sort().to_list()
    ]
    return pl.concat(by_width) if by_width else _sent(windowed, 1)


def natural_experiments(known: pl.DataFrame, fits: pl.DataFrame) -> pl.DataFrame:
    """Return `mart.natural_experiments`; arguments as of `bandwidths`.

    A reference is all first-published results of one benchmark, part, precision, layout, software and NIC; software is
    the framework's release as described, else the round. Only results whose step crosses domains are listed: where
    nothing does, the NIC makes no difference.
    """
    runs = (
        with_traffic(known.filter("is_member"), fits)
        .filter((pl.col("nic_gigabytes_per_second") > 0) & (pl.col("scale_out_bytes") > 0))
        .with_columns(software=pl.coalesce(pl.col("framework").replace("", None), "software_round"))
    )
    references = _references(runs)
    ratio = pl.col("nic_gigabytes_per_second") / pl.col("reference_nic_gigabytes_per_second")
    pairs = (
        runs.drop(*calibration.PARAMETERS, "micro_batch_seconds", strict=False)
        .join(references, on=_ALIKE)
        .filter((ratio >= OTHER_NIC_RATIO) | (ratio <= 1 / OTHER_NIC_RATIO))
        .with_columns(reference_step_seconds=calibration.calibrated_step_seconds(pl.col("pipeline_slots")))
        .drop_nulls("reference_step_seconds")
        .with_columns(
            micro_batch_seconds=pl.coalesce(
                "micro_batch_seconds", pl.col("reference_step_seconds") / pl.col("pipeline_slots")
            )
        )
    )
    exposed, exposed_before = (
        bandwidth.exposed_seconds(CENTRAL, pl.col(name))
        for name in ("nic_gigabytes_per_second", "reference_nic_gigabytes_per_second")
    )
    told = (
        pairs.with_columns(
            measured_change_percent=calibration.percent_error(pl.col("step_seconds"), pl.col("reference_step_seconds")),
            window_change_percent=(exposed - exposed_before) / pl.col("reference_step_seconds") * 100,
            tolerance_percent=pl.max_horizontal(
                pl.lit(LEAST_TOLERANCE_PERCENT), pl.col("leave_one_out_worst_percent").fill_null(0.0)
            ),
            is_same_software=pl.col("software") == pl.col("reference_software"),
        )
        .with_columns(gap=(pl.col("measured_change_percent") - pl.col("window_change_percent")).abs())
        .with_columns(verdict=_experiment_verdict())
        .with_columns(explanation=_experiment_explanation())
        .sort(
            pl.col("verdict").replace_strict({"contradicts": 0, "supports": 1, "too_close_to_call": 2}),
            -pl.col("gap"),
            "result_id",
            "reference_results",
        )
        .with_columns(place=pl.int_range(1, pl.len() + 1, dtype=pl.Int64))
    )
    return NaturalExperiments.cast(told.select(NaturalExperiments.column_names()))


_ALIKE = ["benchmark", "accelerator", "precision", "layout"]


def _sent(runs: pl.DataFrame, parameter_bytes: int) -> pl.DataFrame:
    """Add the traffic of runs that gather parameters of one width."""
    widths = traffic.ByteWidths(parameter=parameter_bytes, dispatch=parameter_bytes)
    flat = traffic.traffic(runs, widths, algorithm="flat")
    return traffic.traffic(runs, widths).with_columns(flat_scale_out_bytes=flat["scale_out_bytes"])


def _references(runs: pl.DataFrame) -> pl.DataFrame:
    """Return what the results of one NIC tell: parameters of their fit, its error, and which results they are."""
    keys = [*_ALIKE, "software", "nic_gigabytes_per_second"]
    grouped = runs.with_columns(family=pl.concat_str([pl.col(name).cast(pl.String) for name in keys], separator="\n"))
    fits = calibration.fit(grouped.select(
        "family", "member", "pipeline_slots", "step_seconds", "data_parallel", "accelerator_count",
        "global_batch_size", "eval_seconds", "remainder_seconds",
    ).lazy()).collect()  # fmt: skip
    names = grouped.group_by("family", *keys).agg(
        reference_results=pl.col("result_id").sort().str.join(", "), reference_count=pl.len().cast(pl.Int64)
    )
    return names.join(fits, on="family").select(
        *_ALIKE,
        *calibration.PARAMETERS[:4],
        "leave_one_out_worst_percent",
        "reference_results",
        "reference_count",
        reference_software="software",
        reference_nic_gigabytes_per_second="nic_gigabytes_per_second",
    )


def _binding_tier() -> pl.Expr:
    inside, outside = pl.col("scale_up_utilisation"), pl.col("nic_utilisation")
    return (
        pl.when(inside.is_null() | outside.is_null())
        .then(None)
        .when(outside > inside)
        .then(pl.lit("scale_out"))
        .otherwise(pl.lit("scale_up"))
    )


def _binding_collective() -> pl.Expr:
    """Return the dimension and tier whose bytes take longest at the tier's bandwidth."""
    inside, outside = pl.col("scale_up_gigabytes_per_second"), pl.col("nic_gigabytes_per_second")
    seconds = {}
    for name, sent, share in _ACTIVATIONS:
        seconds[f"{name}, scale_up"] = bandwidth.busy_seconds(pl.col(sent) * pl.col(share), inside)
        seconds[f"{name}, scale_out"] = bandwidth.busy_seconds(pl.col(sent) * (1 - pl.col(share)), outside)
    data_out = pl.col("gradient_scale_out_bytes") + pl.col("gather_scale_out_bytes")
    seconds["data, scale_up"] = bandwidth.busy_seconds(pl.col("data_scale_up_bytes"), inside)
    seconds["data, scale_out"] = bandwidth.busy_seconds(data_out, outside)
    longest = pl.max_horizontal(seconds.values())
    named = pl.coalesce(pl.when(value == longest).then(pl.lit(name)) for name, value in seconds.items())
    return pl.when((longest > 0) & inside.is_not_null() & outside.is_not_null()).then(named)


def _explanation() -> pl.Expr:
    words = {
        "enough": "it is enough",
        "not_enough": "by the window model it is not enough",
        "too_close_to_call": "whether it is enough is too close to call",
    }
    nothing = pl.lit("Nothing crosses the scale-up domain in a step, so the network does not matter.")
    need = pl.format(
        "A step sends {} GB over the network; hiding all but 1 % of it needs {} GB/s per accelerator ({} to {})",
        (pl.col("scale_out_bytes") / 1e9).round(2),
        pl.col("needed_gigabytes_per_second").round(1),
        pl.col("needed_low_gigabytes_per_second").round(1),
        pl.col("needed_high_gigabytes_per_second").round(1),
    )
    verdict = pl.col("verdict").replace_strict(words, default=None, return_dtype=pl.String)
    has = pl.format(" and there are {}: {}.", "nic_gigabytes_per_second", verdict)
    unknown = pl.lit("; what there is, is not stated.")
    return pl.when(pl.col("scale_out_bytes") <= 0).then(nothing).otherwise(need + pl.coalesce(has, unknown))


def _experiment_verdict() -> pl.Expr:
    """Return `contradicts` where measured and modelled change differ by more than what the reference's fit misses."""
    tolerance = pl.col("tolerance_percent")
    says_something = pl.col("window_change_percent").abs() > tolerance
    return (
        pl.when(pl.col("gap") > tolerance)
        .then(pl.lit("contradicts"))
        .when(says_something)
        .then(pl.lit("supports"))
        .otherwise(pl.lit("too_close_to_call"))
    )


def _experiment_explanation() -> pl.Expr:
    software = pl.when("is_same_software").then(pl.lit("")).otherwise(
        pl.format(" Their software is {}, its own {}.", "reference_software", "software")
    )  # fmt: skip
    many = pl.format("{} other results give", "reference_count")
    told = pl.format(
        "With {} GB/s in place of {} the step is {} % off what {}; the window model has {} %.",
        "nic_gigabytes_per_second",
        "reference_nic_gigabytes_per_second",
        pl.col("measured_change_percent").round(1),
        pl.when(pl.col("reference_count") == 1).then(pl.lit("one other result gives")).otherwise(many),
        pl.col("window_change_percent").round(1),
    )
    return told + software
