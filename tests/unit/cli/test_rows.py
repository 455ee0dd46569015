"""Rows out: tables for people, CSV, JSON and Parquet for programs; published text obeys nobody's terminal."""

from __future__ import annotations

import io
import json
import re
import sys

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines._cli.rows import Format, visible, write_rows

FRAME = pl.DataFrame(
    {"name": ["a", None], "minutes": [27.334655875655876, 1.0], "racks": [39, 1_234_567], "list": [[1, 2], []]}
)


def test_csv_flattens_what_csv_cannot_hold(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(FRAME, Format.csv)
    assert capsys.readouterr().out.splitlines() == [
        "name,minutes,racks,list",
        'a,27.334655875655876,39,"[1,2]"',
        ",1.0,1234567,[]",
    ]


def test_csv_runs_in_no_spreadsheet(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(pl.DataFrame({"name": ["=cmd|' /C calc'!A0", "@x", "-1.5"], "minutes": [-1.5, 2.0, 3.0]}), Format.csv)
    assert capsys.readouterr().out.splitlines() == ["name,minutes", "'=cmd|' /C calc'!A0,-1.5", "'@x,2.0", "-1.5,3.0"]


def test_json_is_a_list_of_objects(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(FRAME, Format.json)
    assert json.loads(capsys.readouterr().out) == [
        {"name": "a", "minutes": 27.334655875655876, "racks": 39, "list": [1, 2]},
        {"name": None, "minutes": 1.0, "racks": 1234567, "list": []},
    ]


def test_json_of_no_rows_and_of_what_json_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(FRAME.head(0), Format.json)
    write_rows(pl.DataFrame({"value": [float("nan"), float("inf"), 1.5]}), Format.json)
    first, second = capsys.readouterr().out.splitlines()
    assert json.loads(first) == []
    assert json.loads(second, parse_constant=pytest.fail) == [{"value": None}, {"value": None}, {"value": 1.5}]


def test_parquet_goes_to_stdout_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", out)
    write_rows(FRAME, Format.parquet)
    assert pl.read_parquet(out.buffer.getvalue()).equals(FRAME)  # type: ignore[attr-defined]


def test_a_table_shows_every_value_on_one_line_of_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * 300
    write_rows(pl.DataFrame({"name": [long, "y"], "count": [1, None]}), Format.table)
    lines = capsys.readouterr().out.splitlines()
    assert any(long in line for line in lines)
    assert any(line.startswith("y") for line in lines)


def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int) -> list[str]:
    """Return the lines that a terminal of that width shows of two wide rows."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    wide = pl.DataFrame(
        {"result_id": ["training-v5.0/Acme/[rack]", None], "score_minutes": [27.33, 1.0], "racks": [39, 1]}
    )
    write_rows(wide, Format.table)
    return [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in capsys.readouterr().out.splitlines()]


def test_a_terminal_that_is_wide_enough_shows_a_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = terminal(monkeypatch, capsys, 60)
    assert lines[0].split() == ["result_id", "score_minutes", "racks"]
    assert lines[2].split() == ["training-v5.0/Acme/[rack]", "27.33", "39"]


def test_a_terminal_that_is_too_narrow_shows_a_field_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert terminal(monkeypatch, capsys, 40) == [
        "1 of 2 ─────────────────────────────────",
        "result_id      training-v5.0/Acme/[rack]",
        "score_minutes  27.33",
        "racks          39",
        "2 of 2 ─────────────────────────────────",
        "result_id",
        "score_minutes  1",
        "racks          1",
    ]


def test_markup_in_published_text_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(pl.DataFrame({"name": ["[bold red]x[/]", "\x1b[31mred"]}), Format.table)
    out = capsys.readouterr().out
    assert "[bold red]x[/]" in out
    assert "\\x1b[31mred" in out
    assert "\x1b" not in out


@given(st.text())
def test_no_control_character_is_left(text: str) -> None:
    assert all(character == "\n" or character.isprintable() or character.isspace() for character in visible(text))
    assert "\x1b" not in visible(text)


@given(st.text(st.characters(categories=("L", "N", "P", "Zs"))))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert visible(text) == text
