from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.description_fields import description_fields, is_one_slip, meant_fields


def test_each_field_with_its_line() -> None:
    content = b'{\n  "submitter": "A",\n  "hw_notes": "submitter: x",\n\n  "stack": {"cuda": 1}\n}\n'
    assert description_fields(content) == {"submitter": 2, "hw_notes": 3, "stack": 5}


def test_a_byte_order_mark_and_an_escaped_name() -> None:
    assert description_fields('\ufeff{"\\u0061": 1,\n"b": 2}'.encode()) == {"a": 1, "b": 2}


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 1000])
def test_what_is_no_object_has_no_fields(content: bytes) -> None:
    assert description_fields(content) is None


KNOWN = {"number_of_nodes", "division", "status", "accelerators_per_node", "host_processors_per_node"}


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("number of nodes", "number_of_nodes"),
        ("Number-of-Nodes ", "number_of_nodes"),
        ("divison", "division"),
        ("divisions", "division"),
        ("dividion", "division"),
        ("divsiion", "division"),
        ("accelerator_per_node", "accelerators_per_node"),
        ("STATUS", "status"),
    ],
)
def test_a_misspelled_name_means_its_field(name: str, field: str) -> None:
    assert meant_fields([name, "cooling"], KNOWN) == {name: field}


@pytest.mark.parametrize(
    "name", ["", "devisoin", "node", "nodes", "stat", "host_processor_core_count", "dvsn", "\u00e9"]
)
def test_another_name_means_no_field(name: str) -> None:
    assert meant_fields([name], KNOWN) == {}


def test_a_field_is_meant_once_and_never_where_it_stands_by_its_own_name() -> None:
    assert meant_fields(["divison", "division"], KNOWN) == {}
    assert meant_fields(["divison", "divisin"], KNOWN) == {"divison": "division"}
    assert meant_fields(["nodes_x"], {"nodes_y", "nodes_z"}) == {}


@given(st.text(max_size=12), st.text(max_size=12))
def test_a_slip_goes_both_ways(first: str, second: str) -> None:
    assert is_one_slip(first, second) == is_one_slip(second, first)


@given(st.text("abc", min_size=6, max_size=12), st.integers(0, 11), st.sampled_from("abc"))
def test_any_one_letter_more_is_a_slip(name: str, place: int, letter: str) -> None:
    assert is_one_slip(name[:place] + letter + name[place:], name)
