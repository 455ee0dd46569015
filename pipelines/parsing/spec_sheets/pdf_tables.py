"""Tables of data sheets in PDF, found by the lines that bound their cells, else by the alignment of words."""

from __future__ import annotations

import importlib
import io
import re
from typing import Any

from pipelines.parsing.spec_sheets.printed_table import Document, PrintedTable, notes_in, squared
from pipelines.parsing.spec_sheets.sheet import Reading

MOST_PAGES = 60
"""Pages that are read; a data sheet has two, a reference architecture some forty."""

_ALIGNED = {"vertical_strategy": "text", "horizontal_strategy": "text", "min_words_vertical": 3}


def read_pdf(content: bytes, reading: Reading) -> Document:
    """Read the tables of a document page by page; one that is no PDF, or locked, gives a finding and no table."""
    # Imported here: it takes a second, and few runs read a data sheet.
    pdfplumber = importlib.import_module("pdfplumber")
    tables: list[PrintedTable] = []
    lines: list[str] = []
    try:
        with pdfplumber.open(io.BytesIO(content)) as document:
            if len(document.pages) > MOST_PAGES:
                told = f"{len(document.pages)} pages: those after page {MOST_PAGES} are not read."
                reading.report("pdf.too_long", told, place=f"page {MOST_PAGES + 1}")
            for number, page in enumerate(document.pages[:MOST_PAGES], 1):
                tables += _tables(page, number)
                lines += (page.extract_text() or "").splitlines()
                page.close()
    except Exception as error:  # the reader below raises whatever a broken file leads it to
        reading.report(
            "pdf.unreadable",
            "The file cannot be read as a PDF document.",
            severity="error",
            expected="a PDF document",
            found=f"{type(error).__name__}: {error}",
        )
        return Document((), {})
    return Document(tuple(tables), notes_in(lines))


def _tables(page: Any, number: int) -> list[PrintedTable]:
    found = page.extract_tables() or page.extract_tables(_ALIGNED)
    tables = []
    for order, rows in enumerate(found, 1):
        cells = [[_text(cell) for cell in row] for row in rows]
        cells = [row for row in cells if any(row)]
        table = squared(f"page {number}, table {order}", cells, _header_count(cells))
        if table is not None:
            tables.append(table)
    return tables


def _header_count(rows: list[list[str]]) -> int:
    """Return 1 where the first row heads columns: its first cell is blank or a word, and no cell is a figure."""
    return int(
        bool(rows)
        and len(rows[0]) > 1
        and not any(re.match(r"\W*\d+(?:[.,]\d+)?\s?\S", cell) for cell in rows[0][1:])
        and any(rows[0][1:])
    )


def _text(cell: str | None) -> str:
    return "\n".join(" ".join(line.split()) for line in (cell or "").splitlines() if line.strip())
