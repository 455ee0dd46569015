"""Numerals in a sentence: digits, words and vague amounts, alone or as a range.

What stands after a numeral, its unit, is read in `_claims_quantities`; names and dates are masked before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number or an amount, at its place in the text."""

    start: int
    end: int
    low: float
    high: float
    kind: Literal["digits", "words", "vague"]
    half_unit: float = 0.0
    """Half of the last place that is shown: 27.3 stands for 27.25 to 27.35."""
    suffix: str = ""
    """k, M, B or T where the digits carry one."""

    @property
    def is_whole(self) -> bool:
        """Say whether it is one whole number."""
        return self.low == self.high and float(self.low).is_integer()


_DIGITS = re.compile(
    r"(?<![\w.,^])(?P<number>\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,6})?|\d{1,15}(?:\.\d{1,9})?)"
    r"(?P<exponent>[eE][+-]?\d{1,3}(?!\w))?(?:\s?[×x*]\s?10\^?(?P<power>-?\d{1,3})(?!\w))?"
    r"(?:(?P<suffix>[kKMBT](?![\w/])|bn\b)|[\s-](?P<word>thousand|million|billion|trillion)\b)?"
)
_SUFFIX = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "bn": 1e9, "T": 1e12}
_SCALE = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "dozen": 12.0}
_ONES = {
    name: float(value)
    for value, name in enumerate(
        [
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ],
        start=1,
    )
}
_TENS = {
    name: float(value)
    for value, name in zip(
        range(20, 100, 10), ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], strict=True
    )
}
_ONE = "|".join(_ONES)
_TEN = "|".join(_TENS)
_SCALES = "hundred|thousand|million|billion|trillion|dozen"
_WORDS = re.compile(
    rf"\b(?:(?P<ten>{_TEN})(?:[-\s](?P<digit>one|two|three|four|five|six|seven|eight|nine))?|(?P<one>{_ONE})|(?P<article>an?))"
    rf"(?:[-\s](?P<scale>{_SCALES}))?\b",
    re.IGNORECASE,
)
_VAGUE: tuple[tuple[str, float, float], ...] = (
    (r"(?:a\s)?few\sdozens?", 36, 60),
    (r"(?:several|a\sfew)\shundred", 300, 900),
    (r"(?:several|a\sfew)\sthousand", 3e3, 9e3),
    (r"(?:several|many)\sdozens?|dozens", 24, 99),
    (r"hundreds\sof\sthousands", 1e5, 999_999),
    (r"tens\sof\sthousands", 1e4, 99_999),
    (r"hundreds\sof\smillions", 1e8, 999e6),
    (r"hundreds", 100, 999),
    (r"thousands", 1000, 9999),
    (r"millions", 1e6, 9_999_999),
    (r"several", 2, 9),
    (r"a\sfew", 3, 9),
)
_VAGUE_PATTERNS = tuple((re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), low, high) for pattern, low, high in _VAGUE)
_MULTIPLES = {
    "twice": 2.0,
    "double": 2.0,
    "doubles": 2.0,
    "doubled": 2.0,
    "triple": 3.0,
    "triples": 3.0,
    "tripled": 3.0,
    "quadruple": 4.0,
    "quadruples": 4.0,
}
_MULTIPLE = re.compile(rf"\b(?:{'|'.join(_MULTIPLES)})\b(?!\s(?:digit|check|precision))", re.IGNORECASE)
_FRACTIONS = {
    "tenth": 0.1,
    "half": 0.5,
    "third": 1 / 3,
    "quarter": 0.25,
    "fifth": 0.2,
    "eighth": 0.125,
    "twentieth": 0.05,
}
_FRACTION = re.compile(
    r"\b(?:(?:an?|one)[-\s](?P<part>tenth|third|quarter|fifth|eighth|twentieth)|(?P<half>half))\s(?:of\s)?(?:the|that|its|as)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Multiple:
    """A ratio that is one word or two: `twice`, `a tenth of the`."""

    start: int
    end: int
    value: float


def find_multiples(text: str) -> list[Multiple]:
    """Find ratios told by one word."""
    words = [Multiple(m.start(), m.end(), _MULTIPLES[m[0].lower()]) for m in _MULTIPLE.finditer(text)]
    parts = [
        Multiple(m.start(), m.end(), _FRACTIONS[(m["part"] or m["half"]).lower()]) for m in _FRACTION.finditer(text)
    ]
    return sorted(words + parts, key=lambda multiple: multiple.start)


def find_numerals(text: str) -> list[Numeral]:
    """Find numerals in a text whose names and dates are masked.

    Returns:
        Numerals in order, none overlapping another; `one` and `a` alone are none.
    """
    found = [
        Numeral(match.start(), match.end(), low, high, "vague")
        for pattern, low, high in _VAGUE_PATTERNS
        for match in pattern.finditer(text)
    ]
    found += [numeral for match in _DIGITS.finditer(text) if (numeral := _digits(text, match)) is not None]
    found += [numeral for match in _WORDS.finditer(text) if (numeral := _words(match)) is not None]
    kept: list[Numeral] = []
    for numeral in sorted(found, key=lambda numeral: (numeral.start, -numeral.end)):
        if not kept or numeral.start >= kept[-1].end:
            kept.append(numeral)
    return kept


def _digits(text: str, match: re.Match[str]) -> Numeral | None:
    start = match.start()
    if start >= 2 and text[start - 1] in "-/" and (text[start - 2].isalpha() or text[start - 2] == "#"):
        before = re.search(r"[A-Za-z]+[-/]$", text[:start])
        if before is not None and before[0][:-1].lower() not in ("sub", "non", "to", "or"):
            return None
    if start and text[start - 1] in "#§":
        return None
    number = match["number"]
    scale = float(f"1{match['exponent']}") if match["exponent"] else 1.0
    scale *= 10.0 ** float(match["power"]) if match["power"] else 1.0
    scale *= _SUFFIX[match["suffix"]] if match["suffix"] else _SCALE.get((match["word"] or "").lower(), 1.0)
    value = float(number.replace(",", "")) * scale
    return Numeral(start, match.end(), value, value, "digits", _half_unit(number) * scale, match["suffix"] or "")


def _half_unit(number: str) -> float:
    """Return half of the last place shown; a whole number with trailing zeros is taken at its word."""
    decimals = len(number.partition(".")[2])
    return 0.5 * 10.0**-decimals


def _words(match: re.Match[str]) -> Numeral | None:
    scale = _SCALE.get((match["scale"] or "").lower(), 1.0)
    if match["article"]:
        base = 1.0 if match["scale"] else None
    elif match["ten"]:
        base = _TENS[match["ten"].lower()] + _ONES.get((match["digit"] or "").lower(), 0.0)
    else:
        base = _ONES[match["one"].lower()]
    if base is None or (base == 1.0 and scale == 1.0 and match["article"]):
        return None
    return Numeral(match.start(), match.end(), base * scale, base * scale, "words", 0.5 if base > 1 else 0.0)
