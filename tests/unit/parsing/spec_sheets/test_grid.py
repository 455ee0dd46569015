from __future__ import annotations

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.spec_sheets.grid import Column, facts_of, read_csv, report_missing_columns, report_unread_columns
from pipelines.parsing.spec_sheets.sheet import Reading

COLUMNS = (Column("tdp", "power_watts", 1.0, "W"), Column("mem", "memory_bytes", 1e9, "GB"))


def kinds(reading: Reading) -> list[str]:
    return [finding.kind for finding in reading.findings]


def test_a_byte_order_mark_and_windows_line_ends_are_no_part_of_the_table() -> None:
    reading = Reading()
    grid = read_csv("\ufeffname,tdp\r\nA,300\r\n".encode(), reading, label="name")
    assert grid.header == ("name", "tdp")
    assert grid.rows[0].cells == {"name": "A", "tdp": "300"}
    assert reading.findings == []


def test_a_short_row_is_quoted_whole_and_gives_no_cells() -> None:
    reading = Reading()
    grid = read_csv(b"name,tdp,mem\nA,300,80\nB,150,24,7\nC,150\n", reading, label="name")
    assert [row.place for row in grid.rows] == ["row A"]
    assert kinds(reading) == ["row.long", "row.short"]
    assert reading.findings[1].found == "C,150"
    assert reading.findings[1].place == "line 4"
    assert reading.findings[1].expected == "3 cells"


def test_rows_are_told_by_name_and_a_second_of_a_name_by_number() -> None:
    grid = read_csv(b"name,tdp\nA,1\nA,2\n,3\n", Reading(), label="name")
    assert [row.place for row in grid.rows] == ["row A", "row A (2)", "row line 4"]


def test_headings_with_stray_spaces_and_repeated_headings_are_told() -> None:
    reading = Reading()
    grid = read_csv(b"name, tdp,tdp\nA,1,2\n", reading, label="name")
    assert grid.header == ("name", "tdp", "tdp [2]")
    assert kinds(reading) == ["header.stray_space", "header.repeated"]


def test_a_line_in_quotes_may_hold_line_ends_and_empty_lines_do_not_count() -> None:
    reading = Reading()
    grid = read_csv(b'name,tdp\n"A\nB",1\n\nC,2,3\n', reading, label="name")
    assert grid.rows[0].cells["name"] == "A\nB"
    assert reading.findings[0].place == "line 5"


def test_bytes_that_are_not_utf8_are_read_and_told() -> None:
    reading = Reading()
    grid = read_csv(b"name,tdp\n\xe9,1\n", reading, label="name")
    assert grid.rows[0].cells["name"] == "é"
    assert kinds(reading) == ["text.not_utf8"]


@pytest.mark.parametrize("limit_of_the_process", [131_072, 10_000_000])
def test_a_cell_too_long_ends_the_table_with_a_finding(limit_of_the_process: int) -> None:
    reading = Reading()
    before = csv.field_size_limit(limit_of_the_process)
    try:
        grid = read_csv(b"name,tdp\nA,1\nB," + b"1" * 200_000 + b"\nC,3\n", reading, label="name")
    finally:
        csv.field_size_limit(before)
    assert [row.place for row in grid.rows] == ["row A"]
    assert kinds(reading) == ["csv.unreadable"]
    assert reading.findings[0].place == "line 3"


def test_facts_come_from_numbers_nothing_from_blanks_and_a_finding_from_words() -> None:
    reading = Reading()
    grid = read_csv(b"name,tdp,mem\nA,300,80\nB,unk,about 24\n", reading, label="name")
    facts = [fact for row in grid.rows for fact in facts_of(row, row.cells["name"], COLUMNS, reading)]
    assert [(fact.subject, fact.quantity, fact.value, fact.printed) for fact in facts] == [
        ("A", "power_watts", 300.0, "300"),
        ("A", "memory_bytes", 80e9, "80"),
    ]
    assert facts[1].locator == "row A, column mem"
    assert [(finding.kind, finding.found) for finding in reading.findings] == [("cell.not_a_number", "about 24")]


def test_columns_that_are_missing_or_not_carried_are_named() -> None:
    reading = Reading()
    grid = read_csv(b"name,colour\nA,red\n", reading, label="name")
    report_missing_columns(grid, ("name", "tdp"), reading)
    report_unread_columns(grid, ("name", "tdp"), reading)
    assert [(finding.kind, finding.expected, finding.found) for finding in reading.findings] == [
        ("column.missing", "tdp", "name, colour"),
        ("column.not_carried", None, "colour"),
    ]


@given(st.binary(max_size=300))
def test_no_bytes_stop_it_and_every_row_has_a_cell_for_each_column(content: bytes) -> None:
    grid = read_csv(content, Reading(), label="name")
    assert all(set(row.cells) == set(grid.header) for row in grid.rows)
