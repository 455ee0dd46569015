"""When a measured ratio counts as worse than the committed one."""

from __future__ import annotations

import json

import pytest

from tests.bench.ratios import FILE, worsened

COMMITTED = {"parsing_over_search": 6.0, "cost_per_byte_all_over_half": 1.0, "official_over_parsing": 150.0}


def test_like_ratios_are_fine() -> None:
    assert worsened(COMMITTED, COMMITTED) == []
    assert worsened({**COMMITTED, "parsing_over_search": 11.9, "official_over_parsing": 76.0}, COMMITTED) == []


@pytest.mark.parametrize(
    ("name", "now", "line"),
    [
        ("parsing_over_search", 12.1, "parsing_over_search: 12.1 against 6.0"),
        ("official_over_parsing", 74.0, "official_over_parsing: 74.0 against 150.0"),
    ],
)
def test_a_ratio_that_got_much_worse_is_named(name: str, now: float, line: str) -> None:
    (found,) = worsened({**COMMITTED, name: now}, COMMITTED)
    assert found.startswith(line)


def test_a_ratio_that_is_not_there_is_named() -> None:
    assert [line.split(":")[0] for line in worsened(COMMITTED, {})] == list(COMMITTED)


def test_the_committed_file_has_every_ratio() -> None:
    assert set(json.loads(FILE.read_text())) == set(COMMITTED)
