from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.schemas import mart

Row = dict[str, Any]
MakeRun = Callable[..., Row]
MakeRuns = Callable[..., list[Row]]
Score = Callable[..., tuple[pl.DataFrame, pl.DataFrame]]

RESULT = "training-v4.1/Org/sys/llama2_70b_lora"
FACTOR = {
    "round": "training-v4.1",
    "result_id": RESULT,
    "rcp_factor": 1.25,
    "source_path": "Org/results/sys/llama2_70b_lora/scaling.json",
    "source_sha256": "sha",
}
TEN = [11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0]
WEAK = {"round_name": "hpc-v3.0", "benchmark": "deepcam", "mode": "weak"}
HPC_SYSTEM = {"round": "hpc-v3.0", "accelerator_count": 64}


def only(results: pl.DataFrame) -> Row:
    assert results.height == 1
    return results.to_dicts()[0]


def test_a_score_is_the_mean_without_the_fastest_and_slowest(score: Score, runs_of: MakeRuns) -> None:
    row = only(score(runs_of(TEN))[0])
    assert row["result_id"] == RESULT
    assert row["raw_minutes"] == row["score_minutes"] == sum(TEN[1:9]) / 8
    assert (row["run_count"], row["counted_run_count"], row["required_run_count"]) == (10, 10, 10)
    assert (row["rcp_factor"], row["rcp_factor_source"], row["rcp_factor_path"]) == (1.0, "not_needed", None)
    assert row["no_score_reason"] is None
    assert (row["submitter"], row["division"], row["accelerator_count"]) == ("Org Inc.", "closed", 64)
    assert row["source_path"] == "Org/results/sys/llama2_70b_lora"


def test_a_score_has_the_last_digit_of_plain_arithmetic(score: Score, runs_of: MakeRuns) -> None:
    times = [161, 167, 171, 174, 180, 184, 187, 191, 193, 200]
    milliseconds = [time * 1009 for time in times]
    row = only(score(runs_of([one / 60_000 for one in milliseconds]), factors=[{**FACTOR, "rcp_factor": 1.03}])[0])
    total = 0.0
    for one in sorted(milliseconds)[1:9]:
        total += one / 60 / 1000
    assert row["score_minutes"] == total / 8 * 1.03


def test_the_published_factor_applies_in_every_division(score: Score, runs_of: MakeRuns, a_system: MakeRun) -> None:
    for division in ("closed", "open"):
        row = only(score(runs_of(TEN), [a_system(division=division)], [FACTOR])[0])
        assert row["division"] == division
        assert row["score_minutes"] == row["raw_minutes"] * 1.25
        assert (row["rcp_factor_source"], row["rcp_factor_path"]) == ("file", FACTOR["source_path"])


def test_a_factor_that_cannot_be_read_leaves_no_score(score: Score, runs_of: MakeRuns) -> None:
    row = only(score(runs_of(TEN), factors=[{**FACTOR, "rcp_factor": None}])[0])
    assert row["raw_minutes"] == 15.5
    assert row["score_minutes"] is None
    assert row["no_score_reason"] == "The published convergence factor (scaling.json) could not be read."


def test_without_a_file_the_source_says_whether_there_was_a_reference(
    score: Score, runs_of: MakeRuns, a_system: MakeRun
) -> None:
    open_row = only(score(runs_of(TEN), [a_system(division="open")])[0])
    assert (open_row["rcp_factor"], open_row["rcp_factor_source"]) == (1.0, "none")
    minigo = runs_of(TEN, round_name="training-v2.1", benchmark="minigo")
    minigo_row = only(score(minigo, [a_system(round="training-v2.1")])[0])
    assert (minigo_row["rcp_factor_source"], minigo_row["rcp_check"]) == ("none", "no_point")


def test_a_failed_run_takes_the_slow_side_s_place(score: Score, a_run: MakeRun, runs_of: MakeRuns) -> None:
    row = only(score([*runs_of(TEN[:9]), a_run(9, status="aborted")])[0])
    assert row["score_minutes"] == sum(TEN[1:9]) / 8
    assert (row["run_count"], row["counted_run_count"]) == (10, 9)


def test_too_many_failed_runs_leave_no_score(score: Score, a_run: MakeRun, runs_of: MakeRuns) -> None:
    results, findings = score([*runs_of(TEN[:8]), a_run(8, status="aborted"), a_run(9, status="aborted")])
    row = only(results)
    assert row["score_minutes"] is None
    assert row["raw_minutes"] is None
    assert row["no_score_reason"] == "2 of 10 runs do not count, the rule allows 1."
    assert findings.filter(kind="score.none")["subject"].to_list() == [RESULT]


def test_unet3d_drops_four_at_each_end(score: Score, a_run: MakeRun, runs_of: MakeRuns, a_system: MakeRun) -> None:
    unet = {"round_name": "training-v3.1", "benchmark": "unet3d"}
    times = [float(time) for time in range(1, 39)]
    runs = [*runs_of(times, **unet), a_run(38, status="aborted", **unet), a_run(39, status="aborted", **unet)]
    row = only(score(runs, [a_system(round="training-v3.1")])[0])
    assert row["score_minutes"] == sum(times[4:36]) / 32


def test_too_few_runs_to_drop_from_leave_no_score(score: Score, runs_of: MakeRuns) -> None:
    row = only(score(runs_of([1.0, 2.0]))[0])
    assert row["score_minutes"] is None
    assert row["no_score_reason"] == "No run is left of 2 once the fastest and the slowest are dropped."


def test_a_wrong_number_of_files_is_scored_and_said(score: Score, runs_of: MakeRuns) -> None:
    results, findings = score(runs_of(TEN[:9]))
    assert only(results)["score_minutes"] == sum(TEN[1:8]) / 7
    (said,) = findings.filter(kind="score.run_count").to_dicts()
    assert (said["expected"], said["found"]) == ("10", "9")


@pytest.mark.parametrize(
    ("round_name", "task", "reason", "kind"),
    [
        ("training-v9.0", "bert", "No scoring rule is known for round training-v9.0.", "score.unknown_round"),
        ("training-v5.0", "resnet", "Round training-v5.0 has no rule for strong resnet.", "score.unknown_benchmark"),
    ],
)
def test_what_has_no_rule_is_kept_without_a_score(
    score: Score, runs_of: MakeRuns, a_system: MakeRun, round_name: str, task: str, reason: str, kind: str
) -> None:
    runs = runs_of(TEN, round_name=round_name, benchmark=task)
    results, findings = score(runs, [a_system(round=round_name)])
    row = only(results)
    assert row["score_minutes"] is None
    assert row["no_score_reason"] == reason
    assert (row["run_count"], row["counted_run_count"], row["required_run_count"]) == (10, None, None)
    assert findings["kind"].to_list() == [kind]
    assert round_name in findings["explanation"][0]


def test_the_mask_folder_is_scored_as_maskrcnn(score: Score, runs_of: MakeRuns, a_system: MakeRun) -> None:
    runs = runs_of([1.0, 2.0, 3.0, 4.0, 5.0], round_name="training-v0.7", benchmark="mask")
    row = only(score(runs, [a_system(round="training-v0.7")])[0])
    assert row["result_id"] == "training-v0.7/Org/sys/mask"
    assert (row["benchmark"], row["score_minutes"]) == ("maskrcnn", 3.0)


def test_a_weak_result_is_a_tuple_without_drop_and_factor(
    score: Score, a_run: MakeRun, runs_of: MakeRuns, a_system: MakeRun
) -> None:
    sizes = {"number_of_nodes": 4, "accelerators_per_node": 2}
    runs = [*runs_of([10.0, 20.0, 30.0, 40.0, 50.0], **WEAK, **sizes), a_run(5, status="aborted", **WEAK)]
    results, _ = score(runs, [a_system(**HPC_SYSTEM)], [{**FACTOR, "result_id": runs[0]["result_id"]}])
    row = only(results)
    assert row["result_id"] == "hpc-v3.0/Org/sys/deepcam/weak"
    assert row["score_minutes"] is None
    assert row["no_score_reason"] is not None
    assert (row["accelerator_count"], row["instance_accelerator_count"], row["model_count"]) == (64, 8, 5)
    assert row["time_to_train_all_minutes"] == 50.0
    assert row["models_per_minute"] == 0.1
    assert (row["rcp_factor"], row["rcp_factor_source"]) == (None, "none")


def test_a_processor_only_node_counts_as_one(score: Score, runs_of: MakeRuns, a_system: MakeRun) -> None:
    runs = runs_of([1.0] * 5, **WEAK, number_of_nodes=512, accelerators_per_node=0)
    assert only(score(runs, [a_system(**HPC_SYSTEM)])[0])["instance_accelerator_count"] == 512


def test_too_few_instances_are_no_weak_result(
    score: Score, a_run: MakeRun, runs_of: MakeRuns, a_system: MakeRun
) -> None:
    runs = [*runs_of([1.0] * 4, **WEAK), a_run(4, status="aborted", **WEAK)]
    results, findings = score(runs, [a_system(**HPC_SYSTEM)])
    row = only(results)
    assert (row["model_count"], row["time_to_train_all_minutes"]) == (None, None)
    assert row["no_score_reason"] == "4 model instances count, the rule asks for 5."
    assert "score.none" in findings["kind"].to_list()


def test_strong_and_weak_of_one_benchmark_are_two_results(score: Score, runs_of: MakeRuns, a_system: MakeRun) -> None:
    strong = {**WEAK, "mode": "strong"}
    results, _ = score([*runs_of([1.0] * 5, **WEAK), *runs_of([2.0] * 5, **strong)], [a_system(**HPC_SYSTEM)])
    assert results.select("result_id", "scaling_mode", "score_minutes").rows() == [
        ("hpc-v3.0/Org/sys/deepcam", "strong", 2.0),
        ("hpc-v3.0/Org/sys/deepcam/weak", "weak", None),
    ]


def test_a_pruned_file_is_no_run_of_the_result(score: Score, a_run: MakeRun, runs_of: MakeRuns) -> None:
    pruned = a_run(10, source_path="Org/results/sys/llama2_70b_lora/pruned_results/result_10.txt", status="aborted")
    row = only(score([*runs_of(TEN), pruned])[0])
    assert (row["run_count"], row["counted_run_count"]) == (10, 10)


def test_batch_and_steps_are_those_of_the_runs(score: Score, a_run: MakeRun) -> None:
    runs = [a_run(number, step_median_seconds=seconds) for number, seconds in enumerate((0.0, 1.0, 8.0))]
    row = only(score(runs)[0])
    assert (row["global_batch_size"], row["step_median_seconds"]) == (8, 1.0)
    runs[1]["global_batch_size"] = 16
    results, findings = score(runs)
    assert only(results)["global_batch_size"] is None
    assert "score.batch_differs" in findings["kind"].to_list()


def test_progress_is_the_olympic_mean_with_an_aborted_run_last(score: Score, a_run: MakeRun) -> None:
    progress = [100.0, 300.0, 200.0, 400.0]
    runs = [a_run(number, samples_to_converge=one) for number, one in enumerate(progress)]
    runs.append(a_run(4, samples_to_converge=1.0, status="aborted"))
    assert only(score(runs)[0])["samples_to_converge"] == 300.0


def test_one_log_under_two_results_is_scored_twice_and_said(score: Score, runs_of: MakeRuns, a_system: MakeRun) -> None:
    first = runs_of(TEN, round_name="training-v4.0")
    copies = [{**row, "source_sha256": old["source_sha256"]} for row, old in zip(runs_of(TEN), first, strict=True)]
    results, findings = score([*copies, *first], [a_system(), a_system(round="training-v4.0")], [FACTOR])
    assert results["score_minutes"].to_list() == [15.5, 15.5 * 1.25]
    assert results["first_result_id"].to_list() == ["training-v4.0/Org/sys/llama2_70b_lora"] * 2
    (said,) = findings.filter(kind="run.same_log").to_dicts()
    assert said["subject"] == RESULT
    assert (said["expected"], said["found"]) == ("15.5 minutes there", "19.375 minutes here")


def test_a_result_with_some_copied_logs_is_its_own_first(score: Score, runs_of: MakeRuns, a_system: MakeRun) -> None:
    first = runs_of(TEN, round_name="training-v4.0")
    mixed = runs_of(TEN)
    mixed[0]["source_sha256"] = first[0]["source_sha256"]
    results, findings = score([*mixed, *first], [a_system(), a_system(round="training-v4.0")])
    assert results["first_result_id"].to_list() == results["result_id"].to_list()
    assert findings.filter(kind="run.same_log")["explanation"].to_list() == [
        "1 of 10 logs were published before under another result."
    ]


def test_a_result_without_a_description_is_scored_and_said(score: Score, runs_of: MakeRuns) -> None:
    results, findings = score(runs_of(TEN), [])
    row = only(results)
    assert (row["score_minutes"], row["division"], row["accelerator_count"]) == (15.5, None, None)
    assert findings["kind"].to_list() == ["score.no_system"]


def test_results_satisfy_their_schema(score: Score, runs_of: MakeRuns, a_system: MakeRun) -> None:
    weak = runs_of([1.0] * 5, **WEAK, number_of_nodes=1, accelerators_per_node=8)
    unknown = runs_of([1.0] * 5, round_name="training-v9.0")
    results, findings = score([*runs_of(TEN), *weak, *unknown], [a_system(), a_system(**HPC_SYSTEM)])
    assert mart.Results.validate(results).height == 3
    assert mart.Findings.validate(findings).height == findings.height


def test_no_runs_give_no_results(score: Score) -> None:
    results, findings = score([])
    assert (results.height, findings.height) == (0, 0)


HUGE = 2**62
NUMBERS = st.none() | st.sampled_from([-HUGE, -1, 0, 1, HUGE]) | st.integers(-(10**6), 10**15)
ANY_RUN = st.fixed_dictionaries(
    {
        "round_name": st.sampled_from(["training-v4.1", "hpc-v3.0", "x"]),
        "benchmark": st.sampled_from(["bert", "deepcam", ""]),
        "mode": st.sampled_from(["strong", "weak"]),
        "system": st.sampled_from(["sys", "other"]),
    },
    optional={
        "status": st.sampled_from(["success", "aborted", None]),
        "submission_division": st.sampled_from(["open", "closed", None]),
        "run_start_count": st.integers(0, 2),
        "run_start_ms": NUMBERS,
        "run_stop_ms": NUMBERS,
        "init_start_ms": NUMBERS,
        "number_of_nodes": NUMBERS,
        "accelerators_per_node": NUMBERS,
        "global_batch_size": NUMBERS,
        "samples_to_converge": st.none() | st.floats(min_value=0),
        "source_sha256": st.sampled_from(["one", "two"]),
        "event_count": st.integers(0, 1),
    },
)


@given(runs=st.lists(ANY_RUN, max_size=25), factor=st.none() | st.floats(min_value=0, allow_infinity=False))
@settings(max_examples=60, deadline=None)
def test_nothing_that_a_log_says_breaks_the_scores(
    score: Score, a_run: MakeRun, a_system: MakeRun, runs: list[Row], factor: float | None
) -> None:
    rows = [a_run(number, **run) for number, run in enumerate(runs)]
    factors = [{**FACTOR, "result_id": one, "rcp_factor": factor} for one in {row["result_id"] for row in rows}]
    results, findings = score(rows, [a_system(), a_system(**HPC_SYSTEM)], factors)
    assert set(results["result_id"]) == {row["result_id"] for row in rows}
    assert mart.Findings.validate(findings).height == findings.height
    assert (results["score_minutes"].is_null() == results["no_score_reason"].is_not_null()).all()
    assert results["run_count"].sum() == len(rows)
