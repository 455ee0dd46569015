"""The table of the mlco2 impact calculator: one row a part or processor, FP32 and FP16 rates, power, memory.

Neither precision says which engine or which density it means. Rates for a watt are checked against their own row and
not carried.
"""

from __future__ import annotations

from dataclasses import replace

from pipelines.parsing.spec_sheets import suspicions
from pipelines.parsing.spec_sheets.cells import as_printed, is_missing, number
from pipelines.parsing.spec_sheets.grid import (
    Column,
    Row,
    facts_of,
    read_csv,
    report_missing_columns,
    report_unread_columns,
)
from pipelines.parsing.spec_sheets.sheet import Fact, Form, Reading, Sheet

_COLUMNS = (
    Column("tdp_watts", "power_watts", 1.0, "W"),
    Column("TFLOPS32", "fp32_teraflops", 1.0, "TFLOP/s"),
    Column("TFLOPS16", "fp16_teraflops", 1.0, "TFLOP/s"),
    Column("memory", "memory_bytes", 1e9, None),
)
_DERIVED = {"GFLOPS32/W": "TFLOPS32", "GFLOPS16/W": "TFLOPS16"}
_OTHER = ("name", "type", "source")

SIXTY_FOURTH = 64
"""Pascal's consumer parts run FP16 at 1/64 of FP32."""


def read(sheet: Sheet) -> Reading:
    """Read every row that has a cell for each column; each figure is held against the others of its row."""
    reading = Reading()
    grid = read_csv(sheet.content, reading, label="name")
    known = [*_OTHER, *_DERIVED, *(column.header for column in _COLUMNS)]
    report_missing_columns(grid, known, reading)
    report_unread_columns(grid, known, reading)
    for row in grid.rows:
        name = row.cells.get("name", "").strip()
        if not name:
            reading.report("subject.missing", f"{row.place} names no part.", place=row.place, severity="error")
            continue
        cited = _cited(row, name, reading)
        _check_derived(row, name, reading)
        reading.facts += [
            replace(fact, cited_address=cited, form=_form(fact, cited), defect=_defect(fact, row, reading))
            for fact in facts_of(row, name, _COLUMNS, reading)
        ]
    return reading


def _cited(row: Row, name: str, reading: Reading) -> str | None:
    """Return the address that the row cites; words in its place are told, since they can change what a figure is."""
    cited = row.cells.get("source", "").strip()
    if is_missing(cited):
        return None
    if not cited.startswith(("https://", "http://")):
        reading.report(
            "source.not_an_address",
            f"{name} cites no address: {cited[:80]}.",
            place=f"{row.place}, column source",
            severity="info",
            expected="an address",
            found=cited,
        )
    return cited


def _form(fact: Fact, cited: str | None) -> Form:
    """Return the form of a figure; a power is no rating where the row's own words call it average consumption."""
    says_average = "average" in (cited or "").lower()
    return replace(fact.form, variant="average") if says_average and fact.quantity == "power_watts" else fact.form


def _defect(fact: Fact, row: Row, reading: Reading) -> str | None:
    figure = number(fact.printed)
    if figure is None:
        return None
    if fact.quantity == "memory_bytes":
        return suspicions.capacity_against_name(fact.subject, figure, fact.locator, reading)
    if fact.quantity == "fp32_teraflops":
        watts = number(row.cells.get("tdp_watts")) or 0.0
        return suspicions.too_fast_for_its_power(figure, watts, fact.locator, reading)
    if fact.quantity == "fp16_teraflops":
        return _gigaflops_as_teraflops(fact, figure, number(row.cells.get("TFLOPS32")), reading)
    return None


def _gigaflops_as_teraflops(fact: Fact, half: float, single: float | None, reading: Reading) -> str | None:
    if single is None or abs(half / (1000 * single / SIXTY_FOURTH) - 1) > 0.005:
        return None
    return reading.report(
        "compute.gigaflops_in_teraflops_field",
        f"{fact.locator} holds {as_printed(half)}, a thousand times the 1/64 of FP32 that Pascal parts reach.",
        place=fact.locator,
        expected=as_printed(half / 1000),
        found=as_printed(half),
    )


def _check_derived(row: Row, name: str, reading: Reading) -> None:
    """Hold each rate for a watt against the rate and the power of its row."""
    watts = number(row.cells.get("tdp_watts"))
    for derived, source in _DERIVED.items():
        stated, rate = number(row.cells.get(derived)), number(row.cells.get(source))
        if not stated or rate is None or not watts:
            continue
        expected = 1000 * rate / watts
        if abs(stated / expected - 1) > 0.05 if expected else True:
            reading.report(
                "derived.differs",
                f"{name} states {as_printed(stated)} in {derived}; its own rate and power give {expected:.4g}.",
                place=f"{row.place}, column {derived}",
                expected=f"{expected:.4g}",
                found=row.cells[derived].strip(),
            )
