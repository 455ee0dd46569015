"""One cell of a published table, or one field of a published document, as a number or nothing.

What the number means belongs to the reader that knows the column.
"""

from __future__ import annotations

import math
import re

from pipelines.parsing.quantities import is_absent, plain
from pipelines.parsing.spec_sheets.sheet import Reading

_NOTHING = frozenset({"nan", "unk", "?", "tba"})
_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d{1,30})(\.\d{1,30})?([eE][+-]?\d{1,3})?|[+-]?\.\d{1,30}")


def is_missing(cell: object) -> bool:
    """Say whether a cell states nothing: blank, `unk`, `NaN`, `N/A`, `?` and their like."""
    return is_absent(cell) or plain(cell).lower() in _NOTHING


def number(cell: object) -> float | None:
    """Return the finite number that a cell is, and nothing else; None for anything else, `~157` and `1-2` included."""
    if isinstance(cell, bool):
        return None
    text = plain(cell)
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text.replace(",", ""))
    return value if math.isfinite(value) else None


def as_printed(value: float) -> str:
    """Return a number without a needless fraction: 80 for 80.0."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:g}"


def report_no_number(reading: Reading, place: str, printed: str) -> None:
    """Add the finding about a cell or field that should hold a number and does not."""
    reading.report(
        "cell.not_a_number",
        f"{place} holds words where a number belongs.",
        place=place,
        expected="a number",
        found=printed,
    )
