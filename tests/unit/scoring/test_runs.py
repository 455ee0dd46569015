from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

Row = dict[str, Any]
MakeRun = Callable[..., Row]
MakeRuns = Callable[..., list[Row]]
Judge = Callable[..., pl.DataFrame]


def test_a_run_that_meets_every_condition_counts(judge: Judge, a_run: MakeRun) -> None:
    (row,) = judge([a_run(run_ms=90_000)]).to_dicts()
    assert row["is_counted"] is True
    assert row["not_counted_rule"] is None
    assert row["not_counted_reason"] is None
    assert row["raw_minutes"] == 1.5
    assert row["init_minutes"] == pytest.approx(59 / 60)
    assert row["rank"] == 1


@pytest.mark.parametrize(
    ("spoilt", "rule", "sentence"),
    [
        (
            {"run_start_count": 0, "run_start_ms": None, "run_start_line": None},
            "run_start",
            "The log has no run_start.",
        ),
        (
            {"run_start_count": 2},
            "run_start",
            "The log has 2 run_start events, the first in line 10; exactly one is allowed.",
        ),
        (
            {"run_stop_count": 0, "run_stop_ms": None, "run_stop_line": None, "status": None},
            "run_stop",
            "The log has no run_stop.",
        ),
        (
            {"run_stop_count": 3},
            "run_stop",
            "The log has 3 run_stop events, the first in line 20; exactly one is allowed.",
        ),
        ({"run_stop_line": 9}, "run_stop", "run_stop in line 9 comes before run_start in line 10."),
        ({"status": "aborted"}, "status", "run_stop in line 20 has status aborted, not success."),
        ({"status": None}, "status", "run_stop in line 20 has status none, not success."),
        (
            {"broken_line_count": 2, "first_broken_line": 7},
            "broken_line",
            "Line 7 holds a log event that does not parse (of 2 such); one rejects the run.",
        ),
        (
            {"init_stop_ms": 1_700_000_000_000 - 60_000 + 30 * 60_000},
            "init_time",
            "Initialisation until line 9 took 30.0 minutes, the limit is 30.",
        ),
        ({"init_stop_ms": None}, "init_time", "The log has no init_start or no init_stop."),
        (
            {"source_path": "Org/results/sys/llama2_70b_lora/pruned_results/result_0.txt"},
            "layout",
            "The file lies outside the benchmark's folder, where the rule does not look.",
        ),
    ],
)
def test_a_run_fails_a_condition_and_says_which(
    judge: Judge, a_run: MakeRun, spoilt: Row, rule: str, sentence: str
) -> None:
    (row,) = judge([a_run(**spoilt)]).to_dicts()
    assert row["is_counted"] is False
    assert row["not_counted_rule"] == rule
    assert row["not_counted_reason"] == sentence
    assert row["is_kept"] is False
    assert row["rank"] is None


def test_each_failed_condition_has_its_sentence_and_the_first_names_the_rule(judge: Judge, a_run: MakeRun) -> None:
    (row,) = judge([a_run(status="aborted", broken_line_count=1, first_broken_line=3)]).to_dicts()
    assert row["not_counted_rule"] == "status"
    assert row["not_counted_reason"].count("line ") + row["not_counted_reason"].count("Line ") == 2


@pytest.mark.parametrize(
    ("round_name", "logged", "described", "minutes", "counted"),
    [
        ("training-v4.1", "closed", "closed", 29.99, True),
        ("training-v4.1", "closed", "closed", 30, False),
        ("training-v4.1", "open", "open", 239.99, True),
        ("training-v4.1", "open", "open", 240, False),
        # The checker reads the log's division, not the description's.
        ("training-v4.1", "open", "closed", 100, True),
        ("training-v4.1", "closed", "open", 100, False),
        ("training-v4.1", None, "open", 100, True),
        ("training-v4.1", "OPEN_PLACEHOLDER", "closed", 100, False),
        ("training-v1.1", "open", "open", 30, False),
        ("training-v0.7", "closed", "closed", 20, False),
    ],
)
def test_the_limit_of_initialisation_by_round_and_division(
    judge: Judge,
    a_run: MakeRun,
    a_system: MakeRun,
    round_name: str,
    logged: str | None,
    described: str,
    minutes: float,
    counted: bool,
) -> None:
    run = a_run(round_name=round_name, benchmark="bert", submission_division=logged)
    run["init_stop_ms"] = run["init_start_ms"] + round(minutes * 60_000)
    judged = judge([run], [a_system(round=round_name, division=described)])
    assert judged["is_counted"].to_list() == [counted]


def test_the_fastest_and_the_slowest_are_dropped(judge: Judge, runs_of: MakeRuns) -> None:
    judged = judge(runs_of([5, 1, 3, 2, 4]))
    assert judged["rank"].to_list() == [5, 1, 3, 2, 4]
    assert judged["is_kept"].to_list() == [False, False, True, True, True]


def test_a_failed_run_takes_the_place_of_a_slowest(judge: Judge, a_run: MakeRun, runs_of: MakeRuns) -> None:
    judged = judge([*runs_of([5, 1, 3]), a_run(3, status="aborted")])
    assert judged["is_kept"].to_list() == [True, False, True, False]


def test_with_more_failed_than_dropped_no_run_is_kept(judge: Judge, a_run: MakeRun, runs_of: MakeRuns) -> None:
    judged = judge([*runs_of([5, 1, 3]), a_run(3, status="aborted"), a_run(4, status="aborted")])
    assert judged["is_counted"].sum() == 3
    assert judged["is_kept"].any() is False


def test_equal_times_are_ranked_by_path(judge: Judge, runs_of: MakeRuns) -> None:
    assert judge(runs_of([2, 2, 2]))["rank"].to_list() == [1, 2, 3]


@given(good=st.integers(0, 45), bad=st.integers(0, 6), task=st.sampled_from(["unet3d", "resnet"]), data=st.data())
@settings(max_examples=40, deadline=None)
def test_kept_runs_are_the_slice_that_the_official_summarizer_takes(
    judge: Judge, a_run: MakeRun, a_system: MakeRun, good: int, bad: int, task: str, data: st.DataObject
) -> None:
    times = data.draw(st.lists(st.integers(1, 50), min_size=good, max_size=good))
    in_round = {"round_name": "training-v3.0", "benchmark": task}
    runs = [a_run(number, 1000 * time, **in_round) for number, time in enumerate(times)]
    runs += [a_run(good + number, status="aborted", **in_round) for number in range(bad)]
    drop = 4 if task == "unet3d" else 1
    official = sorted(times)[drop : len(times) - (drop - bad)] if bad <= drop else []
    if not runs:
        return
    judged = judge(runs, [a_system(round="training-v3.0")])
    kept = judged.filter("is_kept")["raw_minutes"] * 60
    assert sorted(kept.round(6)) == [float(time) for time in official]


def test_weak_scaling_keeps_every_counted_run(judge: Judge, a_run: MakeRun, runs_of: MakeRuns) -> None:
    weak = {"round_name": "hpc-v3.0", "benchmark": "deepcam", "mode": "weak"}
    judged = judge([*runs_of([5, 1, 3], **weak), a_run(3, status="aborted", **weak)])
    assert judged["is_kept"].to_list() == [True, True, True, False]


@pytest.mark.parametrize(
    ("round_name", "task", "reason"),
    [
        ("training-v9.0", "bert", "No scoring rule is known for training-v9.0."),
        ("training-v5.0", "resnet", "No scoring rule is known for resnet in training-v5.0."),
    ],
)
def test_without_a_rule_a_run_is_kept_but_not_judged(
    judge: Judge, a_run: MakeRun, round_name: str, task: str, reason: str
) -> None:
    (row,) = judge([a_run(round_name=round_name, benchmark=task)]).to_dicts()
    assert row["is_counted"] is None
    assert row["is_kept"] is None
    assert row["not_counted_rule"] == "no_rule"
    assert row["not_counted_reason"] == reason
    assert row["raw_minutes"] == 10.0


def test_a_log_seen_in_two_rounds_is_first_published_in_the_earlier(judge: Judge, a_run: MakeRun) -> None:
    later = a_run(round_name="training-v10.0", source_sha256="same")
    earlier = a_run(round_name="training-v5.0", source_sha256="same", submitter="Other")
    by_round = {row["round"]: row for row in judge([later, earlier]).to_dicts()}
    old, new = by_round["training-v5.0"], by_round["training-v10.0"]
    assert old["first_result_id"] == new["first_result_id"] == earlier["result_id"]
    assert (old["is_first_publication"], new["is_first_publication"]) == (True, False)
    assert new["same_log_result_ids"] == earlier["result_id"]
    assert old["same_log_result_ids"] == later["result_id"]


def test_within_a_round_the_first_submitter_by_name_published_first(judge: Judge, a_run: MakeRun) -> None:
    runs = [a_run(submitter=name, source_sha256="same") for name in ("smc-dc-power", "smc", "smc-ac-power")]
    first = judge(runs).filter("is_first_publication")
    assert first["result_id"].to_list() == ["training-v4.1/smc/sys/llama2_70b_lora"]


def test_the_same_bytes_twice_in_one_result_are_used_once(judge: Judge, a_run: MakeRun) -> None:
    judged = judge([a_run(0, source_sha256="same"), a_run(1, source_sha256="same")])
    assert judged["is_first_publication"].to_list() == [True, False]
    assert judged["same_log_result_ids"].to_list() == [None, None]
    assert judged["is_counted"].to_list() == [True, True]


def test_files_without_an_event_are_nobody_s_copy(judge: Judge, a_run: MakeRun) -> None:
    empty = {"source_sha256": "of nothing", "event_count": 0, "run_start_count": 0}
    judged = judge([a_run(0, **empty), a_run(1, submitter="Other", **empty)])
    assert judged["same_log_result_ids"].null_count() == 2
    assert judged["is_first_publication"].all()


def test_no_runs_give_no_rows(judge: Judge) -> None:
    assert judge([]).height == 0
