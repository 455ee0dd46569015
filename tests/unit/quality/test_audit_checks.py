"""The checks on names, descriptions, launches, comparisons and facts: rows that satisfy each and rows that do not."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pipelines.quality import gate
from pipelines.quality.consistency import families_hold_like_results, power_near_rating
from pipelines.quality.outcomes import Outcome
from pipelines.quality.suites import CHECKS
from pipelines.schemas import TABLES


def table(name: str, *rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=TABLES[name].schema.create_empty().schema)


def run(name: str, *rows: dict[str, Any]) -> Outcome:
    (check,) = [check for check in CHECKS if check.name == name]
    (outcome,) = gate.run_checks([check], {check.table: table(check.table, *rows)})
    return outcome


BATCH = {"data_parallel": 8, "micro_batch": 1, "gradient_accumulation_steps": 2.0, "global_batch_size": 16}
SCORE = {"raw_minutes": 26.989967, "rcp_factor": 1.0127710127710128, "score_minutes": 26.989967 * 1.0127710127710128}


@pytest.mark.parametrize(
    ("check", "row", "status"),
    [
        ("names_count_what_they_say", {"verdict": "agrees"}, "passed"),
        ("names_count_what_they_say", {"verdict": "not_checkable"}, "passed"),
        ("names_count_what_they_say", {"verdict": "counts_cores"}, "failed"),
        ("names_count_what_they_say", {"verdict": "counts_one_node"}, "failed"),
        ("memory_is_of_the_part", {"memory_verdict": "agrees"}, "passed"),
        ("memory_is_of_the_part", {"memory_verdict": "no_facts"}, "passed"),
        ("memory_is_of_the_part", {"memory_verdict": "host_memory"}, "failed"),
        ("link_is_of_the_part", {"link_verdict": "not_stated"}, "passed"),
        ("link_is_of_the_part", {"link_verdict": "another_generation"}, "failed"),
        ("port_rate_exists", {"nic_gigabits_per_second": 800.0}, "passed"),
        ("port_rate_exists", {"nic_gigabits_per_second": None}, "passed"),
        ("port_rate_exists", {"nic_gigabits_per_second": 6400.0}, "failed"),
        ("batch_is_its_product", BATCH, "passed"),
        ("batch_is_its_product", {**BATCH, "global_batch_size": 8}, "failed"),
        ("batch_is_its_product", {**BATCH, "micro_batch": None}, "passed"),
        ("score_is_not_the_clock", SCORE, "passed"),
        ("score_is_not_the_clock", {**SCORE, "score_minutes": SCORE["raw_minutes"]}, "failed"),
        ("score_is_not_the_clock", {**SCORE, "rcp_factor": None}, "passed"),
        ("published_score_is_the_score", {**SCORE, "score_published_minutes": 27.335}, "passed"),
        ("published_score_is_the_score", {**SCORE, "score_published_minutes": 26.990}, "failed"),
        ("published_score_is_the_score", SCORE, "passed"),
        ("same_logs_score_alike", {"same_log_score_ratio": 1.0}, "passed"),
        ("same_logs_score_alike", {"same_log_score_ratio": None}, "passed"),
        ("same_logs_score_alike", {"same_log_score_ratio": 0.971429}, "failed"),
        ("utilisation_possible", {"model_flops_utilisation": 0.45}, "passed"),
        ("utilisation_possible", {"model_flops_utilisation": 1.0}, "passed"),
        ("utilisation_possible", {"model_flops_utilisation": 0.0}, "failed"),
        ("utilisation_possible", {"model_flops_utilisation": 1.8}, "failed"),
        ("utilisation_possible", {"model_flops_utilisation": None}, "passed"),
        ("lower_precision_is_no_slower", {"bf16_dense_teraflops": 989.4, "fp8_dense_teraflops": 1978.9}, "passed"),
        ("lower_precision_is_no_slower", {"bf16_dense_teraflops": 459.0, "fp8_dense_teraflops": 459.0}, "passed"),
        ("lower_precision_is_no_slower", {"bf16_dense_teraflops": 1979.0, "fp8_dense_teraflops": 1978.9}, "failed"),
        ("matrix_rate_above_vector_rate", {"fp32_vector_teraflops": 19.5, "bf16_dense_teraflops": 312.0}, "passed"),
        ("matrix_rate_above_vector_rate", {"fp32_vector_teraflops": 19.5, "bf16_dense_teraflops": 19.5}, "failed"),
        ("disagreements_are_explained", {"explained_by": "density"}, "passed"),
        ("disagreements_are_explained", {"explained_by": "unexplained"}, "failed"),
    ],
)
def test_each_check(check: str, row: dict[str, Any], status: str) -> None:
    outcome = run(check, row)
    assert outcome.status == status, outcome.explanation
    assert outcome.failed_count == (1 if status == "failed" else 0)
    if status == "failed":
        assert outcome.rows.height == 1


def test_the_row_that_offends_is_shown_and_the_others_are_not() -> None:
    outcome = run("batch_is_its_product", {"result_id": "a", **BATCH}, {"result_id": "b", **BATCH, "data_parallel": 4})
    assert outcome.rows.select("result_id", "data_parallel", "global_batch_size").rows() == [("b", 4, 16)]
    assert not outcome.is_blocking


def test_a_raw_time_in_place_of_a_score_of_ours_blocks() -> None:
    assert run("score_is_not_the_clock", {**SCORE, "score_minutes": SCORE["raw_minutes"]}).is_blocking


@pytest.mark.parametrize("check", ["batch_is_its_product", "published_score_is_the_score"])
def test_an_own_expectation_that_raises_is_errored_and_not_failed(check: str) -> None:
    (made,) = [made for made in CHECKS if made.name == check]
    words = pl.DataFrame({name: ["words"] for name in TABLES[made.table].schema.column_names()})
    (outcome,) = gate.run_checks([made], {made.table: words})
    assert outcome.status == "errored"
    assert outcome.is_blocking
    assert "error of this project" in outcome.explanation


def member(result_id: str, **other: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    reconciled = {"result_id": result_id, "family": "f", "accelerator": "GB200 (per GPU)", "precision": "fp8"}
    result = {"result_id": result_id, "division": "closed", "scaling_mode": "strong"}
    return (
        {**reconciled, **{name: value for name, value in other.items() if name in reconciled}},
        {**result, **{name: value for name, value in other.items() if name in result}},
    )


@pytest.mark.parametrize(
    ("other", "status"),
    [
        ({}, "passed"),
        ({"division": "open"}, "failed"),
        ({"precision": "fp4"}, "failed"),
        ({"precision": None}, "passed"),
        ({"division": "open", "family": "g"}, "passed"),
        ({"division": "open", "family": None}, "passed"),
    ],
)
def test_a_family_holds_results_that_may_be_compared(other: dict[str, Any], status: str) -> None:
    pairs = [member("a"), member("b", **other)]
    outcome = families_hold_like_results(
        table("mart.reconciled_runs", *(pair[0] for pair in pairs)), table("mart.results", *(pair[1] for pair in pairs))
    )
    assert outcome.status == status
    assert outcome.is_blocking == (status == "failed")
    if status == "failed":
        assert outcome.rows["result_id"].to_list() == ["a, b"]


@pytest.mark.parametrize(
    ("watts", "part", "checked", "status"),
    [
        (1137.0, "B200", 1, "passed"),
        (90.0, "B200", 1, "failed"),
        (9096.0, "B200", 1, "failed"),
        (1137.0, "No rating", 0, "passed"),
        (None, "B200", 0, "passed"),
    ],
)
def test_measured_power_is_held_against_the_rating(watts: float | None, part: str, checked: int, status: str) -> None:
    joules = None if watts is None else watts * 8 * 600
    result = {"result_id": "a", "accelerator": part, "accelerator_count": 8, "score_minutes": 10.0}
    parts = [{"accelerator": "B200", "power_watts": 1000.0}, {"accelerator": "No rating"}]
    outcome = power_near_rating(
        table("mart.results", {**result, "energy_joules": joules}), table("mart.accelerators", *parts)
    )
    assert (outcome.status, outcome.checked_count) == (status, checked)
    if status == "failed":
        assert outcome.rows["measured_watts"].to_list() == [pytest.approx(watts)]
