"""Text in CSV files: what a spreadsheet would run has an apostrophe in front, everything else stays as it was."""

from __future__ import annotations

import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.publishing.spreadsheets import FORMULA_STARTS, neutral


def neutral_text(text: str | None) -> str | None:
    frame = pl.DataFrame({"a": [text]}, schema={"a": pl.String})
    found: str | None = neutral(frame)["a"].item()
    return found


@given(st.lists(st.text(max_size=6) | st.none(), max_size=5))
def test_no_cell_starts_a_formula_and_other_cells_stay(texts: list[str | None]) -> None:
    frame = pl.DataFrame({"a": texts}, schema={"a": pl.String})
    for before, after in zip(texts, neutral(frame)["a"], strict=True):
        if after is not None and before is not None:
            starts = after.lstrip().startswith(tuple(FORMULA_STARTS))
            assert not starts or re.fullmatch(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", after, re.IGNORECASE)
            assert after.removeprefix("'") == before or after == before


@pytest.mark.parametrize(
    "text", ["=1+1", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "＝1", "=cmd|' /C calc'!A0", "-1e", "+"]
)
def test_what_a_spreadsheet_would_run_is_neutral(text: str) -> None:
    assert neutral_text(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-1", "+1", "-1.5", "-2e-05", "1", "", "a=1", "'=1", None])
def test_numbers_and_plain_text_stay(text: str | None) -> None:
    assert neutral_text(text) == text


def test_only_text_is_touched() -> None:
    frame = pl.DataFrame({"number": [-1.5], "whole": [-1], "yes": [True], "list": [["=1"]]})
    assert neutral(frame).equals(frame)
