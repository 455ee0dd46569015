"""A table as it is printed: cells in rows, spans filled in, which rows head it, the notes that its marks refer to.

What a form of document looks like belongs in its reader; what a label or a cell means in `labels` and `figures`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

MARKS = "*†‡§¹²³⁴⁵⁶⁷⁸⁹"
"""Characters that refer to a note, in a cell or before the note."""

MOST_CELLS = 200_000
"""Cells of one table that are read; the longest published one has some hundreds."""

_MARK_AT_END = re.compile(rf"\s*(?:[{re.escape(MARKS)}]+|\[\^?\d{{1,2}}\])\s*$")
_NOTE = re.compile(
    rf"\s*(?P<mark>[{re.escape(MARKS)}]|\[\^?\d{{1,2}}\]:?|\(?\d{{1,2}}[.)])\s*(?P<words>\S.*)", re.DOTALL
)
_SUPERSCRIPTS = str.maketrans("¹²³⁴⁵⁶⁷⁸⁹", "123456789")


@dataclass(frozen=True, slots=True)
class PrintedTable:
    """One table; every row has as many cells as the first."""

    place: str
    """Which table of the document, such as `table 2`."""
    rows: tuple[tuple[str, ...], ...]
    header_count: int
    """Rows at the top that head the columns."""
    caption: str = ""

    def headings(self) -> tuple[str, ...]:
        """Return the heading of each column: the header rows from top to bottom, each text once, ` / ` between."""
        columns = zip(*self.rows[: self.header_count], strict=True) if self.header_count else []
        return tuple(" / ".join(dict.fromkeys(text for text in column if text)) for column in columns)

    def body(self) -> tuple[tuple[str, ...], ...]:
        """Return the rows below the header."""
        return self.rows[self.header_count :]


@dataclass(frozen=True, slots=True)
class Document:
    """The tables of one document, and its notes by their mark."""

    tables: tuple[PrintedTable, ...]
    notes: dict[str, str] = field(default_factory=dict)

    def notes_of(self, *texts: str) -> str:
        """Return the notes that the marks at the end of any of the texts refer to."""
        parts = [part for text in texts for part in re.split(r" / |\n", text)]
        marks = [mark for part in parts for mark in marks_of(part)]
        return " ".join(dict.fromkeys(self.notes[mark] for mark in marks if mark in self.notes))


def squared(place: str, rows: Sequence[Sequence[str]], header_count: int, caption: str = "") -> PrintedTable | None:
    """Return rows of unequal length as a table, blank cells at their ends; None where there is nothing in it."""
    width = max((len(row) for row in rows), default=0)
    if width == 0 or width * len(rows) > MOST_CELLS:
        return None
    square = tuple((*row, *([""] * (width - len(row)))) for row in rows)
    return PrintedTable(place, square, min(header_count, len(square)), caption)


def marks_of(text: str) -> list[str]:
    """Return the marks at the end of a text, superscript digits as digits."""
    found: list[str] = []
    while match := _MARK_AT_END.search(text):
        marks = match.group().strip()
        text = text[: match.start()]
        bracketed = re.fullmatch(r"\[\^?(\d{1,2})\]", marks)
        found += [bracketed[1]] if bracketed else list(marks.translate(_SUPERSCRIPTS))
    return found


def without_marks(text: str) -> str:
    """Return a text without the marks at its end, and at the ends of its parts where ` / ` joins several."""
    if " / " in text:
        return " / ".join(without_marks(part) for part in text.split(" / "))
    while match := _MARK_AT_END.search(text):
        text = text[: match.start()]
    return text.strip()


def notes_in(lines: Iterable[str]) -> dict[str, str]:
    """Return the notes among the lines of a document, by their mark; the first of a mark stands."""
    notes: dict[str, str] = {}
    for line in lines:
        match = _NOTE.fullmatch(line)
        if match:
            mark = match["mark"].translate(_SUPERSCRIPTS).strip("[]():.^ ")
            notes.setdefault(mark, " ".join(match["words"].split()))
    return notes
