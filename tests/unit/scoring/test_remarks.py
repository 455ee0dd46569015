from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

Row = dict[str, Any]
MakeRun = Callable[..., Row]
MakeRuns = Callable[..., list[Row]]
Score = Callable[..., tuple[pl.DataFrame, pl.DataFrame]]

RESULT = "training-v4.1/Org/sys/llama2_70b_lora"
TEN = [1.0] * 10


def said(findings: pl.DataFrame, kind: str) -> list[Row]:
    return findings.filter(kind=kind).to_dicts()


def test_a_plain_result_gives_no_remark(score: Score, runs_of: MakeRuns) -> None:
    assert score(runs_of(TEN))[1].height == 0


def test_a_run_that_does_not_count_is_named_with_its_reason(score: Score, a_run: MakeRun, runs_of: MakeRuns) -> None:
    _, findings = score([*runs_of(TEN[:9]), a_run(9, status="aborted")])
    (one,) = findings.to_dicts()
    assert one["finding_id"] == f"run.not_counted:{RESULT}/result_9"
    assert one["severity"] == "info"
    assert one["explanation"] == "The run does not count: run_stop in line 20 has status aborted, not success."
    assert (one["found"], one["evidence"]) == ("status", "Org/results/sys/llama2_70b_lora/result_9.txt")


def test_one_log_under_two_systems_of_a_round_is_a_warning(score: Score, runs_of: MakeRuns, a_system: MakeRun) -> None:
    first = runs_of(TEN)
    copies = [
        {**row, "source_sha256": old["source_sha256"]} for row, old in zip(runs_of(TEN, system="z"), first, strict=True)
    ]
    (one,) = said(score([*first, *copies], [a_system(), a_system(system="z")])[1], "run.same_log")
    assert (one["severity"], one["subject"]) == ("warning", "training-v4.1/Org/z/llama2_70b_lora")
    assert one["explanation"] == (
        f"The logs are those of {RESULT}: the same runs, not new ones. 2 results of this round rest on them."
    )


def test_a_resubmitted_log_with_another_factor_says_why_the_scores_differ(
    score: Score, runs_of: MakeRuns, a_system: MakeRun
) -> None:
    old = runs_of(TEN, round_name="training-v4.0")
    new = [{**row, "source_sha256": first["source_sha256"]} for row, first in zip(runs_of(TEN), old, strict=True)]
    factor = {
        "round": "training-v4.1",
        "result_id": RESULT,
        "rcp_factor": 1.1,
        "source_path": "p",
        "source_sha256": "s",
    }
    systems = [a_system(), a_system(round="training-v4.0")]
    (one,) = said(score([*old, *new], systems, [factor])[1], "run.same_log")
    assert one["severity"] == "info"
    assert one["explanation"].endswith(" The scores differ by the factors that the rounds published.")
    assert (one["expected"], one["found"]) == ("1.0 minutes there", "1.1 minutes here")


def test_a_resubmitted_log_with_the_same_score_is_told_no_factors(
    score: Score, runs_of: MakeRuns, a_system: MakeRun
) -> None:
    minutes = [3.0] * 10
    old = runs_of(minutes, round_name="training-v4.0")
    new = [{**row, "source_sha256": first["source_sha256"]} for row, first in zip(runs_of(minutes), old, strict=True)]
    (one,) = said(score([*old, *new], [a_system(), a_system(round="training-v4.0")])[1], "run.same_log")
    assert one["explanation"].endswith("the same runs, not new ones.")
    assert (one["expected"], one["found"]) == ("3.0 minutes there", "3.0 minutes here")


def test_the_same_bytes_twice_in_one_result_are_a_warning(score: Score, runs_of: MakeRuns) -> None:
    runs = runs_of(TEN)
    runs[3]["source_sha256"] = runs[2]["source_sha256"]
    (one,) = said(score(runs)[1], "run.same_log_twice")
    assert (one["severity"], one["subject"]) == ("warning", f"{RESULT}/result_3")


def test_a_published_factor_that_does_not_follow_is_said_and_stays(score: Score, runs_of: MakeRuns) -> None:
    factor = {
        "round": "training-v4.1",
        "result_id": RESULT,
        "rcp_factor": 1.5,
        "source_path": "scaling.json",
        "source_sha256": "sha",
    }
    results, findings = score(runs_of(TEN, samples_to_converge=4000.0), factors=[factor])
    assert results["score_minutes"].to_list() == [1.5]
    (one,) = said(findings, "rcp.factor_differs")
    assert (one["expected"], one["found"], one["evidence"]) == ("1.0", "1.5", "scaling.json")


def test_converging_too_fast_is_a_warning(score: Score, runs_of: MakeRuns) -> None:
    (one,) = said(score(runs_of(TEN, samples_to_converge=10.0))[1], "rcp.too_fast")
    assert one["severity"] == "warning"


def test_a_batch_beyond_the_points_is_said(score: Score, runs_of: MakeRuns) -> None:
    (one,) = said(score(runs_of(TEN, global_batch_size=100_000))[1], "rcp.no_point")
    assert one["found"] == "batch size 100000"


def test_logs_without_their_samples_are_not_said_to_be_beyond_the_points(score: Score, runs_of: MakeRuns) -> None:
    (one,) = said(score(runs_of(TEN, samples_to_converge=None))[1], "rcp.no_point")
    assert "do not tell after how many samples" in one["explanation"]


def test_an_open_result_is_not_held_against_the_reference(score: Score, runs_of: MakeRuns, a_system: MakeRun) -> None:
    results, findings = score(runs_of(TEN, samples_to_converge=10.0), [a_system(division="open")])
    assert results["rcp_check"].to_list() == [None]
    assert findings.height == 0


def test_bert_of_two_rounds_carries_its_caveat_once(score: Score, runs_of: MakeRuns, a_system: MakeRun) -> None:
    bert = {"round_name": "training-v2.1", "benchmark": "bert", "samples_to_converge": 1e9}
    runs = [*runs_of(TEN, **bert), *runs_of(TEN, submitter="Other", **bert)]
    systems = [a_system(round="training-v2.1"), a_system(round="training-v2.1", submitter_folder="Other")]
    (one,) = said(score(runs, systems)[1], "score.caveat")
    assert one["subject"] == "training-v2.1/bert"
    assert "opt_lamb_epsilon" in one["explanation"]


def test_instances_beyond_the_system_are_a_warning(score: Score, runs_of: MakeRuns, a_system: MakeRun) -> None:
    weak = {"round_name": "hpc-v3.0", "benchmark": "deepcam", "mode": "weak"}
    runs = runs_of([1.0] * 5, **weak, number_of_nodes=256, accelerators_per_node=8)
    (one,) = said(score(runs, [a_system(round="hpc-v3.0", accelerator_count=2048)])[1], "score.instances_exceed_system")
    assert (one["expected"], one["found"]) == ("at most 2048 accelerators", "5 instances of 2048")


def test_instances_of_different_size_are_a_warning(score: Score, runs_of: MakeRuns, a_system: MakeRun) -> None:
    weak = {"round_name": "hpc-v3.0", "benchmark": "deepcam", "mode": "weak"}
    runs = runs_of([1.0] * 5, **weak, number_of_nodes=1, accelerators_per_node=8)
    runs[0]["number_of_nodes"] = 2
    results, findings = score(runs, [a_system(round="hpc-v3.0")])
    assert results["instance_accelerator_count"].to_list() == [None]
    assert len(said(findings, "score.instance_sizes_differ")) == 1


def test_every_remark_has_a_name_of_its_own(score: Score, a_run: MakeRun, runs_of: MakeRuns) -> None:
    runs = [*runs_of(TEN[:7]), a_run(7, status="aborted"), a_run(8, status="aborted")]
    runs += runs_of(TEN, round_name="training-v9.0") + runs_of(TEN, benchmark="resnet")
    findings = score(runs, [])[1]
    assert findings["finding_id"].is_unique().all()
