"""What inference records come to: totals, parts, the better direction, twins, and objections."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pipelines.schemas.inference import InferenceAnswers, InferenceParts, InferenceRecords
from pipelines.schemas.mart import Findings
from pipelines.scoring.inference import InferenceTables, inference_answers, is_lower_better

RECORD: dict[str, Any] = {
    "round": "inference-v5.1",
    "location": "closed/Acme/results/acme/llama2-70b-99/Offline",
    "record": "0",
    "form": "v5.1",
    "submitter": "Acme",
    "division": "closed",
    "suite": "datacenter",
    "platform": "acme",
    "benchmark": "llama2-70b-99",
    "scenario": "Offline",
    "result": 96.0,
    "result_unit": "Tokens/s",
    "number_of_nodes": 2,
    "accelerators_per_node": 8,
    "accelerator_text": "NVIDIA B200-SXM-180GB",
    "source_path": "summary_results.json",
    "source_sha256": "0" * 64,
}


def answers(*changes: dict[str, Any]) -> InferenceTables:
    rows = [
        RECORD | {"location": f"{index}/{change.get('benchmark', RECORD['benchmark'])}"} | change
        for index, change in enumerate(changes)
    ]
    frame = pl.DataFrame(rows, schema=InferenceRecords.create_empty().schema, orient="row")
    tables = inference_answers(frame)
    InferenceAnswers.validate(tables.results)
    InferenceParts.validate(tables.parts)
    Findings.validate(tables.findings)
    return tables


def result(**change: Any) -> dict[str, Any]:
    (row,) = answers(change).results.to_dicts()
    return row


def test_a_record_is_told_by_round_and_folder_with_its_totals() -> None:
    row = result()
    assert row["inference_id"] == "inference-v5.1/0/llama2-70b-99"
    assert (row["accelerator_count"], row["result_per_accelerator"]) == (16, 6.0)
    assert (row["accelerators"], row["is_counted_once"]) == ("16 B200-SXM-180GB", True)
    assert (row["workload"], row["accuracy_target_percent"]) == ("llama2-70b", 99.0)


@pytest.mark.parametrize(
    ("change", "count"),
    [
        ({"accelerators_per_node": None, "accelerator_text": None}, None),
        ({"accelerators_per_node": 0}, None),
        ({"accelerators_per_node": None, "accelerator_count_stated": 72}, 72),
        ({"number_of_nodes": 18, "accelerators_per_node": 4, "accelerator_count_stated": 72}, 72),
    ],
)
def test_the_total_is_nodes_times_accelerators_else_what_is_stated(change: dict[str, Any], count: int | None) -> None:
    assert result(**change)["accelerator_count"] == count


def test_a_stated_total_that_is_not_the_product_is_told() -> None:
    tables = answers({"accelerator_count_stated": 8})
    assert tables.results["accelerator_count"].to_list() == [16]
    (finding,) = tables.findings.to_dicts()
    assert (finding["kind"], finding["expected"], finding["found"]) == (
        "inference.total_against_product",
        "2 x 8 = 16",
        "8",
    )


@pytest.mark.parametrize(
    ("unit", "lower"),
    [
        ("Latency (ms)", True),
        ("Latency (s)", True),
        ("Tokens/s", False),
        ("Samples/s", False),
        ("Queries/s", False),
        ("Furlongs", None),
        (None, None),
    ],
)
def test_which_way_a_unit_is_better(unit: str | None, lower: bool | None) -> None:
    assert is_lower_better(unit) is lower
    assert result(result_unit=unit)["is_lower_better"] is lower


def test_a_latency_is_not_shared_out_and_an_unknown_unit_is_told() -> None:
    assert result(result_unit="Latency (ms)")["result_per_accelerator"] is None
    assert answers({"result_unit": "Furlongs"}).findings["kind"].to_list() == ["inference.unknown_unit"]


def test_compound_accelerators_are_split() -> None:
    text = "AMD Instinct MI300X 192GB HBM3 (x32), AMD Instinct MI325X 256GB HBM3e (x16)"
    tables = answers({"accelerator_text": text, "number_of_nodes": 6})
    assert tables.results["accelerators"].item() == "32 Instinct MI300X + 16 Instinct MI325X"
    assert tables.results["accelerator"].item() is None
    assert tables.parts.select("accelerator_text", "accelerator", "accelerator_count").rows() == [
        ("AMD Instinct MI300X 192GB HBM3", "Instinct MI300X", 32),
        ("AMD Instinct MI325X 256GB HBM3e", "Instinct MI325X", 16),
    ]
    assert tables.findings.is_empty()


def test_parts_that_do_not_add_up_are_told() -> None:
    text = "NVIDIA GB200 (x8), NVIDIA GB300 (x4)"
    tables = answers({"accelerator_text": text})
    (finding,) = tables.findings.to_dicts()
    assert (finding["kind"], finding["expected"], finding["found"]) == ("inference.parts_against_total", "16", "8 + 4")


def twins(**change: Any) -> pl.DataFrame:
    return answers({"result": 5.0}, {"benchmark": "llama2-70b-99.9", "result": 5.0} | change).results


def test_the_two_targets_of_one_run_are_linked_and_counted_once() -> None:
    rows = {row["accuracy_target_percent"]: row for row in twins().iter_rows(named=True)}
    assert rows[99.0]["twin_id"] == rows[99.9]["inference_id"]
    assert rows[99.9]["twin_id"] == rows[99.0]["inference_id"]
    assert [rows[target]["twin_has_same_result"] for target in (99.0, 99.9)] == [True, True]
    assert [rows[target]["is_counted_once"] for target in (99.0, 99.9)] == [False, True]


def test_twins_with_other_results_are_two_measurements() -> None:
    rows = twins(result=4.0)
    assert rows["twin_id"].null_count() == 0
    assert rows["twin_has_same_result"].to_list() == [False, False]
    assert rows["is_counted_once"].to_list() == [True, True]


@pytest.mark.parametrize(
    "change",
    [
        {"platform": "another"},
        {"scenario": "Server"},
        {"division": "open"},
        {"submitter": "Another"},
        {"round": "inference-v6.0"},
        {"benchmark": "dlrm-v2-99.9"},
        {"benchmark": "llama2-70b"},
    ],
)
def test_other_runs_are_no_twins(change: dict[str, Any]) -> None:
    assert twins(**change)["twin_id"].null_count() == 2


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ({"system_name": "Acme (2x8x B200-SXM-180GB, TensorRT)"}, False),
        ({"system_name": "Acme (16x B200-SXM-180GB)"}, False),
        ({"platform": "acme_B200-SXM-180GBx8_TRT"}, False),
        ({"platform": "acme_4xB200_vLLM"}, True),
        ({"platform": "acme_B200-SXM-180GBx4_TRT"}, True),
        ({"platform": "acme_4xH200_vLLM"}, False),
    ],
)
def test_a_name_that_counts_otherwise_is_told(names: dict[str, str], told: bool) -> None:
    kinds = answers(names).findings["kind"].to_list()
    assert kinds == (["inference.count_against_name"] if told else [])


def test_no_records_give_no_answers() -> None:
    tables = answers()
    assert (tables.results.height, tables.parts.height, tables.findings.height) == (0, 0, 0)
