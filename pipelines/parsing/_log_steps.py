"""The training statistics of one run: step times, losses and throughput in order, and the settled step time.

Reading training statistics belongs here; turning a step time into a prediction does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from operator import attrgetter

from pipelines.parsing._log_events import Event, LogEvents, Statistics, as_float

_Column = list[float | None]

_STEP_TIMES: dict[str, Callable[[Event], float | None]] = {
    "train_step_time": attrgetter("value.train_step_time"),
    "train_step_timing": attrgetter("value.train_step_timing"),
    "train_step_timing in s": attrgetter("value.train_step_timing_in_s"),
}
_LOSSES = tuple(attrgetter(f"value.{name}") for name in ("reduced_train_loss", "train_loss", "loss"))
_THROUGHPUTS = tuple(attrgetter(f"value.{name}") for name in ("throughput", "imgs_sec"))
_LEARNING_RATES = tuple(attrgetter(name) for name in ("metadata.lr", "value.lr", "value.learning_rate"))

POOLED_ROUNDS = frozenset({"training-v5.0", "training-v5.1"})
"""Rounds whose step times have been published over every record of a log but the first three.

The few block means among the records move such a median by less than 0.1 %; calibrations rest on it as it is.
"""
SETTLING_STEPS = 3
"""Steps that no settled part includes."""
_WINDOW_STEPS = 5
_SETTLED_WITHIN = 0.02
_LAUNCH_SHARE = 0.25
"""A record under a quarter of the median times the launch of a step and not the step."""


@dataclass(slots=True)
class StepColumns:
    """One entry per training statistic, in the order of the log."""

    index: list[int] = field(default_factory=list)
    """Place of the event among the events of the log."""
    seconds: _Column = field(default_factory=list)
    loss: _Column = field(default_factory=list)
    throughput: _Column = field(default_factory=list)
    learning_rate: _Column = field(default_factory=list)
    step: _Column = field(default_factory=list)
    samples: _Column = field(default_factory=list)
    is_block: list[bool] = field(default_factory=list)


@dataclass(slots=True)
class StepSummary:
    """The step time of a run, from the settled part of its log."""

    key: str | None = None
    scope: str | None = None
    logged_count: int = 0
    settling_count: int | None = None
    median_seconds: float | None = None
    mean_seconds: float | None = None
    throughput_median: float | None = None


def read_steps(
    log: LogEvents, by_key: dict[str, list[int]], global_batch: int | None
) -> tuple[StepColumns, str | None]:
    """Return the training statistics of a log and the name of its step-time statistic.

    Up to v5.0 logs give the samples consumed as `step`: where every such value is a multiple of the batch, it is
    taken as samples.
    """
    columns, key = _tracked(log, by_key.get("tracked_stats", []))
    _mark_blocks(columns, key, log, len(by_key.get("block_stop", ())))
    for name in ("train_loss", "throughput"):
        if name in by_key:
            _add_scalars(columns, log.events, by_key[name], name)
    if columns.index != sorted(columns.index):
        _sort(columns)
    _tell_samples_from_steps(columns, global_batch)
    return columns, key


def _tracked(log: LogEvents, tracked: list[int]) -> tuple[StepColumns, str | None]:
    events = log.events
    index = [
        place
        for place in tracked
        if type(value := events[place].value) is Statistics and value.validation_step_time is None
    ]
    rows = [events[place] for place in index]
    key: str | None = None
    seconds: _Column = [None] * len(rows)
    for name, reader in _STEP_TIMES.items():
        column = list(map(reader, rows))
        if any(value is not None for value in column):
            key, seconds = name, column
            break
    else:
        # Mask R-CNN logs of v2.1 to v3.1 name the time of an iteration `time`, beside the share of `data` in it.
        column = [_iteration_time(event) for event in rows]
        if any(value is not None for value in column):
            key, seconds = "time", column
    loss, throughput = _first(rows, _LOSSES), _first(rows, _THROUGHPUTS)
    keep = [any(value is not None for value in row) for row in zip(seconds, loss, throughput, strict=True)]
    if not all(keep):
        index, rows = list(compress(index, keep)), list(compress(rows, keep))
        seconds, loss, throughput = (list(compress(column, keep)) for column in (seconds, loss, throughput))
    columns = StepColumns(index, seconds, loss, throughput, _first(rows, _LEARNING_RATES))
    _add_progress(columns, rows)
    return columns, key


def _iteration_time(event: Event) -> float | None:
    value = event.value
    return value.time if isinstance(value, Statistics) and value.data is not None else None


def _first(rows: list[Event], readers: Sequence[Callable[[Event], float | None]]) -> _Column:
    """Return the first statistic that any row has, filled up from the others."""
    column: _Column = [None] * len(rows)
    for reader in readers:
        found = list(map(reader, rows))
        if any(value is not None for value in found):
            column = [new if old is None else old for old, new in zip(column, found, strict=True)]
            if None not in column:
                break
    return column


def _add_progress(columns: StepColumns, rows: list[Event]) -> None:
    for event in rows:
        metadata = event.metadata
        step = metadata.step_num if metadata.step_num is not None else metadata.step
        columns.step.append(step if isinstance(step, float) else None)
        columns.samples.append(metadata.samples_count)


def _mark_blocks(columns: StepColumns, key: str | None, log: LogEvents, block_count: int) -> None:
    """Tell the time of a step from the mean of a block of steps.

    A time with a loss is a step's. One with a throughput or memory use is a block's. One alone is a block's if the
    log also times steps with a loss, or has no more such times than blocks.
    """
    with_loss = [loss is not None for loss in columns.loss]
    lone = sum(
        seconds is not None and not has_loss for seconds, has_loss in zip(columns.seconds, with_loss, strict=True)
    )
    times_steps = any(
        has_loss and seconds is not None for seconds, has_loss in zip(columns.seconds, with_loss, strict=True)
    )
    lone_is_block = times_steps or (key == "train_step_time" and lone <= max(block_count, 1))
    for place, has_loss in enumerate(with_loss):
        if has_loss:
            columns.is_block.append(False)
            continue
        value = log.events[columns.index[place]].value
        summed = columns.throughput[place] is not None or (
            isinstance(value, Statistics) and value.max_memory_usage is not None
        )
        columns.is_block.append(summed or lone_is_block)


def _add_scalars(columns: StepColumns, events: list[Event], places: list[int], name: str) -> None:
    """Add events whose value is the statistic itself."""
    rows = [events[place] for place in places]
    values = [as_float(event.value) for event in rows]
    empty: _Column = [None] * len(rows)
    columns.index += places
    columns.seconds += empty
    columns.loss += values if name == "train_loss" else empty
    columns.throughput += values if name == "throughput" else empty
    columns.learning_rate += [event.metadata.lr for event in rows]
    columns.is_block += [name == "throughput"] * len(rows)
    _add_progress(columns, rows)


def _sort(columns: StepColumns) -> None:
    order = sorted(range(len(columns.index)), key=columns.index.__getitem__)
    for name in StepColumns.__slots__:
        column = getattr(columns, name)
        column[:] = [column[place] for place in order]


def _tell_samples_from_steps(columns: StepColumns, global_batch: int | None) -> None:
    if not global_batch or global_batch < 2:
        return
    bare = [
        place
        for place, (step, samples) in enumerate(zip(columns.step, columns.samples, strict=True))
        if step is not None and samples is None
    ]
    steps = [columns.step[place] or 0.0 for place in bare]
    if any(steps) and all(step % global_batch == 0 for step in steps):
        for place in bare:
            columns.samples[place], columns.step[place] = columns.step[place], None


def summarise(columns: StepColumns, key: str | None, round_name: str) -> StepSummary:
    """Return the settled step time of a run: of its single steps, else of its blocks, never of both."""
    records = [
        (seconds, is_block)
        for seconds, is_block in zip(columns.seconds, columns.is_block, strict=True)
        if seconds is not None and 0 <= seconds < float("inf")
    ]
    single = [seconds for seconds, is_block in records if not is_block]
    summary = StepSummary(logged_count=len(single))
    throughputs = [value for value in columns.throughput if value is not None and 0 <= value < float("inf")]
    if throughputs:
        summary.throughput_median = median(throughputs)
    if not records:
        return summary
    summary.key, summary.scope = key, "step" if single else "block"
    is_pooled = round_name in POOLED_ROUNDS or not single
    chosen = [seconds for seconds, _ in records] if is_pooled else single
    summary.settling_count = _settling_steps(chosen, round_name) if single else int(len(chosen) > 2)
    settled = chosen[summary.settling_count :]
    if settled:
        typical = median(settled)
        settled = [seconds for seconds in settled if seconds >= _LAUNCH_SHARE * typical]
        summary.median_seconds, summary.mean_seconds = median(settled), sum(settled) / len(settled)
    return summary


def _settling_steps(seconds: list[float], round_name: str) -> int:
    """Return how many steps at the start of a run do not belong to its settled part.

    From the fourth step on, the settled part begins where the median of five steps is within 2 % of the median of
    the second half of the run.
    """
    half = len(seconds) // 2
    if round_name in POOLED_ROUNDS or half <= SETTLING_STEPS:
        return min(SETTLING_STEPS, len(seconds) - 1)
    reference = median(seconds[half:])
    for start in range(SETTLING_STEPS, half):
        if abs(median(seconds[start : start + _WINDOW_STEPS]) - reference) <= _SETTLED_WITHIN * reference:
            return start
    return half


def step_count(columns: StepColumns, global_batch: int | None) -> int | None:
    """Return the steps from the first to the last timed one, by samples and batch or by step number."""
    single = [place for place, is_block in enumerate(columns.is_block) if not is_block]
    if not single:
        return None
    first, last = single[0], single[-1]
    for column, per_step in ((columns.samples, global_batch), (columns.step, 1)):
        begin, end = column[first], column[last]
        if begin is not None and end is not None and per_step and end >= begin:
            return round((end - begin) / per_step) + 1
    return None


def median(values: Sequence[float]) -> float:
    """Return the median of at least one number."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
