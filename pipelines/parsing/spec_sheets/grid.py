"""Tables of any published form as one grid: a header and rows of cells, each with its place.

A form (CSV, and whatever else prints rows and columns) only has to become a grid; which column means what belongs in
the reader of the source.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipelines.parsing.spec_sheets.cells import is_missing, number, report_no_number
from pipelines.parsing.spec_sheets.sheet import UNSTATED, Fact, Form, Reading

LONGEST_CELL = 131_072
"""Characters that a cell may hold: what is longer is an unclosed quote, not a figure."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row that has as many cells as the header has columns."""

    place: str
    cells: dict[str, str]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: its column names, and the rows whose cells can be told apart by them."""

    header: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """What one column states: a quantity, the factor to its unit, and the form that its heading tells."""

    header: str
    quantity: str
    factor: float = 1.0
    printed_unit: str | None = None
    form: Form = UNSTATED


def read_csv(content: bytes, reading: Reading, *, label: str) -> Grid:
    """Read a CSV with a header line; a byte-order mark, a stray space or a bad row is told and does not stop it.

    `label` is the column that names a row: a place is told by it, since line numbers move with every new row. A row
    with too few or too many cells is left out, since none of its cells can be told by its column: the finding quotes it
    whole.
    """
    lines = _csv_lines(_decoded(content, reading), reading)
    _, first = next(lines, (0, []))
    header = _header(first, reading)
    seen: Counter[str] = Counter()
    rows = []
    for line, cells in lines:
        if not any(cell.strip() for cell in cells):
            continue
        place = f"line {line}"
        if len(cells) == len(header):
            row = dict(zip(header, cells, strict=True))
            name = row.get(label, "").strip() or place
            seen[name] += 1
            rows.append(Row(f"row {name}" if seen[name] == 1 else f"row {name} ({seen[name]})", row))
            continue
        reading.report(
            "row.short" if len(cells) < len(header) else "row.long",
            f"{place} has {len(cells)} cells under {len(header)} columns, so no cell of it can be told by its column.",
            place=place,
            severity="error",
            expected=f"{len(header)} cells",
            found=",".join(cells),
        )
    return Grid(header, tuple(rows))


def facts_of(row: Row, subject: str, columns: Sequence[Column], reading: Reading) -> Iterator[Fact]:
    """Yield a fact for each cell of a row that is a number; a cell that is neither a number nor empty is a finding."""
    for column in columns:
        printed = row.cells.get(column.header, "").strip()
        if is_missing(printed):
            continue
        value = number(printed)
        place = f"{row.place}, column {column.header}"
        if value is None:
            report_no_number(reading, place, printed)
            continue
        yield Fact(
            subject=subject,
            quantity=column.quantity,
            printed=printed,
            locator=place,
            value=value * column.factor,
            printed_unit=column.printed_unit,
            form=column.form,
        )


def report_missing_columns(grid: Grid, names: Sequence[str], reading: Reading) -> None:
    """Add a finding for each column that a reader knows and the table does not have."""
    for name in names:
        if name not in grid.header:
            reading.report(
                "column.missing",
                f"The table has no column {name}.",
                severity="error",
                expected=name,
                found=", ".join(grid.header),
            )


def report_unread_columns(grid: Grid, names: Sequence[str], reading: Reading) -> None:
    """Add one finding that names the columns which hold no figure that is carried."""
    unread = [name for name in grid.header if name not in names]
    if unread:
        reading.report(
            "column.not_carried",
            f"{len(unread)} columns hold nothing that the registry has a metric for; they stay in the raw sheet.",
            severity="info",
            found=", ".join(unread),
        )


def _decoded(content: bytes, reading: Reading) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reading.report(
            "text.not_utf8",
            f"Byte {error.start} is not UTF-8; the file is read as Latin-1.",
            place=f"byte {error.start}",
            expected="UTF-8",
        )
        return content.decode("latin-1")


def _csv_lines(text: str, reading: Reading) -> Iterator[tuple[int, list[str]]]:
    """Yield each record with the line that it starts on; a record the reader gives up on ends the table."""
    reader = csv.reader(io.StringIO(text, newline=""))
    start = 1
    while True:
        try:
            cells = next(reader)
            # The csv module's own limit is one for the whole process, which any import may have changed.
            if any(len(cell) > LONGEST_CELL for cell in cells):
                raise csv.Error(f"a cell is longer than {LONGEST_CELL:,} characters")
        except StopIteration:
            return
        except csv.Error as error:
            reading.report(
                "csv.unreadable",
                f"The table breaks off at line {start}: {error}.",
                place=f"line {start}",
                severity="error",
            )
            return
        yield start, cells
        start = reader.line_num + 1


def _header(cells: list[str], reading: Reading) -> tuple[str, ...]:
    """Return the column names without stray spaces; a name that occurs twice is told and numbered."""
    for cell in cells:
        if cell != cell.strip():
            reading.report(
                "header.stray_space",
                f"The column heading {cell.strip()} has a space before or after it.",
                place="header",
                severity="info",
                expected=cell.strip(),
                found=repr(cell),
            )
    seen: Counter[str] = Counter()
    names = []
    for name in (cell.strip() for cell in cells):
        seen[name] += 1
        if seen[name] == 1:
            names.append(name)
            continue
        names.append(f"{name} [{seen[name]}]")
        reading.report(
            "header.repeated",
            f"The column heading {name} occurs more than once; the later one is read as {names[-1]}.",
            place="header",
            found=name,
        )
    return tuple(names)
