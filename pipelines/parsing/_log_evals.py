"""The evaluations of one run: results in order, the interval around each, progress to the target.

Reading evaluation events belongs here; deciding whether a run counts does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from pipelines.parsing._log_events import Event, LogEvents, NotAnEventError, as_float, load_json, storable

RESULT_KEYS = ("eval_accuracy", "eval_error")

# fmt: off
_COUNTED_IN_EPOCHS = frozenset((
    "bert", "cosmoflow", "deepcam", "dlrm", "dlrm_dcnv2", "gnn", "gpt3", "maskrcnn", "minigo", "oc20", "openfold",
    "resnet", "retinanet", "rgat", "rnnt", "ssd", "unet3d",
))
# fmt: on
"""Benchmarks whose convergence is counted in `epoch_num`, whatever else their logs carry."""

_EPOCH_UNITS = {"gpt3": "tokens", "bert": "samples"}
"""What `epoch_num` counts where it does not count epochs."""

_IMAGE_TARGETS = {"FID": 90.0, "CLIP": 0.15}
"""Targets of stable_diffusion: FID at most, CLIP at least. Its two metrics are logged apart, after training."""


@dataclass(slots=True)
class Evaluation:
    """One evaluation result."""

    index: int
    """Place of its event among the events of the log."""
    metric: str | None
    quality: float | None
    start_ms: int | None = None
    stop_ms: int | None = None

    @property
    def duration_seconds(self) -> float | None:
        """Return the time from eval_start to eval_stop, where both are known."""
        return None if self.start_ms is None or self.stop_ms is None else (self.stop_ms - self.start_ms) / 1000


@dataclass(slots=True)
class Evaluations:
    """What the log says about evaluations."""

    results: list[Evaluation]
    durations_seconds: list[float]
    """Of each interval from eval_start to eval_stop, whether or not a result lies in it."""


def read_evaluations(log: LogEvents, by_key: dict[str, list[int]]) -> Evaluations:
    """Return the evaluations of a log, each with the interval that encloses it or ends just before it."""
    found = Evaluations([], [])
    relevant = [index for key in ("eval_start", "eval_stop", *RESULT_KEYS) for index in by_key.get(key, ())]
    relevant.sort()
    start: Event | None = None
    closed: tuple[int, int] | None = None
    waiting: list[Evaluation] = []
    for index in relevant:
        event = log.events[index]
        if event.key == "eval_start":
            if start is None or start.metadata != event.metadata:
                start, closed, waiting = event, None, []
        elif event.key == "eval_stop":
            for result in waiting:
                result.stop_ms = event.time_ms
            if start is not None:
                closed = (start.time_ms, event.time_ms)
                found.durations_seconds.append((event.time_ms - start.time_ms) / 1000)
            start, waiting = None, []
        else:
            results = _results(log, index)
            for result in results:
                if start is not None:
                    result.start_ms = start.time_ms
                elif closed is not None:
                    result.start_ms, result.stop_ms = closed
            if closed is None:
                waiting += results
            found.results += results
    return found


def _results(log: LogEvents, index: int) -> list[Evaluation]:
    """Return the results of one event: several where its value is a dictionary of metrics."""
    event = log.events[index]
    metric = event.metadata.metric or ("eval_error" if event.key == "eval_error" else None)
    value = event.value
    if value is None or isinstance(value, bool | int | float | list | str):
        return [Evaluation(index, metric, as_float(value))]
    try:
        record = load_json(log.texts[index])
    except NotAnEventError:
        return [Evaluation(index, metric, None)]
    metrics = record["value"]
    return [Evaluation(index, storable(name), as_float(quality)) for name, quality in metrics.items()]


def progress_to_target(log: LogEvents, results: list[Evaluation], benchmark: str) -> tuple[float | None, str | None]:
    """Return what the run needed, and its unit, as the rule for convergence points reads a log.

    That is the progress at the last evaluation; for stable_diffusion at the first that meets both targets.
    """
    if not results:
        return None, None
    if benchmark == "stable_diffusion":
        passed = _first_passing_step(log, results)
        if passed is not None:
            return passed
    metadata = log.events[results[-1].index].metadata
    epochs = None if metadata.epoch_num is None else round(metadata.epoch_num, 3)
    candidates = [
        (metadata.samples_count, "samples"),
        (epochs, _EPOCH_UNITS.get(benchmark, "epochs")),
        (step_of(log.events[results[-1].index]), "steps"),
    ]
    if benchmark in _COUNTED_IN_EPOCHS:
        candidates[0], candidates[1] = candidates[1], candidates[0]
    return next(((value, unit) for value, unit in candidates if value is not None and value >= 0), (None, None))


def _first_passing_step(log: LogEvents, results: list[Evaluation]) -> tuple[float, str] | None:
    by_step: dict[tuple[float, str], dict[str, float]] = {}
    for result in results:
        metadata = log.events[result.index].metadata
        if result.metric is None or result.quality is None:
            continue
        if metadata.samples_count is not None:
            step = metadata.samples_count, "samples"
        elif metadata.step_num is not None:
            step = metadata.step_num, "steps"
        else:
            continue
        by_step.setdefault(step, {})[result.metric] = result.quality
    passing = [
        step
        for step, metrics in by_step.items()
        if metrics.keys() >= _IMAGE_TARGETS.keys()
        and metrics["FID"] <= _IMAGE_TARGETS["FID"]
        and metrics["CLIP"] >= _IMAGE_TARGETS["CLIP"]
    ]
    return min(passing, default=None)


def step_of(event: Event) -> float | None:
    """Return the step that an evaluation names."""
    step = event.metadata.step_num if event.metadata.step_num is not None else event.metadata.step
    return step if isinstance(step, float) else None


def count(events: list[Event], results: list[Evaluation]) -> int:
    """Return how many evaluations the results belong to: those at one progress are one."""
    progress = [
        (metadata.samples_count, metadata.epoch_num, step_of(events[result.index]))
        for result in results
        for metadata in (events[result.index].metadata,)
    ]
    stated = {key for key in progress if key != (None, None, None)}
    return len(stated) + len({result.index for result, key in zip(results, progress, strict=True) if key not in stated})


def samples_at(events: list[Event], results: list[Evaluation]) -> list[int]:
    """Return the samples consumed at each evaluation that states a whole number of them, each number once."""
    counts = (events[result.index].metadata.samples_count for result in results)
    return list(dict.fromkeys(int(count) for count in counts if count is not None and 0 <= count < 2**63))


def interval(samples: list[int]) -> int | None:
    """Return the median distance between evaluations: of two middle ones the shorter; None for fewer than two."""
    distances = sorted(later - earlier for earlier, later in pairwise(samples) if later > earlier)
    return distances[(len(distances) - 1) // 2] if distances else None
