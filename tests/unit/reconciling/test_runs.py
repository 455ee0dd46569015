from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
import pytest

from pipelines.reconciling.runs import reconcile
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


def _frame(schema: type[Any], rows: list[dict[str, Any]]) -> pl.DataFrame:
    names = schema.column_names()
    return pl.DataFrame([{name: row.get(name) for name in names} for row in rows], schema=schema.create_empty().schema)


def world(results: list[Result]) -> dict[str, pl.DataFrame]:
    return {
        "results": _frame(mart.Results, [_result(one) for one in results]),
        "runs_core": _frame(core.Runs, [_log(one, number) for one in results for number in range(3)]),
        "runs_mart": _frame(mart.Runs, [_judged(one, number) for one in results for number in range(3)]),
        "launches": _frame(core.Launches, [_launch(one) for one in results]),
        "systems": _frame(core.Systems, [_system(one) for one in results]),
        "accelerators": _frame(Accelerators, PARTS),
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
    return _keys(one) | {
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


def _judged(one: Result, number: int) -> dict[str, Any]:
    log = _log(one, number)
    seconds = log["step_count"] * log["step_mean_seconds"] + log["eval_total_seconds"] + REST
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


def reconciled(results: list[Result]) -> tuple[pl.DataFrame, pl.DataFrame]:
    calibrations, runs = reconcile(**world(results), expected_progress=expected_progress)
    mart.Calibrations.validate(calibrations)
    mart.ReconciledRuns.validate(runs)
    return calibrations, runs


def row_of(runs: pl.DataFrame, system: str, round_name: str = "training-v5.0") -> dict[str, Any]:
    chosen = runs.filter(pl.col("result_id").str.contains(f"{round_name}/Acme/{system}/", literal=True))
    return chosen.row(0, named=True)


def test_logs_that_follow_the_model_are_predicted_exactly() -> None:
    calibrations, runs = reconciled(family())
    fit = calibrations.row(0, named=True)
    assert fit["family"] == "llama31_405b/GB200/fp8/training-v5.0/tp4-cp2-pp8-vp8-mb1"
    assert (fit["n"], fit["accelerator_count_least"], fit["accelerator_count_most"]) == (5, 256, 2048)
    assert (fit["micro_batch_seconds"], fit["fixed_seconds"]) == pytest.approx((A, B))
    assert (fit["eval_base_seconds"], fit["eval_per_replica_seconds"]) == pytest.approx((C0, C1))
    assert fit["other_seconds"] == pytest.approx(REST)
    assert fit["no_estimate_reason"] is None
    assert runs["residual_percent"].abs().max() < 1e-6
    assert set(runs["verdict"]) == {"as_predicted"}
    assert runs["racks_by_model"].to_list() == runs["racks_stated"].to_list() == runs["racks_by_replica"].to_list()


def test_racks_by_model_fall_when_the_run_was_slower_than_its_family() -> None:
    _, runs = reconciled(family(s32=Result("s32", 32, 40, slower=1.1)))
    slow = row_of(runs, "s32")
    assert slow["residual_percent"] < -5
    assert slow["racks_by_model"] < 32
    assert slow["accelerators_by_model"] == slow["racks_by_model"] * 64


@pytest.mark.parametrize("system", list(SIZES))
def test_a_prediction_does_not_know_its_own_result(system: str) -> None:
    dp, m = SIZES[system]
    before, after = (
        row_of(reconciled(family(**{system: Result(system, dp, m, slower=factor)}))[1], system) for factor in (1.0, 1.3)
    )
    assert after["score_minutes"] > before["score_minutes"] * 1.2
    for column in (
        "predicted_minutes",
        "predicted_low_minutes",
        "predicted_high_minutes",
        "predicted_raw_minutes",
        "predicted_step_seconds",
    ):
        assert after[column] == pytest.approx(before[column], rel=1e-9), column


def test_a_score_out_of_the_interval_is_told() -> None:
    _, runs = reconciled(family(s32=Result("s32", 32, 40, slower=1.3), s4=Result("s4", 4, 112)))
    assert row_of(runs, "s32")["verdict"] == "slower_than_predicted"
    _, runs = reconciled(family(s32=Result("s32", 32, 40, slower=0.7)))
    assert row_of(runs, "s32")["verdict"] == "faster_than_predicted"


def test_a_log_published_twice_enters_once_and_is_held_out_in_both() -> None:
    first = Result("s32", 32, 40, slower=1.05)
    copy = replace(first, round="training-v5.1", first_round="training-v5.0")
    calibrations, runs = reconciled([*family(s32=first), copy])
    assert calibrations["n"].to_list() == [5]
    original, copied = row_of(runs, "s32"), row_of(runs, "s32", "training-v5.1")
    assert copied["predicted_minutes"] == pytest.approx(original["predicted_minutes"])
    assert copied["predicted_low_minutes"] == pytest.approx(original["predicted_low_minutes"])
    assert copied["family"] == original["family"]
    assert original["residual_percent"] < -3


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"result": {"division": "open"}}, "not in the closed division: other rules, other work"),
        ({"launch": {"batch_check": "contradicted"}}, "the launch configuration contradicts the batch in the log"),
        ({"launch": {"precision": None}}, "the launch configuration does not state the precision"),
        ({"launch": {"precision_source": "assumption"}}, "the launch configuration does not state the precision"),
        ({"launch": {"tensor_parallel": None}}, "the launch configuration does not state the parallelism"),
        ({"launch": {"data_parallel": 33}}, "the accelerators are not the product of the stated parallelisms"),
        ({"launch": {"micro_batch": None}}, "the micro-batch or the batch is not known"),
        ({"result": {"accelerator": None}}, "the description names no single known accelerator"),
        ({"result": {"score_minutes": None}}, "the result has no score"),
        ({"result": {"step_median_seconds": None}}, "the logs hold no step times"),
        ({"launch": {"expert_parallel": 3}}, "the stated expert parallelism does not divide a pipeline stage"),
        ({"result": {"benchmark": "qwen35_397b_grpo"}}, "no model of reinforcement learning has been tested"),
    ],
)
def test_what_cannot_be_modelled_keeps_its_row_and_enters_no_fit(changes: dict[str, Any], reason: str) -> None:
    outcast = Result("s32", 32, 40, slower=3.0, **changes)
    calibrations, runs = reconciled(family(s32=outcast))
    row = row_of(runs, "s32")
    assert row["no_prediction_reason"] == reason
    assert row["predicted_minutes"] is None
    assert row["verdict"] == "not_predicted"
    assert row["nic_needed_gigabytes_per_second_mid"] is None
    assert row["explanation"].startswith(f"No prediction: {reason}.")
    assert calibrations["n"].to_list() == [4]
    assert calibrations["micro_batch_seconds"][0] == pytest.approx(A)


def test_every_language_model_result_has_a_row_and_no_other() -> None:
    others = [
        Result("img", 4, 112, result={"benchmark": "retinanet"}),
        Result("weak", 4, 112, result={"scaling_mode": "weak"}),
        Result("lora", 4, 112, result={"benchmark": "llama2_70b_lora"}),
    ]
    _, runs = reconciled([*family(), *others])
    assert runs.height == 6
    assert row_of(runs, "lora")["predicted_minutes"] is None


def test_precisions_rounds_and_layouts_are_families_of_their_own() -> None:
    strange = [
        Result("f4", 4, 112, launch={"precision": "fp4"}),
        Result("r51", 4, 112, round="training-v5.1"),
        Result("v4", 4, 112, launch={"virtual_pipeline": 4}),
        Result("part", 4, 112, result={"accelerator": "GB300 (per GPU)"}),
    ]
    calibrations, _ = reconciled([*family(), *strange])
    assert sorted(calibrations["n"]) == [1, 1, 1, 1, 5]


def test_two_results_give_parameters_and_neither_error_nor_prediction() -> None:
    calibrations, runs = reconciled([Result("s4", 4, 112), Result("s32", 32, 40)])
    fit = calibrations.row(0, named=True)
    assert fit["micro_batch_seconds"] == pytest.approx(A)
    assert fit["leave_one_out_mape_percent"] is None
    assert fit["no_estimate_reason"] == ("two results are met exactly by two parameters: no error can be estimated")
    assert runs["predicted_minutes"].null_count() == 2
    assert row_of(runs, "s4")["no_prediction_reason"] == (
        "its family has 1 other result(s), and two that tell its step are needed"
    )
    assert row_of(runs, "s4")["nic_needed_gigabytes_per_second_mid"] > 0


def test_three_results_are_predicted_without_an_interval() -> None:
    _, runs = reconciled([Result(name, *SIZES[name]) for name in ("s4", "s16", "s32")])
    assert runs["predicted_minutes"].null_count() == 0
    assert runs["predicted_low_minutes"].null_count() == 3
    assert set(runs["verdict"]) == {"no_interval"}
    assert runs["interval_basis"].str.starts_with("none: ").all()


def test_a_run_that_needed_more_than_the_reference_is_held_to_its_own_samples() -> None:
    samples = 460_800
    _, runs = reconciled(family(s24=Result("s24", 24, 48, samples=samples)))
    row = row_of(runs, "s24")
    assert row["predicted_minutes"] == pytest.approx(row["score_minutes"])
    assert row["predicted_at_reference_minutes"] < row["predicted_minutes"]
    assert row["racks_by_model"] == 24


def test_without_a_reference_a_scaled_score_cannot_be_predicted() -> None:
    results = family(s24=Result("s24", 24, 48, samples=276_480))
    _, runs = reconcile(**world(results), expected_progress=no_reference)
    row = row_of(runs, "s24")
    assert row["predicted_minutes"] is None
    assert row["predicted_raw_minutes"] == pytest.approx(row["raw_minutes"])
    assert row["no_prediction_reason"] == "neither the reference nor the logs tell how many samples are needed"
    assert row_of(runs, "s8")["predicted_minutes"] == pytest.approx(row_of(runs, "s8")["score_minutes"])


def test_network_needs_follow_the_domain() -> None:
    _, runs = reconciled(
        family(
            s24=Result("s24", 24, 48, description={"slots_per_rack": 144, "racks_stated": 12}),
            s8=Result("s8", 8, 112, description={"nic_gigabytes_per_second_per_accelerator": None}),
            s4=Result("s4", 4, 112, description={"nic_gigabytes_per_second_per_accelerator": 400.0}),
        )
    )
    needs = {system: row_of(runs, system)["nic_needed_gigabytes_per_second_mid"] for system in SIZES}
    assert needs["s24"] < 0.7 * needs["s16"]
    assert row_of(runs, "s8")["nic_verdict"] is None
    assert row_of(runs, "s4")["nic_verdict"] == "enough"
    assert row_of(runs, "s32")["nic_verdict"] == "too_close_to_call"


def test_a_described_system_is_not_needed() -> None:
    frames = world(family()) | {"systems": core.Systems.create_empty()}
    _, runs = reconcile(**frames, expected_progress=expected_progress)
    assert runs["racks_by_division"].null_count() == 5
    assert runs["predicted_minutes"].null_count() == 0


def test_nothing_gives_nothing() -> None:
    calibrations, runs = reconciled([])
    assert (calibrations.height, runs.height) == (0, 0)
