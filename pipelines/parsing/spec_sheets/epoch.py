"""Epoch AI's table of machine learning hardware: one row a part, figures in plain units, most of them rated peaks.

One column names FP16 and BF16 together and is read as both; another, for half precision, holds the vector rate in
some rows and the matrix rate in others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from pipelines.parsing.spec_sheets import suspicions
from pipelines.parsing.spec_sheets.cells import number
from pipelines.parsing.spec_sheets.grid import (
    Column,
    Row,
    facts_of,
    read_csv,
    report_missing_columns,
    report_unread_columns,
)
from pipelines.parsing.spec_sheets.sheet import Fact, Form, Reading, Sheet

_NAME = "Hardware name"
_TENSOR = "Tensor-FP16/BF16 performance (FLOP/s)"
_MEMORY = "Memory (bytes)"
_RELEASE = "Release date"
_NOTES = "Notes"
_DATASHEET = "Link to datasheet"
_MATRIX = Form(engine="tensor")

_COLUMNS = (
    Column(_TENSOR, "bf16_teraflops", 1e-12, "FLOP/s", _MATRIX),
    Column(_TENSOR, "fp16_teraflops", 1e-12, "FLOP/s", _MATRIX),
    Column("FP8 performance (FLOP/s)", "fp8_teraflops", 1e-12, "FLOP/s", _MATRIX),
    Column("FP4 performance (FLOP/s)", "fp4_teraflops", 1e-12, "FLOP/s", _MATRIX),
    Column("TF32 (TensorFloat-32) performance (FLOP/s)", "tf32_teraflops", 1e-12, "FLOP/s", _MATRIX),
    Column("FP16 (half precision) performance (FLOP/s)", "fp16_teraflops", 1e-12, "FLOP/s"),
    Column("FP32 (single precision) performance (FLOP/s)", "fp32_teraflops", 1e-12, "FLOP/s"),
    Column("FP64 (double precision) performance (FLOP/s)", "fp64_teraflops", 1e-12, "FLOP/s"),
    Column("INT8 performance (OP/s)", "int8_teraops", 1e-12, "OP/s"),
    Column("INT4 performance (OP/s)", "int4_teraops", 1e-12, "OP/s"),
    Column(_MEMORY, "memory_bytes", 1.0, "bytes"),
    Column("Memory bandwidth (byte/s)", "memory_bandwidth_gigabytes_per_second", 1e-9, "byte/s"),
    Column("Intranode bandwidth (byte/s)", "scale_up_gigabytes_per_second", 1e-9, "byte/s"),
    Column("Internode bandwidth (bit/s)", "nic_gigabits_per_second", 1e-9, "bit/s"),
    Column("TDP (W)", "power_watts", 1.0, "W"),
)
_OTHER = (_NAME, _RELEASE, _NOTES, _DATASHEET)


def read(sheet: Sheet) -> Reading:
    """Read every row: rates, memory, bandwidths, power, year; each figure is held against the others of its row."""
    reading = Reading()
    grid = read_csv(sheet.content, reading, label=_NAME)
    known = [*_OTHER, *dict.fromkeys(column.header for column in _COLUMNS)]
    report_missing_columns(grid, known, reading)
    report_unread_columns(grid, known, reading)
    for row in grid.rows:
        name = row.cells.get(_NAME, "").strip()
        if not name:
            reading.report("subject.missing", f"{row.place} names no part.", place=row.place, severity="error")
            continue
        cited = _first_address(row.cells.get(_DATASHEET, ""))
        reading.facts += [replace(fact, cited_address=cited) for fact in _row_facts(row, name, reading)]
    return reading


def _row_facts(row: Row, name: str, reading: Reading) -> Iterator[Fact]:
    says_dense = "without sparsity" in row.cells.get(_NOTES, "").lower()
    for fact in facts_of(row, name, _COLUMNS, reading):
        if says_dense and fact.form.engine == "tensor":
            fact = replace(fact, form=replace(fact.form, density="dense"))
        yield replace(fact, defect=_defect(fact, row, reading))
    year = re.match(r"\d{4}", row.cells.get(_RELEASE, "").strip())
    if year:
        yield Fact(
            subject=name,
            quantity="release_year",
            printed=row.cells[_RELEASE].strip(),
            locator=f"{row.place}, column {_RELEASE}",
            value=float(year.group()),
        )


def _defect(fact: Fact, row: Row, reading: Reading) -> str | None:
    if fact.value is None:
        return None
    if fact.quantity == "nic_gigabits_per_second":
        return suspicions.bytes_in_bit_field(fact.value, fact.locator, reading)
    if fact.quantity == "memory_bytes":
        return suspicions.capacity_against_name(fact.subject, fact.value / 1e9, fact.locator, reading)
    if fact.quantity == "memory_bandwidth_gigabytes_per_second":
        size = number(row.cells.get(_MEMORY)) or 0.0
        return suspicions.memory_read_too_often(fact.value * 1e9, size, fact.locator, reading)
    return None


def _first_address(cell: str) -> str | None:
    match = re.search(r"https?://\S+", cell)
    return match.group() if match else None
