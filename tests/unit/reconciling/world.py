"""A made-up world of results whose logs follow the model exactly, for the tests of what is told about them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from pipelines.schemas import core, mart
from pipelines.schemas.facts_mart import Accelerators

A, B, C0, C1, REST = 0.17, 0.3, 4.0, 320.0, 8.0
NEEDED = 300_000
INTERVAL = 46_080
SIZES = {"s4": (4, 112), "s8": (8, 112), "s16": (16, 48), "s24": (24, 48), "s32": (32, 40)}


PARTS = [
    {
        "accelerator": f"{name} (per GPU)",
        "fp8_dense_teraflops": 5000.0,
        "fp4_dense_teraflops": fp4,
        "memory_bytes": 190 * 10**9,
        "scale_up_gigabytes_per_second_per_direction": 900.0,
    }
    for name, fp4 in (("GB200", 10_000.0), ("GB300", 15_000.0))
]


def expected_progress(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(expected_samples=pl.lit(float(NEEDED)))


def no_reference(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(expected_samples=pl.lit(None, dtype=pl.Float64))


@dataclass(frozen=True)
class Result:
    """A result whose logs follow the model exactly, or are slower by a factor."""

    system: str
    data_parallel: int
    micro_batches: int
    slower: float = 1.0
    round: str = "training-v5.0"
    first_round: str | None = None
    samples: int | None = None
    launch: dict[str, Any] = field(default_factory=dict)
    result: dict[str, Any] = field(default_factory=dict)
    description: dict[str, Any] = field(default_factory=dict)
    log: dict[str, Any] = field(default_factory=dict)

    @property
    def result_id(self) -> str:
        return f"{self.round}/Acme/{self.system}/{self.benchmark}"

    @property
    def benchmark(self) -> str:
        return str(self.result.get("benchmark", "llama31_405b"))

    @property
    def first_result_id(self) -> str:
        return f"{self.first_round or self.round}/Acme/{self.system}/{self.benchmark}"

    @property
    def batch(self) -> int:
        return self.data_parallel * self.micro_batches

    @property
    def step_seconds(self) -> float:
        return (A * (self.micro_batches + 7 / 8) + B) * self.slower

    def clock_seconds(self, samples: float) -> float:
        evaluations = max(1.0, 1 + (samples - INTERVAL) / INTERVAL)
        evaluation = C0 + C1 / self.data_parallel
        return samples / self.batch * self.step_seconds + evaluations * evaluation + REST


def frame_of(schema: type[Any], rows: list[dict[str, Any]]) -> pl.DataFrame:
    names = schema.column_names()
    return pl.DataFrame([{name: row.get(name) for name in names} for row in rows], schema=schema.create_empty().schema)


def world(results: list[Result]) -> dict[str, pl.DataFrame]:
    return {
        "results": frame_of(mart.Results, [_result(one) for one in results]),
        "runs_core": frame_of(core.Runs, [_log(one, number) for one in results for number in range(3)]),
        "runs_mart": frame_of(mart.Runs, [_judged(one, number) for one in results for number in range(3)]),
        "launches": frame_of(core.Launches, [_launch(one) for one in results]),
        "systems": frame_of(core.Systems, [_system(one) for one in results]),
        "accelerators": frame_of(Accelerators, PARTS),
    }


def _keys(one: Result) -> dict[str, Any]:
    return {"round": one.round, "submitter_folder": "Acme", "system": one.system, "benchmark": one.benchmark}


def _result(one: Result) -> dict[str, Any]:
    samples = one.samples or NEEDED
    return (
        _keys(one)
        | {
            "result_id": one.result_id,
            "first_result_id": one.first_result_id,
            "division": "closed",
            "scaling_mode": "strong",
            "accelerator": "GB200 (per GPU)",
            "accelerator_count": one.data_parallel * 64,
            "score_minutes": one.clock_seconds(max(samples, NEEDED)) / 60,
            "raw_minutes": one.clock_seconds(samples) / 60,
            "rcp_factor": max(1.0, NEEDED / samples),
            "global_batch_size": one.batch,
            "samples_to_converge": samples,
            "step_median_seconds": one.step_seconds,
        }
        | one.result
    )


def _log(one: Result, number: int) -> dict[str, Any]:
    samples = one.samples or NEEDED
    evaluation = C0 + C1 / one.data_parallel
    evaluations = round(max(1.0, samples / INTERVAL))
    logged = {
        "source_path": f"{one.result_id}/result_{number}.txt",
        "result_id": one.result_id,
        "scaling_mode": "strong",
        "step_count": round(samples / one.batch),
        "step_median_seconds": one.step_seconds,
        "step_mean_seconds": one.step_seconds,
        "eval_count": evaluations,
        "eval_seconds": json.dumps([evaluation] * evaluations),
        "eval_total_seconds": evaluation * evaluations,
        "first_eval_samples": INTERVAL,
        "eval_interval_samples": INTERVAL,
    }
    return _keys(one) | logged | one.log


def _judged(one: Result, number: int) -> dict[str, Any]:
    log = _log(one, number)
    seconds = (log["step_count"] or 0) * one.step_seconds + (log["eval_total_seconds"] or 0) + REST
    return {
        "round": one.round,
        "source_path": log["source_path"],
        "result_id": one.result_id,
        "is_counted": True,
        "rank": number + 1,
        "raw_minutes": seconds / 60,
    }


def _launch(one: Result) -> dict[str, Any]:
    return (
        _keys(one)
        | {
            "result_id": one.result_id,
            "tensor_parallel": 4,
            "pipeline_parallel": 8,
            "virtual_pipeline": 8,
            "context_parallel": 2,
            "data_parallel": one.data_parallel,
            "micro_batch": 1,
            "precision": "fp8",
            "precision_source": "setting",
            "batch_check": "confirmed",
        }
        | one.launch
    )


def _system(one: Result) -> dict[str, Any]:
    return (
        _keys(one)
        | {
            "accelerators_per_node": 4,
            "accelerator_count": one.data_parallel * 64,
            "slots_per_rack": 72,
            "racks_stated": one.data_parallel,
            "rack_product": "GB200 NVL72",
            "nic_gigabytes_per_second_per_accelerator": 50.0,
        }
        | one.description
    )


def family(**changes: Result) -> list[Result]:
    made = {name: Result(name, *size) for name, size in SIZES.items()} | changes
    return list(made.values())
