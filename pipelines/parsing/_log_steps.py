"""The training statistics of many runs: step times, losses and throughput, and each run's settled step time.

Reading training statistics belongs here; turning a step time into a prediction does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

import polars as pl

from pipelines.parsing._event_columns import ColumnReader, EventColumns, read_samples, read_steps
from pipelines.parsing._log_json import Event, Statistics, as_float

POOLED_ROUNDS = ("training-v5.0", "training-v5.1")
"""Rounds whose step times have been published over every record of a log but the first three.

The few block means among the records move such a median by less than 0.1 %; calibrations rest on it as it is.
"""
BLOCK_KEY = "block_start"
"""Named as the source of step times that follow from blocks' begin, end and samples."""
TRAINING_KEYS = ("tracked_stats", "train_loss", "throughput")
SETTLING_STEPS = 3
"""Steps that no settled part includes."""
SETTLED_WINDOW_STEPS = 5
SETTLED_WITHIN = 0.02
LAUNCH_SHARE = 0.25
"""A record under a quarter of the median times the launch of a step and not the step."""

# Mask R-CNN logs of v2.1 to v3.1 name the time of an iteration `time`, beside the share of `data` in it.
_STEP_TIMES = {
    "train_step_time": pl.col("train_step_time"),
    "train_step_timing": pl.col("train_step_timing"),
    "train_step_timing in s": pl.col("train_step_timing_in_s"),
    "time": pl.when(pl.col("data").is_not_null()).then("time"),
}


# Written out, a list of one member costs half of what a reader by name does.
_OF_VALUE: dict[str, ColumnReader] = {
    "train_step_time": lambda values: [value.train_step_time for value in values],
    "train_step_timing": lambda values: [value.train_step_timing for value in values],
    "train_step_timing_in_s": lambda values: [value.train_step_timing_in_s for value in values],
    "time": lambda values: [value.time for value in values],
    "data": lambda values: [value.data for value in values],
    "reduced_train_loss": lambda values: [value.reduced_train_loss for value in values],
    "train_loss": lambda values: [value.train_loss for value in values],
    "throughput": lambda values: [value.throughput for value in values],
    "imgs_sec": lambda values: [value.imgs_sec for value in values],
    "lr": lambda values: [value.lr for value in values],
    "max_memory_usage": lambda values: [value.max_memory_usage for value in values],
}
_OF_METADATA: dict[str, ColumnReader] = {
    "metadata_samples": read_samples,
    "metadata_step": read_steps,
    "metadata_lr": lambda metadata: [entry.lr for entry in metadata],
}


class StepTable:
    """Training statistics, gathered log by log and then judged together."""

    def __init__(self) -> None:
        self._columns = EventColumns(_OF_VALUE, _OF_METADATA)
        self._block_counts: list[int] = []
        self._block_paces: list[_Pace] = []

    def add(self, log: int, events: list[Event]) -> None:
        """Gather the training statistics among events of a log that have one of `TRAINING_KEYS`."""
        self._columns.add(
            log,
            [
                event if type(event.value) is Statistics else _with_statistics(event)
                for event in events
                if type(value := event.value) is not Statistics or value.validation_step_time is None
            ],
        )

    def end_log(self, block_starts: Sequence[Event], block_stops: Sequence[Event]) -> None:
        """Note the blocks of steps that the log has."""
        self._block_counts.append(len(block_stops))
        self._block_paces.append(_pace(block_starts, block_stops))

    def frames(self, runs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the statistics, with the number of their log, and a summary with one row a log.

        Args:
            runs: One row a log, with `round`, `global_batch_size` and `run_stop_line`.
        """
        facts = runs.select(
            log=pl.int_range(pl.len()),
            global_batch="global_batch_size",
            block_count=pl.Series(self._block_counts, dtype=pl.Int64),
            is_pooled=pl.col("round").is_in(POOLED_ROUNDS),
            run_stop_line="run_stop_line",
        ).hstack(pl.DataFrame(self._block_paces, schema=_PACE, orient="row"))
        steps = _statistics(self._columns.frame())
        steps = _tell_samples_from_steps(_mark_blocks(steps, facts), facts)
        scope = pl.when("is_block").then(pl.lit("block")).otherwise(pl.lit("step"))
        return steps.with_columns(scope=scope), _summarise(steps, facts)


_PACE = {"block_median_seconds": pl.Float64, "block_mean_seconds": pl.Float64, "block_settling_count": pl.Int64}
_Pace = tuple[float | None, float | None, int | None]
"""Median and mean of the seconds of a sample over blocks, and the blocks left out before."""


def _pace(starts: Sequence[Event], stops: Sequence[Event]) -> _Pace:
    """Return the pace of blocks, of Nones where they do not say how many samples were consumed before and after."""
    paces = []
    for start, stop in zip(starts, stops, strict=False):
        before, after = start.metadata.samples_count, stop.metadata.samples_count
        if before is not None and after is not None and after > before >= 0 and stop.time_ms > start.time_ms:
            paces.append((stop.time_ms - start.time_ms) / 1000 / (after - before))
    settling = int(len(paces) > 2)
    return (median(paces[settling:]), fmean(paces[settling:]), settling) if paces else (None, None, None)


def _with_statistics(event: Event) -> Event:
    """Return an event whose value is the statistic itself as one whose value is a dictionary of it."""
    value = as_float(event.value)
    loss, rate = value if event.key == "train_loss" else None, value if event.key == "throughput" else None
    return Event(event.time_ms, event.key, Statistics(train_loss=loss, throughput=rate), event.metadata, event.line)


def _statistics(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that have a training statistic, each under one name."""
    return rows.select(
        "log",
        "line",
        "time_ms",
        name_of_time=pl.coalesce(
            pl.when(seconds.is_not_null()).then(pl.lit(number, pl.Int8))
            for number, seconds in enumerate(_STEP_TIMES.values())
        ),
        step_number="metadata_step",
        samples_count="metadata_samples",
        step_seconds=pl.coalesce(_STEP_TIMES.values()),
        train_loss=pl.coalesce("reduced_train_loss", "train_loss"),
        throughput=pl.coalesce("throughput", "imgs_sec"),
        learning_rate=pl.coalesce("metadata_lr", "lr"),
        has_memory=pl.col("max_memory_usage").is_not_null(),
    ).filter(pl.any_horizontal(pl.col("step_seconds", "train_loss", "throughput").is_not_null()))


def _mark_blocks(steps: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """Tell the time of a step from the mean of a block of steps.

    A time with a loss is a step's. One with a throughput or memory use is a block's. One alone is a block's if the
    log also times steps with a loss, or has no more such times than blocks.
    """
    has_time, has_loss = pl.col("step_seconds").is_not_null(), pl.col("train_loss").is_not_null()
    logs = steps.group_by("log").agg(
        times_steps=(has_time & has_loss).any(),
        lone_count=(has_time & ~has_loss).sum(),
        name_of_time=pl.col("name_of_time").min(),
    )
    is_lone_a_block = pl.col("times_steps") | (
        (pl.col("name_of_time") == 0) & (pl.col("lone_count") <= pl.max_horizontal("block_count", 1))
    )
    logs = logs.join(facts, on="log").select("log", is_lone_a_block=is_lone_a_block.fill_null(False))
    is_block = ~has_loss & (pl.col("is_lone_a_block") | pl.col("throughput").is_not_null() | pl.col("has_memory"))
    return steps.join(logs, on="log", how="left", maintain_order="left").with_columns(is_block=is_block)


def _tell_samples_from_steps(steps: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """Read `step` as samples in logs where every such value without samples is a multiple of the batch.

    Up to v5.0 logs give the samples consumed as `step`.
    """
    bare = pl.col("step_number").is_not_null() & pl.col("samples_count").is_null()
    logs = (
        steps.filter(bare)
        .join(facts.filter(pl.col("global_batch") > 1), on="log")
        .group_by("log")
        .agg(
            is_step_in_samples=(pl.col("step_number") % pl.col("global_batch") == 0).all()
            & (pl.col("step_number") != 0).any()
        )
    )
    swap = bare & pl.col("is_step_in_samples").fill_null(False)
    return steps.join(logs, on="log", how="left", maintain_order="left").with_columns(
        samples_count=pl.when(swap).then("step_number").otherwise("samples_count"),
        step_number=pl.when(~swap).then("step_number"),
    )


def _summarise(steps: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """Return the step time of each run: of the settled part of its single steps, else of its blocks.

    A throughput after run_stop is that of the whole run, evaluations included, so one before it counts where there is
    one. Logs without any step time have that of their blocks, where these state the samples consumed.
    """
    seconds, rate, is_block = pl.col("step_seconds"), pl.col("throughput"), pl.col("is_block")
    is_rate = rate.is_finite() & (rate >= 0)
    is_early = (pl.col("line") < pl.col("run_stop_line")).fill_null(True)
    is_usable = (seconds.is_finite() & (seconds >= 0)).fill_null(False)
    logs = facts.join(
        steps.join(facts.select("log", "run_stop_line"), on="log", maintain_order="left")
        .group_by("log")
        .agg(
            pl.col("name_of_time").min(),
            logged_step_count=(is_usable & ~is_block).sum().cast(pl.Int64),
            throughput_median=pl.coalesce(rate.filter(is_rate & is_early).median(), rate.filter(is_rate).median()),
            steps_by_samples=_spanned(pl.col("samples_count").filter(~is_block)),
            steps_by_number=_spanned(pl.col("step_number").filter(~is_block)),
        ),
        on="log",
        how="left",
    ).with_columns(pl.col("logged_step_count").fill_null(0))
    chosen = (
        steps.filter(is_usable)
        .join(logs.select("log", "is_pooled", "logged_step_count"), on="log", maintain_order="left")
        .filter(pl.col("is_pooled") | ~is_block | (pl.col("logged_step_count") == 0))
    )
    is_timed = pl.col("name_of_time").is_not_null() & pl.col("step_median_seconds").is_not_null()
    is_of_blocks = ~is_timed & pl.col("step_median_seconds").is_not_null()
    names = pl.col("name_of_time").replace_strict(dict(enumerate(_STEP_TIMES)), return_dtype=pl.String)
    scope = pl.when(pl.col("logged_step_count") > 0).then(pl.lit("step")).otherwise(pl.lit("block"))
    spanned = pl.coalesce(pl.col("steps_by_samples") / pl.col("global_batch"), "steps_by_number")
    return (
        logs.join(_settled(chosen), on="log", how="left")
        .sort("log")
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


def _from_blocks() -> list[pl.Expr]:
    """Return step times that follow from blocks for logs that have none; pooled rounds stay as they were published."""
    has_none = pl.col("step_median_seconds").is_null() & ~pl.col("is_pooled") & (pl.col("global_batch") > 0)
    of_block = {
        "step_median_seconds": pl.col("block_median_seconds") * pl.col("global_batch"),
        "step_mean_seconds": pl.col("block_mean_seconds") * pl.col("global_batch"),
        "settling_step_count": pl.col("block_settling_count"),
    }
    return [pl.when(has_none).then(expression).otherwise(name).alias(name) for name, expression in of_block.items()]


def _settled(chosen: pl.DataFrame) -> pl.DataFrame:
    """Return median and mean of each run's settled part.

    It begins, from the fourth step on, where the median of five steps is within 2 % of the median of the run's
    second half, and with that half at the latest; in pooled rounds at the fourth step. Of blocks the first is left
    out, if there are three.
    """
    seconds, place, half = pl.col("step_seconds"), pl.col("place"), pl.col("count") // 2
    window, reference = pl.col("window"), pl.col("reference")
    numbered = chosen.select(
        "log",
        "is_pooled",
        "step_seconds",
        has_steps=pl.col("logged_step_count") > 0,
        place=pl.int_range(pl.len()).over("log"),
        count=pl.len().over("log").cast(pl.Int64),
        window=seconds.rolling_median(SETTLED_WINDOW_STEPS).shift(1 - SETTLED_WINDOW_STEPS).over("log"),
    ).with_columns(reference=seconds.filter(place >= half).median().over("log"))
    is_near = (window - reference).abs() <= SETTLED_WITHIN * reference
    starts = (
        numbered.group_by("log")
        .agg(
            pl.col("count", "is_pooled", "has_steps").first(),
            settled_from=place.filter(is_near & (place >= pl.min_horizontal(SETTLING_STEPS, half))).min(),
        )
        .select(
            "log",
            settling_step_count=pl.when(~pl.col("has_steps"))
            .then((pl.col("count") > 2).cast(pl.Int64))
            .when(pl.col("is_pooled"))
            .then(pl.min_horizontal(SETTLING_STEPS, pl.col("count") - 1))
            .otherwise(pl.min_horizontal("settled_from", half)),
        )
    )
    settled = numbered.join(starts, on="log").filter(place >= pl.col("settling_step_count"))
    return (
        settled.filter(seconds >= LAUNCH_SHARE * seconds.median().over("log"))
        .group_by("log")
        .agg(
            pl.col("settling_step_count").first(),
            step_median_seconds=seconds.median(),
            step_mean_seconds=seconds.mean(),
        )
    )


def _spanned(progress: pl.Expr) -> pl.Expr:
    """Return the progress from before the first record to the last: one mean distance more than between the two."""
    stated = progress.drop_nulls()
    span = stated.last() - stated.first()
    return pl.when((stated.len() > 1) & (span > 0)).then(span * stated.len() / (stated.len() - 1))
