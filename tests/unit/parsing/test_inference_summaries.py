"""Inference summaries: both published forms, told by their fields; the unknown is kept, the missing is told."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.inference_summaries import parse_inference_summaries
from pipelines.parsing.published import PublishedFile
from pipelines.schemas.core import ParseFindings
from pipelines.schemas.inference import InferenceRecords

OLDER = {
    "ID": "5.1-0001",
    "Submitter": "Acme",
    "Availability": "available",
    "Category": "closed",
    "Suite": "datacenter",
    "System": "Acme (2x 8x B200)",
    "Platform": "acme_b200",
    "UsedModel": "llama3_1-70b-fp8",
    "Model": "llama2-70b-99",
    "Scenario": "Offline",
    "Accuracy": "ROUGE1: 44.4",
    "Nodes": 2,
    "Processor": "Some CPU",
    "host_processors_per_node": 2,
    "host_processor_core_count": "64(A) and 96(B)",
    "Accelerator": "NVIDIA B200-SXM-180GB",
    "a#": 8,
    "Location": "closed/Acme/results/acme_b200/llama2-70b-99/Offline",
    "Software": "some software",
    "operating_system": "some system",
    "Notes": "",
    "compliance": 1,
    "errors": 0,
    "version": "v5.1",
    "inferred": 1,
    "has_power": False,
    "weight_data_types": "fp4",
    "Performance_Result": 1234.5,
    "Performance_Units": "Tokens/s",
}
NEWER = {
    "Organization": "Acme",
    "Availability": "rdi",
    "Division": "open",
    "SystemType": "edge",
    "SystemName": "Acme box",
    "Platform": "acme_box",
    "Model": "another-model",
    "MlperfModel": "deepseek-r1",
    "Scenario": "SingleStream",
    "Result": 20.5,
    "Accuracy": "exact_match: 83.7",
    "number_of_nodes": 18,
    "host_processor_model_name": "Some CPU",
    "host_processors_per_node": 2,
    "host_processor_core_count": "72",
    "accelerator_model_name": "NVIDIA GB300",
    "accelerators_per_node": 4,
    "total_accelerators": 72,
    "Location": "./open/Acme/results/acme_box/deepseek-r1/SingleStream/performance/run_1",
    "framework": "some framework",
    "operating_system": "some system",
    "notes": None,
    "compliance": "open",
    "errors": 0,
    "version": "v6.1",
    "inferred": 0,
    "has_power": False,
    "Units": "Latency (s)",
    "weight_data_types": "fp4",
    "design_power_watts": 132000,
    "PrivateID": None,
}


def parse(content: object, path: str = "summary_results.json") -> tuple[pl.DataFrame, pl.DataFrame]:
    text = content if isinstance(content, str) else json.dumps(content)
    frames = parse_inference_summaries([PublishedFile("inference-v5.1", path, "0" * 64, text.encode())])
    InferenceRecords.validate(frames[0])
    ParseFindings.validate(frames[1])
    return frames


def kinds(findings: pl.DataFrame) -> list[str]:
    return findings["kind"].to_list()


def test_a_list_of_records_as_in_5_1() -> None:
    records, findings = parse([OLDER])
    (row,) = records.to_dicts()
    assert kinds(findings) == []
    assert row["location"] == OLDER["Location"]
    assert (row["form"], row["record"]) == ("v5.1", "0")
    assert (row["submitter"], row["division"], row["suite"]) == ("Acme", "closed", "datacenter")
    assert (row["benchmark"], row["model"]) == ("llama2-70b-99", "llama3_1-70b-fp8")
    assert (row["result"], row["result_unit"]) == (1234.5, "Tokens/s")
    assert (row["number_of_nodes"], row["accelerators_per_node"], row["accelerator_count_stated"]) == (2, 8, None)
    assert (row["accelerator"], row["is_inferred"], row["has_power"]) == ("B200-SXM-180GB", True, False)
    assert row["host_processor_core_count_text"] == "64(A) and 96(B)"
    assert (row["notes"], row["other_fields"]) == (None, "{}")


def test_a_dictionary_of_records_as_in_6_1() -> None:
    records, findings = parse({"0": NEWER}, "summary.json")
    (row,) = records.to_dicts()
    assert kinds(findings) == []
    assert row["location"] == "open/Acme/results/acme_box/deepseek-r1/SingleStream/performance/run_1"
    assert (row["form"], row["record"]) == ("v6.1", "0")
    assert (row["availability_text"], row["availability"]) == ("rdi", "research")
    assert (row["division"], row["suite"], row["compliance_text"]) == ("open", "edge", "open")
    assert (row["benchmark"], row["model"]) == ("deepseek-r1", "another-model")
    assert (row["result"], row["result_unit"]) == (20.5, "Latency (s)")
    assert (row["number_of_nodes"], row["accelerators_per_node"], row["accelerator_count_stated"]) == (18, 4, 72)
    assert (row["design_power_watts"], row["published_id"]) == (132000.0, None)


@pytest.mark.parametrize("path", ["summary.json", "summary_results.json"])
def test_the_form_is_told_by_the_fields_whatever_the_file_is_called_and_however_it_lists(path: str) -> None:
    assert parse([NEWER], path)[0]["form"].to_list() == ["v6.1"]
    assert parse({"a": OLDER, "b": {**OLDER, "Location": "x"}}, path)[0]["record"].to_list() == ["a", "b"]


def test_an_unknown_field_is_kept_and_told_once() -> None:
    more = {**OLDER, "Location": "b"}
    records, findings = parse([{**OLDER, "Tokens": 5}, {**more, "Tokens": {"x": 1}}])
    (finding,) = findings.to_dicts()
    assert (finding["kind"], finding["severity"], finding["found"]) == ("inference.unknown_field", "info", "Tokens")
    assert records.sort("record")["other_fields"].to_list() == ['{"Tokens": 5}', '{"Tokens": {"x": 1}}']


def test_a_missing_field_is_told_with_the_number_of_records_that_lack_it() -> None:
    lacking = {name: value for name, value in NEWER.items() if name != "total_accelerators"}
    records, findings = parse({"0": NEWER, "1": {**lacking, "Location": "b"}, "2": {**lacking, "Location": "c"}})
    (finding,) = findings.to_dicts()
    assert (finding["kind"], finding["place"]) == ("inference.missing_field", "total_accelerators")
    assert finding["explanation"] == "2 of 3 records have no field total_accelerators"
    assert finding["found"] == "none in record 1"
    assert records.height == 3


def test_power_is_read_where_it_is() -> None:
    records, findings = parse([{**OLDER, "has_power": True, "Power_Result": 10400.9, "Power_Units": "Watts"}])
    assert kinds(findings) == []
    assert records.select("power", "power_unit", "has_power").row(0) == (10400.9, "Watts", True)


@pytest.mark.parametrize(
    ("field", "value", "column", "read", "told"),
    [
        ("a#", "", "accelerators_per_node", None, False),
        ("a#", None, "accelerators_per_node", None, False),
        ("a#", "8", "accelerators_per_node", 8, False),
        ("a#", 8.0, "accelerators_per_node", 8, False),
        ("a#", "4 or 8", "accelerators_per_node", None, True),
        ("a#", "eight", "accelerators_per_node", 8, False),
        ("a#", -8, "accelerators_per_node", None, True),
        ("a#", True, "accelerators_per_node", None, True),
        ("Performance_Result", "1234.5", "result", 1234.5, False),
        ("Performance_Result", None, "result", None, True),
        ("Performance_Result", "fast", "result", None, True),
        ("Performance_Result", -1.0, "result", None, True),
        ("Performance_Result", [1], "result", None, True),
        ("Performance_Result", 10**400, "result", None, True),
        ("inferred", "maybe", "is_inferred", None, True),
        ("inferred", None, "is_inferred", None, False),
        ("Accelerator", "N/A", "accelerator", None, False),
        ("Accelerator", "AMD MI300X (x4), NVIDIA GB200 (x8)", "accelerator", None, False),
    ],
)
def test_values_that_can_and_cannot_be_read(field: str, value: object, column: str, read: object, told: bool) -> None:
    records, findings = parse([{**OLDER, field: value}])
    assert records[column].to_list() == [read]
    assert kinds(findings) == (["inference.unreadable_value"] if told else [])
    if told:
        assert findings["place"].item() == f"record 0, {column}"


def test_an_accelerator_that_is_not_known_is_told_once() -> None:
    unknown = {"Accelerator": "Some XPU (x4), NVIDIA GB200 (x8)"}
    records, findings = parse([{**OLDER, **unknown, "Location": "a"}, {**OLDER, **unknown, "Location": "b"}, OLDER])
    assert records["accelerator"].to_list().count(None) == 2
    assert findings.select("kind", "severity", "found").rows() == [
        ("inference.unknown_accelerator", "warning", "Some XPU (x4)")
    ]
    assert findings["explanation"][0].startswith("2 records ")


def test_nan_is_no_result() -> None:
    records, findings = parse(json.dumps([OLDER]).replace("1234.5", "NaN"))
    assert (records["result"].item(), kinds(findings)) == (None, ["inference.unreadable_value"])


def test_records_keep_apart_that_name_one_folder_or_none() -> None:
    nameless = {**OLDER, "Location": ""}
    records, findings = parse([OLDER, OLDER, nameless])
    location = str(OLDER["Location"])
    assert sorted(records["location"]) == [location, f"{location} (record 1)", "record 2"]
    assert sorted(kinds(findings)) == ["inference.location_twice", "inference.no_location"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[", "inference.unreadable"),
        ("5", "inference.unreadable"),
        ("[" * 200 + "]" * 200, "inference.unreadable"),
        ("[5]", "inference.no_record"),
        ('[{"a": 1}]', "inference.unknown_form"),
        ('{"Organization": "one record, not a dictionary of them"}', "inference.no_record"),
    ],
)
def test_what_is_no_summary_is_told(text: str, kind: str) -> None:
    records, findings = parse(text)
    assert records.is_empty()
    assert kinds(findings) == [kind]
    assert findings["severity"].to_list() == ["error"]


def test_nothing_is_told_of_an_empty_summary_or_of_another_file() -> None:
    for frame in (*parse([]), *parse([OLDER], "elsewhere/summary.json")):
        assert frame.is_empty()


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from([*OLDER, *NEWER, "more"]),
            st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers()),
        )
    )
)
def test_no_record_stops_the_reading(content: list[dict[str, Any]]) -> None:
    records, _ = parse([{**OLDER, **record} for record in content])
    assert records.height == len(content)
