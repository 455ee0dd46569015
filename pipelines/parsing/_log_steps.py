"""The training statistics of many runs: step times, losses and throughput, and what each of them covers.

Reading training statistics belongs here; the step time of a run is taken from them in `_log_step_times`.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

import polars as pl

from pipelines.parsing._event_columns import Marks, RowColumns, step_of
from pipelines.parsing._log_events import EventsByKey, Reading
from pipelines.parsing._log_json import Event, Statistics, as_float
from pipelines.parsing._log_shapes import Row, RowKind
from pipelines.parsing._log_step_times import PACE, POOLED_ROUNDS, STEP_TIMES, block_paces, summarise

TRACKED = "tracked_stats"
"""Key of events whose value is a dictionary of statistics."""
SCALARS = ("train_loss", "throughput")
"""Keys of events whose value is the statistic itself."""

_MEMBERS = (
    "train_step_time",
    "train_step_timing",
    "train_step_timing_in_s",
    "time",
    "data",
    "reduced_train_loss",
    "train_loss",
    "throughput",
    "imgs_sec",
    "lr",
    "max_memory_usage",
)
"""Members of an event's statistics that are read."""
_COVERED = ("metadata_samples", "metadata_step", "metadata_lr")
_read_members = attrgetter(*_MEMBERS)


def _read(event: Event) -> Row | None:
    """Return the training statistics that an event states, with what they cover."""
    statistics = event.value
    if type(statistics) is not Statistics:
        if event.key not in SCALARS:
            return None
        statistics = Statistics(**{event.key: as_float(statistics)})
    if statistics.validation_step_time is not None:
        return None
    covered = event.metadata
    return (*_read_members(statistics), covered.samples_count, step_of(covered), covered.lr)


STEP_ROWS = RowKind(
    keys=(TRACKED, *SCALARS),
    columns=(*_MEMBERS, *_COVERED),
    read=_read,
)
"""Rows of training statistics."""
UNREAD_STEPS = RowKind(keys=STEP_ROWS.keys, columns=(), read=lambda _: None)
"""The same events where nothing but their being events is wanted of them."""


class StepTable:
    """Training statistics, gathered from logs and then judged together."""

    def __init__(self) -> None:
        self._rows = RowColumns(STEP_ROWS)

    def add(self, reading: Reading, events: EventsByKey) -> None:
        """Gather the training statistics of logs, known and decoded ones."""
        self._rows.add(reading.rows[STEP_ROWS], [event for key in STEP_ROWS.keys for event in events.get(key, [])])

    def __len__(self) -> int:
        return len(self._rows)

    def frames(self, runs: pl.DataFrame, marks: Mapping[str, Marks]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the statistics, with the number of their log, and a summary with one row a log.

        Args:
            runs: One row a log, with `round`, `global_batch_size` and `run_stop_line`.
            marks: By key, those of blocks of steps among them.
        """
        is_pooled = runs["round"].is_in(POOLED_ROUNDS)
        block_counts, paces = block_paces(marks["block_start"], marks["block_stop"], is_pooled.to_list())
        facts = runs.select(
            log=pl.int_range(pl.len()),
            global_batch="global_batch_size",
            block_count=pl.Series(block_counts, dtype=pl.Int64),
            is_pooled=is_pooled,
            run_stop_line="run_stop_line",
        ).hstack(pl.DataFrame(paces, schema=PACE, orient="row"))
        steps = _tell_samples_from_steps(_mark_blocks(_statistics(self._rows.frame(_COVERED)), facts), facts)
        scope = pl.when("is_block").then(pl.lit("block")).otherwise(pl.lit("step"))
        return steps.with_columns(scope=scope), summarise(steps, facts)


def _statistics(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that have a training statistic, each under one name.

    Args:
        rows: Columns of `STEP_ROWS`; of its members those in which no row has a value may be absent.
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
