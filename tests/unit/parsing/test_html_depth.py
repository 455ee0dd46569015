"""Depth of a page, told from its text."""

from __future__ import annotations

import pytest

from pipelines.parsing.html_depth import DEEPEST, DEEPEST_LISTS, is_nested_too_deep


@pytest.mark.parametrize(
    ("text", "too_deep"),
    [
        ("", False),
        ("<div>" * DEEPEST, False),
        ("<div>" * (DEEPEST + 1), True),
        ("<div/>" * (DEEPEST + 1), True),
        ("<div></div>" * 9999, False),
        ("<p>one<br><li>two<td>" * 9999, False),
        ("<path d='M0 0'/>" * 9999, False),
        ("<table>" * DEEPEST_LISTS, False),
        ("<TABLE\n>" * (DEEPEST_LISTS + 1), True),
        ("<table></table>" * 9999, False),
        ("</div>" * 9999 + "<div>", False),
        ("a < b > c " * 9999, False),
    ],
)
def test_depth(text: str, *, too_deep: bool) -> None:
    assert is_nested_too_deep(text) == too_deep
