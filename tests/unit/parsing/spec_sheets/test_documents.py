from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.spec_sheets.documents import (
    Field,
    at,
    fact_at,
    leaves,
    read_json,
    read_yaml,
    report_unread_fields,
)
from pipelines.parsing.spec_sheets.sheet import Reading


def kinds(reading: Reading) -> list[str]:
    return [finding.kind for finding in reading.findings]


def test_a_json_document_is_read_and_a_repeated_key_told() -> None:
    reading = Reading()
    assert read_json(b'{"a": {"b": 1, "b": 2}}', reading) == {"a": {"b": 2}}
    assert [(finding.kind, finding.found) for finding in reading.findings] == [("key.repeated", "b")]


def test_what_is_no_json_object_is_a_finding() -> None:
    for content, kind in ((b"{", "json.unreadable"), (b"[1]", "document.not_a_mapping"), (b"\xff", "json.unreadable")):
        reading = Reading()
        assert read_json(content, reading) == {}
        assert kinds(reading) == [kind]


def test_nesting_too_deep_is_a_finding() -> None:
    for read, content in ((read_json, b"[" * 100_000), (read_yaml, b"a: " + b"[" * 100_000)):
        reading = Reading()
        assert read(content, reading) == {}
        assert reading.findings[0].severity == "error"


def test_yaml_scalars_stay_the_text_that_they_are() -> None:
    reading = Reading()
    document = read_yaml(b"a: { value: 0.10, on: yes }\nb: [1, x]\nc: 2001-99-99\nd:\n", reading)
    assert document == {"a": {"value": "0.10", "on": "yes"}, "b": ["1", "x"], "c": "2001-99-99", "d": ""}
    assert reading.findings == []


def test_yaml_with_repeated_keys_aliases_or_broken_lines_is_told() -> None:
    for content, kind in (
        (b"a: 1\na: 2\n", "key.repeated"),
        (b"a: &x [1]\nb: *x\n", "yaml.alias"),
        (b"a: [1\n", "yaml.unreadable"),
        (b"just words", "document.not_a_mapping"),
        (b"", "document.not_a_mapping"),
        (b"a: \x00", "yaml.unreadable"),
    ):
        reading = Reading()
        read_yaml(content, reading)
        assert kinds(reading) == [kind]


def test_paths_reach_into_mappings_and_lists() -> None:
    document = {"a": [{"b": 1}, {"b": 2}], "c": [1, 2]}
    assert at(document, "a.1.b") == 2
    assert at(document, "a.2.b") is None
    assert at(document, "c.x") is None
    assert leaves(document) == ["a.0.b", "a.1.b", "c"]


def test_a_field_becomes_a_fact_with_its_path_as_locator() -> None:
    reading = Reading()
    document = {"mem": {"GiB": 80, "GBps": "fast"}, "none": None}
    fact = fact_at(document, Field("mem.GiB", "memory_bytes", 2.0**30, "GiB"), "part", reading)
    assert fact is not None
    assert (fact.value, fact.printed, fact.locator) == (80 * 2**30, "80", "mem.GiB")
    assert fact_at(document, Field("mem.GBps", "memory_bandwidth_gigabytes_per_second"), "part", reading) is None
    assert fact_at(document, Field("none", "power_watts"), "part", reading) is None
    assert [(finding.kind, finding.place, finding.found) for finding in reading.findings] == [
        ("cell.not_a_number", "mem.GBps", "fast")
    ]


def test_fields_that_are_not_carried_are_named_once() -> None:
    reading = Reading()
    report_unread_fields({"a": 1, "b": {"c": 2}}, ["a"], reading)
    assert [(finding.kind, finding.found) for finding in reading.findings] == [("field.not_carried", "b.c")]


@given(st.binary(max_size=200))
def test_no_bytes_stop_either_form(content: bytes) -> None:
    for read in (read_json, read_yaml):
        reading = Reading()
        assert isinstance(read(content, reading), dict)


@given(st.text(alphabet="ab:{}[]-&*!|>'\" \n1", max_size=80))
def test_no_yaml_like_text_stops_it(text: str) -> None:
    assert isinstance(read_yaml(text.encode(), Reading()), dict)
