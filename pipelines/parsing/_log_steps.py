"""The training statistics of many runs: step times, losses and throughput, and what each of them covers.

Reading training statistics belongs here; the step time of a run is taken from them in `_log_step_times`.
"""

from __future__ import annotations

from itertools import compress

import numpy as np
import polars as pl

from pipelines.parsing._event_columns import (
    ColumnReader,
    EventColumns,
    MarkColumns,
    places_of,
    read_numbers,
    read_samples,
    read_steps,
)
from pipelines.parsing._log_events import EventsByKey, LogMarks
from pipelines.parsing._log_json import LINES_A_LOG, Event, Statistics, StepEvent
from pipelines.parsing._log_lines import Offsets
from pipelines.parsing._log_step_times import PACE, POOLED_ROUNDS, STEP_TIMES, block_paces, summarise

TRACKED = "tracked_stats"
"""Key of events whose value is a dictionary of statistics."""
SCALARS = ("train_loss", "throughput")
"""Keys of events whose value is the statistic itself."""

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
_OF_STEP_VALUE = {name: _OF_VALUE[name] for name in ("train_step_time", "reduced_train_loss", "train_loss")}
_OF_METADATA: dict[str, ColumnReader] = {
    "metadata_samples": read_samples,
    "metadata_step": read_steps,
    "metadata_lr": lambda metadata: [entry.lr for entry in metadata],
}

_OF_STEP_METADATA = _OF_METADATA | {"metadata_step": lambda metadata: [entry.step for entry in metadata]}


class StepTable:
    """Training statistics, gathered from logs and then judged together."""

    def __init__(self) -> None:
        self._columns = EventColumns(_OF_VALUE, _OF_METADATA)
        self._step_columns = EventColumns(_OF_STEP_VALUE, _OF_STEP_METADATA)
        self._scalar_columns = {key: EventColumns({key: read_numbers}, _OF_METADATA) for key in SCALARS}
        self._block_starts = MarkColumns("block_start")
        self._block_stops = MarkColumns("block_stop")

    def add_steps(self, events: list[StepEvent], places: Offsets) -> None:
        """Gather the training statistics among such events, which stand at these places."""
        is_training = [event.value.validation_step_time is None for event in events]
        if not all(is_training):
            events, places = list(compress(events, is_training)), places[np.array(is_training)]
        self._step_columns.add(events, places)

    def add(self, marks: LogMarks, events: EventsByKey) -> None:
        """Gather blocks of steps, known and decoded ones, and the training statistics among the decoded events."""
        self._block_starts.add(marks)
        self._block_stops.add(marks)
        self._block_starts.add_events(events)
        self._block_stops.add_events(events)
        self._add_statistics(events.get(TRACKED, []))
        for key, columns in self._scalar_columns.items():
            found = events.get(key, [])
            scalars = [event for event in found if type(event.value) is not Statistics]
            columns.add(scalars, places_of(scalars))
            if len(scalars) < len(found):
                self._add_statistics(found)

    def _add_statistics(self, events: list[Event]) -> None:
        """Gather the training statistics among events whose value should be a dictionary of them."""
        training = [
            event for event in events if type(value := event.value) is Statistics and value.validation_step_time is None
        ]
        self._columns.add(training, places_of(training))

    def __len__(self) -> int:
        return sum(map(len, (self._step_columns, self._columns, *self._scalar_columns.values())))

    def frames(self, runs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the statistics, with the number of their log, and a summary with one row a log.

        Args:
            runs: One row a log, with `round`, `global_batch_size` and `run_stop_line`.
        """
        is_pooled = runs["round"].is_in(POOLED_ROUNDS)
        block_counts, paces = block_paces(
            self._block_starts.in_order(), self._block_stops.in_order(), is_pooled.to_list()
        )
        facts = runs.select(
            log=pl.int_range(pl.len()),
            global_batch="global_batch_size",
            block_count=pl.Series(block_counts, dtype=pl.Int64),
            is_pooled=is_pooled,
            run_stop_line="run_stop_line",
        ).hstack(pl.DataFrame(paces, schema=PACE, orient="row"))
        tables = [table for table in (self._columns, *self._scalar_columns.values()) if len(table)]
        steps = pl.concat([_statistics(table.frame()) for table in (self._step_columns, *tables)])
        steps = steps.sort("place").drop("place")
        steps = _tell_samples_from_steps(_mark_blocks(steps, facts), facts)
        scope = pl.when("is_block").then(pl.lit("block")).otherwise(pl.lit("step"))
        return steps.with_columns(scope=scope), summarise(steps, facts)


def _statistics(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that have a training statistic, each under one name, and their place among those of all logs.

    Args:
        rows: Columns of events; columns that no row has a value in may be absent.
    """
    times = [(number, seconds) for number, seconds in enumerate(STEP_TIMES.values()) if _are_in(rows, seconds)]
    return rows.select(
        "log",
        "line",
        "time_ms",
        name_of_time=pl.coalesce(
            *(pl.when(seconds.is_not_null()).then(pl.lit(number, pl.Int8)) for number, seconds in times),
            pl.lit(None, pl.Int8),
        ),
        step_number="metadata_step",
        samples_count="metadata_samples",
        step_seconds=pl.coalesce(*(seconds for _, seconds in times), pl.lit(None, pl.Float64)),
        train_loss=_first(rows, "reduced_train_loss", "train_loss"),
        throughput=_first(rows, "throughput", "imgs_sec"),
        learning_rate=_first(rows, "metadata_lr", "lr"),
        has_memory=_first(rows, "max_memory_usage").is_not_null(),
        place=pl.col("log") * LINES_A_LOG + pl.col("line"),
    ).filter(pl.any_horizontal(pl.col("step_seconds", "train_loss", "throughput").is_not_null()))


def _are_in(rows: pl.DataFrame, expression: pl.Expr) -> bool:
    return set(expression.meta.root_names()) <= set(rows.columns)


def _first(rows: pl.DataFrame, *names: str) -> pl.Expr:
    """Return the first value among those columns that the rows have, null where they have none."""
    return pl.coalesce(*(name for name in names if name in rows.columns), pl.lit(None, pl.Float64))


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
    flags = _flags(facts, logs, is_lone_a_block).gather(steps["log"])
    is_block = ~has_loss & (flags | pl.col("throughput").is_not_null() | pl.col("has_memory"))
    return steps.with_columns(is_block=is_block)


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
    swap = bare & _flags(facts, logs, pl.col("is_step_in_samples")).gather(steps["log"])
    return steps.with_columns(
        samples_count=pl.when(swap).then("step_number").otherwise("samples_count"),
        step_number=pl.when(~swap).then("step_number"),
    )


def _flags(facts: pl.DataFrame, logs: pl.DataFrame, flag: pl.Expr) -> pl.Series:
    """Return a flag of every log in their order, false where `logs` has none."""
    known = facts.join(logs, on="log", how="left", maintain_order="left")
    return known.select(flag.fill_null(value=False)).to_series()
