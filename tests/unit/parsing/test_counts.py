"""Counts as descriptions write them, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.counts import MOST_COUNTED, whole_number

NODES, PER_NODE, PROCESSORS = "number_of_nodes", "accelerators_per_node", "host_processors_per_node"


@pytest.mark.parametrize(
    ("text", "field", "count"),
    [
        (8, NODES, 8),
        ("16.0", NODES, 16),
        ("2,048", NODES, 2048),
        ("36 nodes", NODES, 36),
        ("1 Node", NODES, 1),
        ("two", NODES, 2),
        ("sixteen servers", NODES, 16),
        ("Thirty-two nodes", NODES, 32),
        ("ninety nine", NODES, 99),
        ("4 per node", PER_NODE, 4),
        ("8x GPU", PER_NODE, 8),
        ("8 GPUs/node", PER_NODE, 8),
        ("eight chips per host", PER_NODE, 8),
        ("2 sockets per server", PROCESSORS, 2),
        ("0", PER_NODE, 0),
    ],
)
def test_a_count(text: object, field: str, count: int) -> None:
    assert whole_number(text, field) == count


@pytest.mark.parametrize(
    "text",
    ["", "4-8", "4 or 8", "8+", "2,04", "1,2,3", "4 GPUs", "node", "many", "twenty-ten", "four teen", "-1", "1.5", "~8",
     "4 nodes of 8", "two thousand", "9" * 40, True, "N/A"],
)  # fmt: skip
def test_what_is_no_count_of_nodes(text: object) -> None:
    assert whole_number(text, NODES) is None


def test_without_a_field_a_count_stands_alone() -> None:
    assert [whole_number(text) for text in ("8", "8 nodes", "eight", "2,048")] == [8, None, None, 2048]


@given(st.integers(0, MOST_COUNTED), st.sampled_from(["{}", "{:,}", " {} ", "{}.00"]))
def test_any_number_in_any_form(number: int, form: str) -> None:
    expected = None if form == "{:,}" and number == MOST_COUNTED else number
    assert whole_number(form.format(number), NODES) == expected
