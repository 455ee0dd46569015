"""Energy of a run from its power logs, by the published rule.

How power logs are read belongs in `parsing.power_logs`, which runs enter a result in `runs`.
"""

from __future__ import annotations

import polars as pl

from pipelines.scoring.sums import plain_sum

_RUN = ["result_id", "run_name"]


def run_energy(runs: pl.DataFrame, power_readings: pl.DataFrame) -> pl.DataFrame:
    """Return the energy of each run that has power logs.

    A node's energy is its integral over the measured time, scaled to the run's time; a switch's is its estimated
    power over the run's time; both times the conversion efficiency, 1 where none is logged (power_measurement.adoc;
    `_compute_power_node` and `_compute_power_sw` of mlperf-logging). The tool's help says kJ, its arithmetic gives J.

    Args:
        runs: `result_id`, `source_path` and `raw_minutes` of result files.
        power_readings: `core.power_readings`.

    Returns:
        `result_id, source_path, energy_joules, energy_problem`, one row per run with power logs; the energy is null
        beside a problem in words.
    """
    devices = (
        runs.lazy()
        .select("result_id", "source_path", "raw_minutes", run_name=_run_name())
        .join(power_readings.lazy(), on=_RUN, how="inner", suffix="_power")
        .with_columns(device_joules=_device_joules())
        .with_columns(device_problem=_device_problem())
    )
    is_node = pl.col("device") == "node"
    problem = pl.when(is_node.sum() == 0).then(pl.lit("no node was metered"))
    return (
        devices.sort("source_path", "device", "device_name")
        .group_by("result_id", "source_path", maintain_order=True)
        .agg(
            energy_joules=plain_sum(pl.col("device_joules")),
            energy_problem=pl.coalesce(pl.col("device_problem").drop_nulls().first(), problem),
        )
        .with_columns(energy_joules=pl.when(pl.col("energy_problem").is_null()).then("energy_joules"))
        .collect(engine="in-memory")
    )


def _run_name() -> pl.Expr:
    """The power folder of a run is named like its file up to the first dot."""
    return pl.col("source_path").str.extract(r"([^/.]*)[^/]*$")


def _device_joules() -> pl.Expr:
    efficiency = pl.col("conversion_efficiency").fill_null(1.0)
    run_seconds = pl.col("raw_minutes") * 60
    measured_seconds = (pl.col("stop_ms") - pl.col("start_ms")) / 1000
    node = efficiency * pl.col("integral_joules") * run_seconds / measured_seconds
    switch = efficiency * pl.col("interconnect_power_watts").fill_null(0.0) * run_seconds
    return pl.when(pl.col("device") == "node").then(node).otherwise(switch)


def _device_problem() -> pl.Expr:
    return (
        pl.when((pl.col("device") == "node") & (pl.col("stop_ms") <= pl.col("start_ms")))
        .then(pl.format("{} stops measuring when it starts", pl.col("device_name")))
        .when(pl.col("device_joules").is_null())
        .then(pl.format("{} has no start, no stop or no reading", pl.col("device_name")))
    )
