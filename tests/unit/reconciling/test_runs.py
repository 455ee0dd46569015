from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from pipelines.reconciling.runs import reconcile
from pipelines.schemas import core, mart
from tests.unit.reconciling.world import (
    C0,
    C1,
    REST,
    SIZES,
    A,
    B,
    Result,
    expected_progress,
    family,
    no_reference,
    world,
)


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
        "its family has one other result, and two that tell its step are needed"
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


def tokens_needed(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(expected_samples=pl.lit(300_000.0 * 2048))


def _in_tokens(name: str, size: tuple[int, int], **log: Any) -> Result:
    return Result(
        name,
        *size,
        result={"benchmark": "gpt3", "samples_to_converge": 300_000 * 2048},
        log={"samples_unit": "tokens", "first_eval_samples": None, "eval_interval_samples": None} | log,
    )


def test_progress_counted_in_tokens_is_told_in_samples() -> None:
    results = [_in_tokens(name, size) for name, size in SIZES.items()]
    calibrations, runs = reconcile(**world(results), expected_progress=tokens_needed)
    assert calibrations["workload"].to_list() == ["gpt3"]
    assert runs["samples_to_converge"].to_list() == [300_000.0] * 5
    assert runs["expected_samples"].to_list() == [300_000.0] * 5
    # the logs hold 7 evaluations, the score is of 6.5
    assert runs["residual_percent"].abs().max() < 0.5
    assert runs["racks_by_model"].drop_nulls().len() == 5


@pytest.mark.parametrize(("unit", "tokens"), [("samples/s", 1), ("tokens/s", 8192)])
def test_a_step_that_is_not_logged_follows_from_the_throughput(unit: str, tokens: int) -> None:
    quiet = Result("s32", 32, 40)
    rate = quiet.batch * tokens / quiet.step_seconds
    quiet = replace(
        quiet,
        result={"step_median_seconds": None},
        log={
            "step_median_seconds": None,
            "step_mean_seconds": None,
            "throughput_median": rate,
            "throughput_unit": unit,
        },
    )
    _, runs = reconciled(family(s32=quiet))
    row = row_of(runs, "s32")
    assert (row["step_basis"], row["step_median_seconds"]) == ("throughput", None)
    assert row["step_seconds"] == pytest.approx(quiet.step_seconds)
    assert row["residual_percent"] == pytest.approx(0, abs=1e-6)
    assert row_of(runs, "s16")["step_basis"] == "logged"


def test_a_throughput_without_its_unit_tells_no_step() -> None:
    log = {"step_median_seconds": None, "step_mean_seconds": None, "throughput_median": 5.0}
    _, runs = reconciled(family(s32=Result("s32", 32, 40, result={"step_median_seconds": None}, log=log)))
    assert row_of(runs, "s32")["no_prediction_reason"] == "the logs hold no step times"


def _mixture(name: str, size: tuple[int, int], submitter: str) -> Result:
    return Result(
        f"{submitter}-{name}",
        *size,
        result={"benchmark": "deepseekv3_671b"},
        launch={"expert_parallel": 8},
        description={"submitter_canonical": submitter},
    )


def test_mixtures_of_two_submitters_are_two_families() -> None:
    results = [_mixture(name, size, submitter) for name, size in SIZES.items() for submitter in ("Acme", "Other")]
    calibrations, runs = reconciled(results)
    assert calibrations["n"].to_list() == [5, 5]
    assert calibrations["family"].str.contains("/tp4-cp2-pp8-vp8-ep8-mb1/").all()
    assert runs["residual_percent"].abs().max() < 1e-6


def test_a_mixture_is_predicted_only_where_its_family_tests_that() -> None:
    """Three dense results predict each other; of three of a mixture two alone would not be held against anything."""
    sizes = [("s4", (4, 112)), ("s32", (32, 40))]
    _, runs = reconciled([_mixture(name, size, "Acme") for name, size in sizes])
    assert set(runs["no_prediction_reason"]) == {
        "a mixture of experts, and its family has too few results to test a prediction on"
    }
    assert runs["predicted_raw_minutes"].null_count() == 2


def test_one_number_of_micro_batches_predicts_itself() -> None:
    steady = [Result(f"e{place}", 8, 112, slower=1 + place / 1000) for place in range(5)]
    calibrations, runs = reconciled(steady)
    fit = calibrations.row(0, named=True)
    assert (fit["form"], fit["micro_batch_seconds"]) == ("one_step_time", None)
    assert fit["even_step_seconds"] == pytest.approx(steady[2].step_seconds, rel=1e-4)
    assert runs["residual_percent"].abs().max() < 0.4
    assert set(runs["verdict"]) == {"as_predicted"}
    assert set(runs["racks_by_model"].drop_nulls()) == {8}


def test_scripts_without_context_parallelism_have_none() -> None:
    plain = {"context_parallel": None, "tensor_parallel": 8}
    results = [Result(name, *size, launch=plain) for name, size in SIZES.items()]
    calibrations, runs = reconciled(results)
    assert calibrations["layout"].to_list() == ["tp8-cp1-pp8-vp8-mb1"]
    assert runs["residual_percent"].abs().max() < 1e-6


def test_an_assumed_precision_enters_no_family_but_is_told_by_other_parts() -> None:
    other = [Result(f"o{name}", *size, result={"accelerator": "GB300 (per GPU)"}) for name, size in SIZES.items()]
    assumed = Result("s32", 32, 40, launch={"precision_source": "assumption"})
    calibrations, runs = reconciled([*family(s32=assumed), *other])
    assert sorted(calibrations["n"]) == [4, 5]
    row = row_of(runs, "s32")
    assert row["predicted_minutes"] is None
    assert row["transfer_residual_percent"] == pytest.approx(0, abs=1e-6)
    assert "By the efficiency of other parts its step is" in row["explanation"]
