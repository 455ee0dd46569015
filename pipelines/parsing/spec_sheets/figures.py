"""What a cell of a specification prints: figures with their units, in the unit of their quantity.

Which quantity a cell is of belongs in `labels`; whether the figure can be true in `suspicions`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.parsing.quantities import plain
from pipelines.schemas.spec_metrics import QUANTITIES

_NUMBER = r"(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d{1,6})?|\d{1,15}(?:\.\d{1,6})?|\.\d{1,6})"
_UNIT = (
    r"(?P<unit>(?:[KMGTPE]i?(?:B|b)(?:it|yte)?s?(?:/s(?:ec(?:ond)?)?|ps)|[KMGTPE]i?B(?:ytes?)?|"
    r"(?:[GTPE]|giga|tera|peta|exa)[ -]?(?:FLOP|flop|OP|op|Flop|Op)[Ss]?(?:/s(?:ec)?)?|kilowatts?|[Ww]atts?|kW|W)"
    r"(?![A-Za-z]))?"
)
_FIGURE = re.compile(rf"(?<![\w.,-]){_NUMBER}\s?{_UNIT}(?![\d,.]*\d)", re.IGNORECASE)

_PREFIXES = {"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15, "e": 1e18}
_BINARY = {"k": 2.0**10, "m": 2.0**20, "g": 2.0**30, "t": 2.0**40, "p": 2.0**50, "e": 2.0**60}
_SCALE = {
    "TFLOP/s": 1e12,
    "TOP/s": 1e12,
    "PFLOP/s": 1e15,
    "bytes": 1.0,
    "GB/s": 1e9,
    "TB/s": 1e12,
    "Gb/s": 1e9,
    "W": 1.0,
    "kW": 1e3,
}
_DIMENSIONS = {
    "TFLOP/s": "rate of operations",
    "TOP/s": "rate of operations",
    "PFLOP/s": "rate of operations",
    "bytes": "bytes",
    "GB/s": "bytes a second",
    "TB/s": "bytes a second",
    "Gb/s": "bytes a second",
    "W": "power",
    "kW": "power",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a cell."""

    printed: str
    number: float
    unit: str | None
    """As printed, else as the label or the corner of the table names it."""
    before: str
    """Text of the cell between the figure before it and this one."""
    after: str
    """Text up to the next figure."""

    @property
    def dimension(self) -> str | None:
        """Return what kind of unit it has, None for none."""
        return _measure(self.unit)[0] if self.unit else None

    @property
    def is_binary(self) -> bool:
        """Say whether the unit counts in powers of two."""
        return bool(self.unit and re.match(r"[KMGTPE]i", self.unit))

    def value_in(self, quantity: str) -> float | None:
        """Return the figure in the unit of a quantity, None where its own unit is of another kind."""
        wanted = QUANTITIES[quantity].unit
        if QUANTITIES[quantity].family == "count":
            return self.number if self.unit is None else None
        if self.unit is None or wanted is None:
            return None
        dimension, factor = _measure(self.unit)
        if dimension != _DIMENSIONS.get(wanted):
            return None
        in_bytes_or_base = self.number * factor
        if wanted == "Gb/s":
            in_bytes_or_base *= 8
        return round(in_bytes_or_base / _SCALE[wanted], 9)


def figures_in(cell: str, unit: str | None = None) -> list[Figure]:
    """Return the figures of a cell in order; one that prints no unit takes the one given.

    A digit that is part of a name (`HBM3e`, `Gen5`, `NVLink-v3`, `FP8`) is no figure.
    """
    text = plain(cell)
    matches = [match for match in _FIGURE.finditer(text) if not _is_of_a_name(text, match)]
    ends = [0, *(match.end() for match in matches)]
    starts = [*(match.start() for match in matches), len(text)]
    return [
        Figure(
            printed=match.group().strip(),
            number=float(match["number"].replace(",", "")),
            unit=match["unit"] or unit,
            before=text[ends[place] : match.start()],
            after=text[match.end() : starts[place + 1]],
        )
        for place, match in enumerate(matches)
    ]


def memory_type_in(cell: str) -> str | None:
    """Return the kind of memory that a cell names, such as HBM3e."""
    found = re.search(r"\b(HBM\d?[eE]?|(?:LP|G)?DDR\d\w?)(?![A-Za-z0-9])", cell)
    return found[1] if found else None


def fits(figure: Figure, quantities: Sequence[str]) -> str | None:
    """Return the first of the quantities whose unit is of the figure's kind."""
    return next((quantity for quantity in quantities if figure.value_in(quantity) is not None), None)


def _is_of_a_name(text: str, match: re.Match[str]) -> bool:
    before = text[: match.start()]
    return re.search(
        r"\b(?:gen|generation|version|ver|rev|cuda|pcie|nvlink|table|note|x)\.? $", before, re.IGNORECASE
    ) is not None or (
        match["unit"] is None and re.match(r"(?:st|nd|rd|th|x|D|U|-|nm)\b|x\d", text[match.end("number") :]) is not None
    )


def _measure(unit: str) -> tuple[str | None, float]:
    """Return what kind of unit a text is, and what one of it is in bytes, bytes a second, operations a second or W."""
    text = re.sub(r"[\s-]", "", unit)
    if re.fullmatch(r"W|[Ww]atts?", text):
        return "power", 1.0
    if re.fullmatch(r"kW|[Kk]ilowatts?|KW", text):
        return "power", 1e3
    operations = re.fullmatch(r"(giga|tera|peta|exa|[GTPE])(?:fl)?ops?(?:/s(?:ec)?)?", text, re.IGNORECASE)
    if operations:
        return "rate of operations", _PREFIXES[operations[1][0].lower()]
    amount = re.fullmatch(r"([KMGTPE])(i?)([Bb])(?:it|yte)?((?:/s(?:ec(?:ond)?)?|ps)?)s?", text, re.IGNORECASE)
    if amount is None:
        return None, 1.0
    factor = (_BINARY if amount[2] else _PREFIXES)[amount[1].lower()]
    is_bits = amount[3] == "b" or re.search(r"bits?", text, re.IGNORECASE) is not None
    if amount[4]:
        return "bytes a second", factor / 8 if is_bits else factor
    return (None, 1.0) if is_bits else ("bytes", factor)
