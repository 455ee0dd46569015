"""What one result log says about its run: settings, start and stop, evaluations and steps in sum.

Reading one log into plain values belongs here; frames are made in `result_logs`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Literal

from pipelines.parsing import _log_evals, _log_steps
from pipelines.parsing._log_events import LARGEST_INTEGER, Event, as_number, read_events
from pipelines.parsing._log_steps import median
from pipelines.parsing.layout import Placed, result_id
from pipelines.parsing.published import ParseFinding, PublishedFile

_BROKEN_LINES_QUOTED = 20

_TEXTS = {
    "submission_benchmark": ("submission_benchmark",),
    "submission_organisation": ("submission_org",),
    "submission_division": ("submission_division",),
    "submission_status": ("submission_status",),
    "submission_platform": ("submission_platform",),
    "seed": ("seed",),
    "precision": ("lowest_numerical_precision_in_linear", "precision", "precision_mode"),
}
_COUNTS = {
    "max_sequence_length": "max_sequence_length",
    "train_samples": "train_samples",
    "eval_samples": "eval_samples",
    "number_of_nodes": "number_of_nodes",
    "accelerators_per_node": "accelerators_per_node",
}
_COUNTS_FROM_ONE = {
    "tensor_parallel": "tensor_parallelism",
    "pipeline_parallel": "pipeline_parallelism",
    "context_parallel": "context_parallelism",
    "expert_parallel": "expert_parallelism",
    "micro_batch": "micro_batch_size",
}
_TARGET_KEYS = ("target_accuracy", "quality_target")


class LogReading:
    """One log, read; `findings` holds what could not be."""

    def __init__(self, file: PublishedFile, placed: Placed) -> None:
        self.findings: list[ParseFinding] = []
        self.result_id = result_id(file.round, placed)
        self.run_id = f"{self.result_id}/{placed.name.removesuffix('.txt')}"
        self._file = file
        self._placed = placed
        self._log = read_events(file.content)
        self._events = self._log.events
        self._places: dict[str, list[int]] = defaultdict(list)
        for place, event in enumerate(self._events):
            self._places[event.key].append(place)
        self._global_batch = self._count("global_batch_size")
        self._evaluations = _log_evals.read_evaluations(self._log, self._places)
        self._steps, self._step_key = _log_steps.read_steps(self._log, self._places, self._global_batch)

    def run(self) -> dict[str, Any]:
        """Return the row of `core.runs`."""
        log, placed = self._log, self._placed
        self._report_broken_lines()
        return {
            "round": self._file.round,
            "source_path": self._file.path,
            "source_sha256": self._file.sha256,
            "run_id": self.run_id,
            "result_id": self.result_id,
            "submitter_folder": placed.submitter_folder,
            "system": placed.system,
            "benchmark": placed.benchmark,
            "scaling_mode": placed.scaling_mode,
            "size_bytes": len(self._file.content),
            "line_count": log.line_count,
            "event_count": len(log.events) + len(log.broken),
            "broken_line_count": len(log.broken),
            "first_broken_line": log.broken[0].line if log.broken else None,
            "global_batch_size": self._global_batch,
            "gradient_accumulation_steps": self._number("gradient_accumulation_steps", minimum=0),
            "target_quality": self._number(*_TARGET_KEYS),
            **{column: self._text(*keys) for column, keys in _TEXTS.items()},
            **{column: self._count(key) for column, key in _COUNTS.items()},
            **{column: self._count(key, minimum=1) for column, key in _COUNTS_FROM_ONE.items()},
            **self._times(),
            **self._evaluation_summary(),
            **self._step_summary(),
        }

    def eval_columns(self) -> dict[str, Sequence[Any]]:
        """Return what differs by row in `core.evals`."""
        results = self._evaluations.results
        events = [self._events[result.index] for result in results]
        return {
            "line": [self._line(result.index) for result in results],
            "time_ms": [event.time_ms for event in events],
            "samples_count": [event.metadata.samples_count for event in events],
            "epoch_number": [event.metadata.epoch_num for event in events],
            "step_number": [_log_evals.step_of(event) for event in events],
            "metric": [result.metric for result in results],
            "quality": [result.quality for result in results],
            "start_ms": [result.start_ms for result in results],
            "stop_ms": [result.stop_ms for result in results],
            "duration_seconds": [result.duration_seconds for result in results],
        }

    def step_columns(self) -> dict[str, Sequence[Any]]:
        """Return what differs by row in `core.steps`."""
        steps = self._steps
        return {
            "line": self._log.lines[steps.index].tolist(),
            "time_ms": [self._events[place].time_ms for place in steps.index],
            "scope": ["block" if is_block else "step" for is_block in steps.is_block],
            "step_number": steps.step,
            "samples_count": steps.samples,
            "step_seconds": steps.seconds,
            "train_loss": steps.loss,
            "throughput": steps.throughput,
            "learning_rate": steps.learning_rate,
        }

    def _times(self) -> dict[str, Any]:
        start, stop = self._first("run_start"), self._first("run_stop")
        init_starts = [self._events[place].time_ms for place in self._places.get("init_start", ())]
        init_stops = self._places.get("init_stop", ())
        init_stop = max(init_stops, key=lambda place: self._events[place].time_ms, default=None)
        return {
            "run_start_count": len(self._places.get("run_start", ())),
            "run_start_ms": self._time(start),
            "run_start_line": self._line(start),
            "run_stop_count": len(self._places.get("run_stop", ())),
            "run_stop_ms": self._time(stop),
            "run_stop_line": self._line(stop),
            "status": None if stop is None else self._events[stop].metadata.status,
            "init_start_ms": min(init_starts, default=None),
            "init_stop_ms": self._time(init_stop),
            "init_stop_line": self._line(init_stop),
        }

    def _evaluation_summary(self) -> dict[str, Any]:
        stop = self._first("run_stop")
        results = self._evaluations.results
        within = [result for result in results if stop is None or result.index < stop] or results
        progress, unit = _log_evals.progress_to_target(self._log, within, self._placed.benchmark or "")
        samples = _log_evals.samples_at(self._events, within)
        durations = [seconds for seconds in self._evaluations.durations_seconds if seconds >= 0]
        return {
            "samples_to_converge": progress,
            "samples_unit": unit,
            "final_quality": within[-1].quality if within else None,
            "eval_count": _log_evals.count(self._events, within),
            "eval_seconds": json.dumps(durations) if durations else None,
            "eval_median_seconds": median(durations) if durations else None,
            "eval_total_seconds": sum(durations) if durations else None,
            "first_eval_samples": samples[0] if samples else None,
            "eval_interval_samples": _log_evals.interval(samples),
        }

    def _step_summary(self) -> dict[str, Any]:
        summary = _log_steps.summarise(self._steps, self._step_key, self._file.round)
        has_throughput = summary.throughput_median is not None
        unit = "tokens/s" if self._placed.benchmark == "gpt3" else "samples/s"
        return {
            "step_time_key": summary.key,
            "step_time_scope": summary.scope,
            "step_count": self._step_count(),
            "logged_step_count": summary.logged_count,
            "step_median_seconds": summary.median_seconds,
            "step_mean_seconds": summary.mean_seconds,
            "settling_step_count": summary.settling_count,
            "throughput_median": summary.throughput_median,
            "throughput_unit": unit if has_throughput else None,
        }

    def _step_count(self) -> int | None:
        """Return the optimizer steps: as stated at run_stop, else from samples and batch, else from the steps."""
        stop = self._first("run_stop")
        last = self._events[stop].metadata if stop is not None else None
        if last is not None and last.step_num is not None:
            return _whole(last.step_num)
        if last is not None and isinstance(last.step, float) and last.samples_count is not None:
            return _whole(last.step)
        samples = last.samples_count if last is not None else None
        if samples is None and self._evaluations.results:
            samples = self._events[self._evaluations.results[-1].index].metadata.samples_count
        if samples is not None and self._global_batch:
            return _whole(round(samples / self._global_batch))
        return _log_steps.step_count(self._steps, self._global_batch)

    def _first(self, key: str) -> int | None:
        places = self._places.get(key)
        return places[0] if places else None

    def _time(self, place: int | None) -> int | None:
        return None if place is None else self._events[place].time_ms

    def _line(self, place: int | None) -> int | None:
        return None if place is None else int(self._log.lines[place])

    def _last(self, keys: Sequence[str]) -> Event | None:
        for key in keys:
            if key in self._places:
                return self._events[self._places[key][-1]]
        return None

    def _text(self, *keys: str) -> str | None:
        event = self._last(keys)
        if event is None or event.value is None:
            return None
        if isinstance(event.value, str):
            return event.value
        if isinstance(event.value, int | float):
            return str(event.value)
        self._report_value(event, "text")
        return None

    def _count(self, key: str, minimum: int = 0) -> int | None:
        event = self._last((key,))
        if event is None or event.value is None:
            return None
        number = as_number(event.value)
        whole = None if number is None else _whole(number)
        if whole is None or whole < minimum:
            self._report_value(event, f"a whole number from {minimum}")
            return None
        return whole

    def _number(self, *keys: str, minimum: float | None = None) -> float | None:
        event = self._last(keys)
        if event is None or event.value is None:
            return None
        number = as_number(event.value)
        if number is None or (minimum is not None and number < minimum):
            self._report_value(event, "a number" if minimum is None else f"a number from {minimum}")
            return None
        return float(number)

    def _report_value(self, event: Event, expected: str) -> None:
        self._report(
            "log.value",
            "The value of this setting cannot be read, so its column is empty.",
            place=event.key,
            expected=expected,
            found=repr(event.value),
        )

    def _report_broken_lines(self) -> None:
        broken = self._log.broken
        for line in broken[:_BROKEN_LINES_QUOTED]:
            self._report(
                "log.not_an_event" if line.is_json else "log.broken_line",
                "The official reader refuses the whole run for such a line.",
                place=f"line {line.line}",
                severity="error",
                expected="a JSON object with time_ms, key, value and metadata",
                found=f"{line.reason}: {line.text[:200].decode('latin-1')}",
            )
        if len(broken) > _BROKEN_LINES_QUOTED:
            self._report(
                "log.broken_lines",
                f"{len(broken):,} lines are no events; the first {_BROKEN_LINES_QUOTED} are listed one by one.",
                severity="error",
                found=str(len(broken)),
            )

    def _report(
        self,
        kind: str,
        explanation: str,
        *,
        place: str = "",
        severity: Literal["error", "warning", "info"] = "warning",
        expected: str | None = None,
        found: str | None = None,
    ) -> None:
        file = self._file
        self.findings.append(
            ParseFinding(file.round, file.path, kind, explanation, place, severity, expected, found, file.sha256)
        )


def _whole(number: float) -> int | None:
    return int(number) if number == int(number) and abs(number) <= LARGEST_INTEGER else None
