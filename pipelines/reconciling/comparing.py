"""Two results, or two runs, as an exact product of factors: what rules, size, convergence and speed each account for.

The factors are arithmetic on what was logged; nothing is predicted here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from pipelines.parsing.names import canonical_benchmark

STRAGGLER_RATIO = 1.2
"""A step counts as a straggler from this many times the median step on."""


_FACTOR_COLUMNS = {"factor": pl.String, "value": pl.Float64, "a": pl.Float64, "b": pl.Float64, "unit": pl.String}


class NotComparableError(ValueError):
    """The two have no time, or train different things."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: a result, or one run of it; a figure that is not known is None."""

    name: str
    benchmark: str
    minutes: float | None
    """Score of a result, clock time of a run."""
    raw_minutes: float | None
    rcp_factor: float | None
    """None for a run, whose time no factor touches."""
    accelerator_count: int | None
    samples_to_converge: float | None
    samples_unit: str | None
    samples_per_second: float | None
    """Global batch over the median step time, else the throughput as logged."""

    @classmethod
    def of_result(cls, name: str, result: Mapping[str, Any], runs: pl.DataFrame) -> Side:
        """Return a result.

        Args:
            name: what a reader knows it by.
            result: columns of `mart.results`, and `score_minutes` and `rcp_factor` as they shall be compared.
            runs: its rows of `core.runs`.
        """
        units = runs["samples_unit"].drop_nulls()
        return cls(
            name=name,
            benchmark=result["benchmark"],
            minutes=result["score_minutes"],
            raw_minutes=result["raw_minutes"],
            rcp_factor=result["rcp_factor"],
            accelerator_count=result["accelerator_count"],
            samples_to_converge=result["samples_to_converge"],
            samples_unit=units[0] if len(units) else None,
            samples_per_second=_samples_per_second(
                result["global_batch_size"], result["step_median_seconds"], runs["throughput_median"].median(), runs
            ),
        )

    @classmethod
    def of_run(cls, name: str, run: Mapping[str, Any], minutes: float | None, accelerator_count: int | None) -> Side:
        """Return one run.

        Args:
            name: what a reader knows it by.
            run: columns of `core.runs`.
            minutes: first run_stop minus first run_start.
            accelerator_count: accelerators of its system.
        """
        frame = pl.DataFrame({"throughput_unit": [run["throughput_unit"]]}, schema={"throughput_unit": pl.String})
        return cls(
            name=name,
            benchmark=run["benchmark"],
            minutes=minutes,
            raw_minutes=minutes,
            rcp_factor=None,
            accelerator_count=accelerator_count,
            samples_to_converge=run["samples_to_converge"],
            samples_unit=run["samples_unit"],
            samples_per_second=_samples_per_second(
                run["global_batch_size"], run["step_median_seconds"], run["throughput_median"], frame
            ),
        )

    @property
    def overhead(self) -> float | None:
        """Return clock time over the time that the samples take at the logged speed, up to the unit of samples."""
        if not (self.raw_minutes and self.samples_per_second and self.samples_to_converge):
            return None
        return self.raw_minutes * 60 * self.samples_per_second / self.samples_to_converge


def _samples_per_second(batch: int | None, step: float | None, throughput: Any, runs: pl.DataFrame) -> float | None:
    if batch and step:
        return batch / step
    is_in_samples = "samples/s" in runs["throughput_unit"].to_list()
    return float(throughput) if throughput and is_in_samples else None


def factors(a: Side, b: Side) -> pl.DataFrame:
    """Return how many times as fast B is as A, as factors whose product is exactly that.

    minutes A / minutes B = RCP factor A / B x accelerators B / A x samples A / B x throughput per accelerator B / A
    x the rest, where minutes = RCP factor x samples / (accelerators x throughput per accelerator) x overhead, and the
    rest is overhead A / B: evaluation, initial and straggling steps, and whatever else is no median step. What one of
    the two does not state is part of the rest, which says so.

    Returns:
        `factor, value, a, b, unit`, one row a factor, the last one being what the others leave.

    Raises:
        NotComparableError: one of the two has no time, or they train different benchmarks.
    """
    if canonical_benchmark(a.benchmark) != canonical_benchmark(b.benchmark):
        raise NotComparableError(f"{a.name} trains {a.benchmark}, {b.name} trains {b.benchmark}")
    for side in (a, b):
        if not side.minutes:
            raise NotComparableError(f"{side.name} has no time to compare")
    named = _named_ratios(a, b)
    rest = (a.minutes or 0) / (b.minutes or 1)
    for row in named:
        if row["value"] is not None:
            rest /= row["value"]
    known = [row for row in named if row["value"] is not None]
    left = [row["factor"] for row in named if row["value"] is None]
    overheads = (None, None) if left or a.samples_unit != "samples" else (a.overhead, b.overhead)
    last = {
        "factor": ", ".join([*left, "evaluation and other"]),
        "value": rest,
        "a": overheads[0],
        "b": overheads[1],
        "unit": None if None in overheads else "of step time",
    }
    return pl.DataFrame([*known, last], schema=_FACTOR_COLUMNS)


def _named_ratios(a: Side, b: Side) -> list[dict[str, Any]]:
    """Return the factors that have a name of their own; the value is None where one of the two does not state it."""
    counts = a.accelerator_count, b.accelerator_count
    samples = a.samples_to_converge, b.samples_to_converge
    speeds = a.samples_per_second, b.samples_per_second
    of_size = [_ratio("accelerator count", counts, "accelerators", more_is_faster=True)]
    speed = "throughput per accelerator"
    if all(counts) and all(speeds):
        speeds = (speeds[0] or 0) / (counts[0] or 1), (speeds[1] or 0) / (counts[1] or 1)
    elif all(speeds):
        # How much of it the size of the system accounts for is not known, so nothing is said of the size.
        of_size, speed = [], "throughput"
    rows = [
        *of_size,
        _ratio("samples to converge", samples, a.samples_unit, more_is_faster=False),
        _ratio(speed, speeds, "samples/s", more_is_faster=True),
    ]
    if a.samples_unit != b.samples_unit:
        rows = [row | {"value": None} if row["factor"] == "samples to converge" else row for row in rows]
    if a.rcp_factor is None and b.rcp_factor is None:
        return rows
    return [_ratio("RCP factor", (a.rcp_factor, b.rcp_factor), None, more_is_faster=False), *rows]


def _ratio(
    name: str, values: tuple[float | None, float | None], unit: str | None, *, more_is_faster: bool
) -> dict[str, Any]:
    of_a, of_b = values
    value = None if not of_a or not of_b else of_b / of_a if more_is_faster else of_a / of_b
    return {"factor": name, "value": value, "a": of_a, "b": of_b, "unit": unit}


def time_split(run: Mapping[str, Any], steps: pl.DataFrame) -> dict[str, float | int | None]:
    """Return where the time of one run went, in seconds, with its steps, evaluations and stragglers.

    `step_seconds`, `evaluation_seconds` and `other_seconds` add up to `run_seconds`. Steps whose time is not logged
    count with the mean; a straggler is a single step of at least `STRAGGLER_RATIO` times the median.

    Args:
        run: columns of `core.runs`.
        steps: its rows of `core.steps`.
    """
    start, stop = run["run_start_ms"], run["run_stop_ms"]
    seconds = None if start is None or stop is None else (stop - start) / 1000
    single = steps.filter(pl.col("scope") == "step", pl.col("step_seconds").is_finite()).select(
        "line", "step_seconds", "samples_count"
    )
    logged = float(single["step_seconds"].sum())
    median, mean, count = run["step_median_seconds"], run["step_mean_seconds"], run["step_count"]
    stepping = None if mean is None or count is None else logged + mean * max(count - single.height, 0)
    evaluation = run["eval_total_seconds"]
    other = None if seconds is None or stepping is None or evaluation is None else seconds - stepping - evaluation
    slow = single.filter(pl.col("step_seconds") >= STRAGGLER_RATIO * median) if median else single.clear()
    slowest = single.sort("step_seconds", descending=True).row(0, named=True) if single.height else {}
    return {
        "run_seconds": seconds,
        "step_seconds": stepping,
        "evaluation_seconds": evaluation,
        "other_seconds": other,
        "init_seconds": _seconds(run["init_start_ms"], run["init_stop_ms"]),
        "step_count": count,
        "step_median_seconds": median,
        "step_mean_seconds": mean,
        "straggler_count": slow.height if single.height else None,
        "straggler_excess_seconds": float((slow["step_seconds"] - median).sum()) if median and single.height else None,
        "slowest_step_seconds": slowest.get("step_seconds"),
        "slowest_step_line": slowest.get("line"),
        "evaluation_count": run["eval_count"],
        "evaluation_median_seconds": run["eval_median_seconds"],
        "samples_to_converge": run["samples_to_converge"],
        "final_quality": run["final_quality"],
    }


def _seconds(start_ms: int | None, stop_ms: int | None) -> float | None:
    return None if start_ms is None or stop_ms is None else (stop_ms - start_ms) / 1000


def settings_that_differ(a: Mapping[str, Any], b: Mapping[str, Any]) -> pl.DataFrame:
    """Return `setting, a, b` for each setting that the two logs state differently, null where a log does not state it.

    Args:
        a: settings of one log, as `log_keys.LogKeys.settings` gives them.
        b: settings of the other.
    """
    names = [name for name in sorted(a.keys() | b.keys()) if a.get(name) != b.get(name)]
    rows = [{"setting": name, "a": _text(a.get(name)), "b": _text(b.get(name))} for name in names]
    return pl.DataFrame(rows, schema={"setting": pl.String, "a": pl.String, "b": pl.String})


def _text(value: object) -> str | None:
    return None if value is None else str(value)
