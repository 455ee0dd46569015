"""The step time of a run, from its training statistics or its blocks.

Choosing which times count belongs here; reading them is done in `_log_steps`, predicting them in `modelling`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median

import numpy as np
import polars as pl

from pipelines.parsing._event_columns import Marks
from pipelines.parsing._log_json import LINES_A_LOG

POOLED_ROUNDS = ("training-v5.0", "training-v5.1")
"""Rounds whose step times have been published over every record of a log but the first three.

The few block means among the records move such a median by less than 0.1 %; calibrations rest on it as it is.
"""
BLOCK_KEY = "block_start"
"""Named as the source of step times that follow from blocks' begin, end and samples."""
SETTLING_STEPS = 3
"""Steps that no settled part includes."""
SETTLED_WINDOW_STEPS = 5
SETTLED_WITHIN = 0.02
LAUNCH_SHARE = 0.25
"""A record under a quarter of the median times the launch of a step and not the step."""

# Mask R-CNN logs of v2.1 to v3.1 name the time of an iteration `time`, beside the share of `data` in it.
STEP_TIMES = {
    "train_step_time": pl.col("train_step_time"),
    "train_step_timing": pl.col("train_step_timing"),
    "train_step_timing in s": pl.col("train_step_timing_in_s"),
    "time": pl.when(pl.col("data").is_not_null()).then("time"),
}
"""Names of the time of a step, in the order in which they are looked for."""

PACE = {"block_median_seconds": pl.Float64, "block_mean_seconds": pl.Float64, "block_settling_count": pl.Int64}
_Pace = tuple[float | None, float | None, int | None]


def block_paces(starts: Marks, stops: Marks, is_pooled: Sequence[bool]) -> tuple[list[int], list[_Pace]]:
    """Return of each log the number of its blocks, and their pace.

    The pace is median and mean of the seconds of a sample over blocks, and the blocks left out before; Nones where
    they do not say how many samples were consumed before and after, and in rounds whose times are pooled.
    """
    begins = np.arange(len(is_pooled) + 1) * LINES_A_LOG
    start_bounds, stop_bounds = starts.places.searchsorted(begins).tolist(), stops.places.searchsorted(begins).tolist()
    nothing: _Pace = (None, None, None)
    paces = [
        nothing if is_left_out else _pace(_part(starts, start_part), _part(stops, stop_part))
        for is_left_out, start_part, stop_part in zip(
            is_pooled, pairwise(start_bounds), pairwise(stop_bounds), strict=True
        )
    ]
    return [end - first for first, end in pairwise(stop_bounds)], paces


def _part(marks: Marks, bounds: tuple[int, int]) -> list[tuple[int, float]]:
    part = slice(*bounds)
    return list(zip(marks.time_ms[part].tolist(), marks.samples_count[part].tolist(), strict=True))


def _pace(starts: list[tuple[int, float]], stops: list[tuple[int, float]]) -> _Pace:
    paces = [
        (stop_ms - start_ms) / 1000 / (after - before)
        for (start_ms, before), (stop_ms, after) in zip(starts, stops, strict=False)
        if after > before >= 0 and stop_ms > start_ms
    ]
    settling = int(len(paces) > 2)
    return (median(paces[settling:]), fmean(paces[settling:]), settling) if paces else (None, None, None)


def summarise(steps: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """Return the step time of each run: of the settled part of its single steps, else of its blocks.

    A throughput after run_stop is that of the whole run, evaluations included, so one before it counts where there is
    one. Logs without any step time have that of their blocks, where these state the samples consumed.

    Args:
        steps: Training statistics in the order of their logs.
        facts: One row a log, in their order.
    """
    seconds, is_block = pl.col("step_seconds"), pl.col("is_block")
    is_usable = (seconds.is_finite() & (seconds >= 0)).fill_null(value=False)
    logs = facts.join(
        steps.group_by("log").agg(
            pl.col("name_of_time").min(),
            logged_step_count=(is_usable & ~is_block).sum().cast(pl.Int64),
        ),
        on="log",
        how="left",
        maintain_order="left",
    ).with_columns(pl.col("logged_step_count").fill_null(0))
    single = steps.filter(~is_block)
    for found in (
        _throughputs(steps, facts),
        _spanned(single, "samples_count", "steps_by_samples"),
        _spanned(single, "step_number", "steps_by_number"),
    ):
        logs = logs.join(found, on="log", how="left", maintain_order="left")
    takes_all = (logs["is_pooled"] | (logs["logged_step_count"] == 0)).gather(steps["log"])
    settled = _settled(steps.filter(is_usable & (takes_all | ~is_block)).select("log", "step_seconds"), logs)
    is_timed = pl.col("name_of_time").is_not_null() & pl.col("step_median_seconds").is_not_null()
    is_of_blocks = ~is_timed & pl.col("step_median_seconds").is_not_null()
    names = pl.col("name_of_time").replace_strict(dict(enumerate(STEP_TIMES)), return_dtype=pl.String)
    scope = pl.when(pl.col("logged_step_count") > 0).then(pl.lit("step")).otherwise(pl.lit("block"))
    spanned = pl.coalesce(pl.col("steps_by_samples") / pl.col("global_batch"), "steps_by_number")
    return (
        logs.join(settled, on="log", how="left", maintain_order="left")
        .with_columns(_from_blocks())
        .select(
            "logged_step_count",
            "step_median_seconds",
            "step_mean_seconds",
            "settling_step_count",
            "throughput_median",
            step_time_key=pl.when(is_timed).then(names).when(is_of_blocks).then(pl.lit(BLOCK_KEY)),
            step_time_scope=pl.when(is_timed).then(scope).when(is_of_blocks).then(pl.lit("block")),
            spanned_step_count=spanned.round().cast(pl.Int64, strict=False),
        )
    )


def _throughputs(steps: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """Return the median of the throughputs of each run that has some."""
    rate = pl.col("throughput")
    rates = steps.select("log", "line", "throughput").filter(rate.is_finite() & (rate >= 0))
    is_early = (pl.col("line") < pl.col("run_stop_line")).fill_null(value=True)
    return (
        rates.with_columns(facts["run_stop_line"].gather(rates["log"]))
        .group_by("log")
        .agg(throughput_median=pl.coalesce(rate.filter(is_early).median(), rate.median()))
    )


def _from_blocks() -> list[pl.Expr]:
    """Return step times that follow from blocks for logs that have none; pooled rounds stay as they were published."""
    has_none = pl.col("step_median_seconds").is_null() & ~pl.col("is_pooled") & (pl.col("global_batch") > 0)
    of_block = {
        "step_median_seconds": pl.col("block_median_seconds") * pl.col("global_batch"),
        "step_mean_seconds": pl.col("block_mean_seconds") * pl.col("global_batch"),
        "settling_step_count": pl.col("block_settling_count"),
    }
    return [pl.when(has_none).then(expression).otherwise(name).alias(name) for name, expression in of_block.items()]


def _settled(times: pl.DataFrame, logs: pl.DataFrame) -> pl.DataFrame:
    """Return median and mean of each run's settled part.

    It begins, from the fourth step on, where the median of five steps is within 2 % of the median of the run's
    second half, and with that half at the latest; in pooled rounds at the fourth step. Of blocks the first is left
    out, if there are three.

    Args:
        times: Step times that count, in the order of their logs.
        logs: One row a log, in their order.
    """
    seconds, count, place = pl.col("step_seconds"), pl.col("count"), pl.col("place")
    runs = times.group_by("log", maintain_order=True).len("count").with_columns(pl.col("count").cast(pl.Int64))
    runs = runs.with_columns(
        logs.select("is_pooled", "logged_step_count")[runs["log"].to_list()],
        half=count // 2,
        first=count.cum_sum() - count,
        run=pl.int_range(pl.len()),
    )
    numbered = times.with_columns(run=np.repeat(np.arange(len(runs)), runs["count"].to_numpy()))
    numbered = numbered.with_columns(place=pl.int_range(pl.len()) - runs["first"].gather(numbered["run"]))
    settling = (
        pl.when(pl.col("logged_step_count") == 0)
        .then((count > 2).cast(pl.Int64))
        .when("is_pooled")
        .then(pl.min_horizontal(SETTLING_STEPS, count - 1))
        .otherwise(pl.min_horizontal("settled_from", "half"))
    )
    runs = runs.join(_near(numbered, runs), on="run", how="left", maintain_order="left")
    runs = runs.with_columns(settling_step_count=settling)
    settled = numbered.filter(place >= runs["settling_step_count"].gather(numbered["run"]))
    typical = settled.group_by("run", maintain_order=True).agg(seconds.median())["step_seconds"]
    return (
        settled.filter(seconds >= LAUNCH_SHARE * typical.gather(settled["run"]))
        .group_by("run")
        .agg(step_median_seconds=seconds.median(), step_mean_seconds=seconds.mean())
        .join(runs, on="run")
        .select("log", "step_median_seconds", "step_mean_seconds", "settling_step_count")
    )


def _near(numbered: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """Return, of runs that are not pooled, the place from which the next steps are near those of the second half.

    Args:
        numbered: Step times with the number of their `run` and their `place` in it, in order.
        runs: One row a run, in their order.
    """
    seconds, place, half = pl.col("step_seconds"), pl.col("place"), pl.col("half")
    steps = numbered.join(runs.filter(~pl.col("is_pooled")).select("run", "half", "count"), on="run")
    steps = steps.sort("run", "place").with_columns(
        window=seconds.rolling_median(SETTLED_WINDOW_STEPS).shift(1 - SETTLED_WINDOW_STEPS)
    )
    reference = steps.filter(place >= half).group_by("run").agg(reference=seconds.median())
    return (
        steps.join(reference, on="run")
        .filter(
            (pl.col("window") - pl.col("reference")).abs() <= SETTLED_WITHIN * pl.col("reference"),
            place + SETTLED_WINDOW_STEPS <= pl.col("count"),
            place >= pl.min_horizontal(SETTLING_STEPS, half),
        )
        .group_by("run")
        .agg(settled_from=place.min())
    )


def _spanned(steps: pl.DataFrame, progress: str, name: str) -> pl.DataFrame:
    """Return each run's progress from before the first record to the last.

    It is one mean distance more than that between the two.
    """
    stated, count = pl.col(progress), pl.col("count")
    runs = (
        steps.select("log", progress)
        .drop_nulls()
        .group_by("log", maintain_order=True)
        .agg(span=stated.last() - stated.first(), count=pl.len().cast(pl.Int64))
    )
    return runs.filter(count > 1, pl.col("span") > 0).select("log", (pl.col("span") * count / (count - 1)).alias(name))
