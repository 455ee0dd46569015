"""The evaluations of many runs: results in order, the interval around each, progress to the target.

Reading evaluation events belongs here; deciding whether a run counts does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.parsing._event_columns import Marks, RowColumns, step_of
from pipelines.parsing._log_events import EventsByKey, Reading
from pipelines.parsing._log_json import (
    LINES_A_LOG,
    Event,
    Metadata,
    NotAnEventError,
    Statistics,
    as_float,
    load_json,
    storable,
)
from pipelines.parsing._log_shapes import Row, RowKind

RESULT, ERROR = "eval_accuracy", "eval_error"
"""Keys of results; those of errors name a metric of their own."""

# fmt: off
_COUNTED_IN_EPOCHS = (
    "bert", "cosmoflow", "deepcam", "dlrm", "dlrm_dcnv2", "gnn", "gpt3", "maskrcnn", "minigo", "oc20", "openfold",
    "resnet", "retinanet", "rgat", "rnnt", "ssd", "unet3d",
)
# fmt: on
"""Benchmarks whose convergence is counted in `epoch_num`, whatever else their logs carry."""

_EPOCH_UNITS = {"gpt3": "tokens", "bert": "samples", "openfold": "samples"}
"""What `epoch_num` counts where it does not count epochs."""

_HIGHEST_FID, _LOWEST_CLIP = 90.0, 0.15
"""Targets of stable_diffusion, whose two metrics are logged apart, after training."""

_UNKNOWN = -1


def _read(event: Event) -> Row:
    """Return the result that an event states, with its progress and metric."""
    progress = event.metadata
    metric = None if progress.metric in ("", event.key) else progress.metric
    return as_float(event.value), progress.samples_count, progress.epoch_num, step_of(progress), metric


EVAL_ROWS = RowKind(
    keys=(RESULT,),
    columns=("quality", "samples_count", "epoch_number", "step_number", "metric"),
    is_row_by_itself=lambda event: type(event.value) is not Statistics,
    read=_read,
)
"""Rows of results, each of one metric."""


class EvalTable:
    """Evaluations, gathered from logs and then put in order together."""

    def __init__(self) -> None:
        self._results = RowColumns(EVAL_ROWS, texts={"metric"})

    def add(self, reading: Reading, events: EventsByKey) -> None:
        """Gather the results of logs, known and decoded ones."""
        results = [result for event in events.get(RESULT, []) for result in _results_of(reading, event)]
        errors = [_as_result(event, event.metadata.metric or ERROR, event.value) for event in events.get(ERROR, [])]
        self._results.add(reading.rows[EVAL_ROWS], results + errors)

    def frames(self, runs: pl.DataFrame, marks: Mapping[str, Marks]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the results, with the number of their log, and what `core.runs` says of them, one row a log.

        A run's results are those up to its first run_stop, its intervals those of the whole log.

        Args:
            runs: One row a log, with `benchmark` and `run_stop_line`.
            marks: By key, those of evaluations among them.
        """
        rows = self._results.frame(EVAL_ROWS.columns).drop("key")
        results, intervals = _pair(rows, marks["eval_start"], marks["eval_stop"])
        facts = runs.select("benchmark", "run_stop_line", log=pl.int_range(pl.len()))
        # Rows are so few that to start queries costs most, so this is one, and of the engine that starts sooner.
        summary = _summarise(results.lazy(), intervals.lazy(), facts.lazy()).collect(engine="in-memory")
        return results, summary


def _results_of(reading: Reading, event: Event) -> list[Event]:
    """Return the event itself, or one of each metric that it names in its value."""
    if type(event.value) is not Statistics:
        return [event]
    metrics = _metrics_of(reading.text_at(event.place))
    return [_as_result(event, storable(name), quality) for name, quality in metrics.items()]


def _as_result(event: Event, metric: str, quality: Any) -> Event:
    data = event.metadata
    metadata = Metadata(data.samples_count, data.epoch_num, data.step_num, data.step, metric=metric)
    return Event(event.time_ms, RESULT, as_float(quality), metadata, event.place)


def _metrics_of(text: bytes) -> dict[str, Any]:
    try:
        metrics: dict[str, Any] = load_json(text)["value"]
    except NotAnEventError:  # nested too deeply for the json module alone
        return {}
    return metrics


def _pair(results: pl.DataFrame, starts: Marks, stops: Marks) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return each result with the interval that encloses it or ended just before it, and all intervals.

    An interval is a stop with the last start before it, if no other stop lies between. A result in no interval that
    is closed ends at the next stop, unless a start comes first; logs without starts give the stop alone.
    """
    start_at, start_ms = _padded(starts)
    stop_at, stop_ms = _padded(stops)
    start_of_stop = start_at.searchsorted(stop_at) - 1
    begins_log = stop_at // LINES_A_LOG * LINES_A_LOG
    previous_stop_at = np.concatenate([stop_at[:1], stop_at[:-1]])
    has_start = start_at[start_of_stop] > np.maximum(previous_stop_at, begins_log)

    result_at = results["place"].to_numpy()
    begins_log = result_at // LINES_A_LOG * LINES_A_LOG
    start, stop = start_at.searchsorted(result_at) - 1, stop_at.searchsorted(result_at) - 1
    is_open = start_at[start] > np.maximum(stop_at[stop], begins_log)
    is_closed = ~is_open & (stop_at[stop] > begins_log) & has_start[stop]
    is_next_stop_its = stop_at[stop + 1] < np.minimum(start_at[start + 1], begins_log + LINES_A_LOG)
    started = np.where(is_open, start_ms[start], np.where(is_closed, start_ms[start_of_stop[stop]], _UNKNOWN))
    stopped = np.where(is_closed, stop_ms[stop], np.where(is_next_stop_its, stop_ms[stop + 1], _UNKNOWN))

    durations = pl.DataFrame(
        {
            "log": stop_at[has_start] // LINES_A_LOG,
            "seconds": (stop_ms[has_start] - start_ms[start_of_stop[has_start]]) / 1000,
        }
    )
    # Divided here: Polars multiplies by 0.001 instead, which is one bit off now and then.
    columns = pl.DataFrame({"start_ms": started, "stop_ms": stopped, "duration_seconds": (stopped - started) / 1000})
    has_start, has_stop = pl.col("start_ms") != _UNKNOWN, pl.col("stop_ms") != _UNKNOWN
    known = columns.select(
        pl.when(has_start).then("start_ms"),
        pl.when(has_stop).then("stop_ms"),
        pl.when(has_start & has_stop).then("duration_seconds"),
    )
    return pl.concat([results, known], how="horizontal"), durations


def _padded(marks: Marks) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return place and time of events, between an event before all logs and one after them."""
    last = np.iinfo(np.int64).max
    return np.concatenate([[-1], marks.places, [last]]), np.concatenate([[0], marks.time_ms, [0]])


def _summarise(results: pl.LazyFrame, intervals: pl.LazyFrame, facts: pl.LazyFrame) -> pl.LazyFrame:
    seconds = pl.col("seconds")
    durations = (
        intervals.filter(seconds >= 0)
        .with_columns(text=seconds.cast(pl.String))
        .group_by("log", maintain_order=True)
        .agg("text", eval_median_seconds=seconds.median(), eval_total_seconds=seconds.sum())
        .select(
            "log",
            pl.format("[{}]", pl.col("text").list.join(", ")).alias("eval_seconds"),
            "eval_median_seconds",
            "eval_total_seconds",
        )
    )
    is_late = pl.col("line") > pl.col("run_stop_line").fill_null(LINES_A_LOG)
    counted = results.join(facts, on="log", maintain_order="left").filter(~is_late | is_late.all().over("log"))
    samples = (
        counted.filter(pl.col("samples_count").is_between(0, 2.0**62))
        .select("log", samples=pl.col("samples_count").cast(pl.Int64))
        .unique(maintain_order=True)
    )
    is_farther = (pl.col("log") == pl.col("log").shift()) & (pl.col("samples") > pl.col("samples").shift())
    distances = samples.with_columns(distance=pl.when(is_farther).then(pl.col("samples").diff()))
    return (
        facts.join(_last_results(counted), on="log", how="left")
        .join(durations, on="log", how="left")
        .join(
            distances.group_by("log", maintain_order=True).agg(
                first_eval_samples=pl.col("samples").first(),
                eval_interval_samples=pl.col("distance").quantile(0.5, "lower").cast(pl.Int64),
            ),
            on="log",
            how="left",
        )
        .sort("log")
        .with_columns(pl.col("eval_count").fill_null(0))
        .drop("log", "benchmark", "run_stop_line")
    )


def _last_results(counted: pl.LazyFrame) -> pl.LazyFrame:
    """Return each run's number of evaluations and what its last one says: value and progress.

    Results at one progress are one evaluation. Progress is what the rule for convergence points takes: samples or
    epochs, as the benchmark counts; for stable_diffusion that of the first evaluation that meets both targets.
    """
    progress = ("samples_count", "epoch_number", "step_number")
    counts = (
        counted.group_by("log", *progress)
        .len()
        .with_columns(count=pl.when(pl.all_horizontal(pl.col(progress).is_null())).then("len").otherwise(1))
        .group_by("log")
        .agg(eval_count=pl.col("count").sum().cast(pl.Int64))
    )
    passing = (
        counted.filter(benchmark="stable_diffusion")
        .group_by("log", *progress)
        .agg(
            has_fid=((pl.col("metric") == "FID") & (pl.col("quality") <= _HIGHEST_FID)).any(),
            has_clip=((pl.col("metric") == "CLIP") & (pl.col("quality") >= _LOWEST_CLIP)).any(),
        )
        .filter("has_fid", "has_clip")
        .group_by("log")
        .agg(
            passing_samples=pl.col("samples_count").min(),
            passing_step=pl.col("step_number").min(),
            has_passed=pl.lit(True),
        )
    )
    last = (
        counted.select("log", "benchmark", *progress, "quality")
        .group_by("log", maintain_order=True)
        .last()
        .join(passing, on="log", how="left")
        # As Python rounds; Polars may end in another digit.
        .with_columns(pl.col("epoch_number").map_elements(lambda number: round(number, 3), return_dtype=pl.Float64))
    )
    return last.join(counts, on="log").select(
        "log", "eval_count", *_progress(pl.col("has_passed").fill_null(False)), final_quality="quality"
    )


def _progress(has_passed: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return `samples_to_converge` and `samples_unit`."""
    samples = pl.when(has_passed).then("passing_samples").otherwise("samples_count")
    steps = pl.when(has_passed).then("passing_step").otherwise("step_number")
    epoch_unit = pl.col("benchmark").replace_strict(_EPOCH_UNITS, default="epochs")
    known = {
        name: (pl.when(value >= 0).then(value), pl.when(value >= 0).then(unit))
        for name, value, unit in (
            ("samples", samples, pl.lit("samples")),
            ("epochs", pl.col("epoch_number"), epoch_unit),
            ("steps", steps, pl.lit("steps")),
        )
    }
    is_counted_in_epochs = pl.col("benchmark").is_in(_COUNTED_IN_EPOCHS)
    value, unit = (
        pl.when(is_counted_in_epochs)
        .then(pl.coalesce(known[name][part] for name in ("epochs", "samples", "steps")))
        .otherwise(pl.coalesce(known[name][part] for name in ("samples", "epochs", "steps")))
        for part in (0, 1)
    )
    return value.alias("samples_to_converge"), unit.alias("samples_unit")
