"""How exactly a figure is meant: about, at least, at most, the most; read from the words on both sides of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from pipelines.parsing._claims_units import Unit

Comparator = Literal["equal", "more", "less", "maximum", "reaches"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure in a sentence."""

    start: int
    end: int
    low: float
    high: float
    unit: Unit
    comparator: Comparator = "equal"
    is_approximate: bool = False
    half_unit: float = 0.0
    form: Literal["single", "range", "vague", "change"] = "single"
    noun: str = ""
    """The words between the numeral and the end of its unit, as they stand."""
    is_inherited: bool = False
    """The unit is that of an earlier figure, since this one has none."""
    metric: str = ""
    """What the figure measures, where the form of words alone tells it."""
    scope: str = ""
    """What it is of, where the form of words alone tells it."""
    role: Literal["", "compared", "baseline"] = ""
    """Whether it is one of two figures that are held against each other."""


_LEFT = (
    (
        "more",
        re.compile(
            r"(?:more\sthan|over|above|exceed(?:s|ing)?|greater\sthan|north\sof|upwards\sof|in\sexcess\sof|>|beyond|"
            r"surpass(?:es|ing)?)\s?$",
            re.I,
        ),
    ),
    ("more", re.compile(r"(?:at\sleast|no\s(?:less|fewer)\sthan|a\sminimum\sof|≥|>=)\s?$", re.I)),
    (
        "maximum",
        re.compile(
            r"(?:up\sto|as\s(?:many|much)\sas|at\smost|a?\s?max(?:imum)?(?:\sof)?|no\smore\sthan|≤|<=|capped\sat)\s?$",
            re.I,
        ),
    ),
    (
        "reaches",
        re.compile(
            r"(?:scal(?:es|ed?|ing)\s(?:up\s|out\s)?to|extends?\sto|extending\sto|grows?\sto|expands?\sto)\s?$", re.I
        ),
    ),
    ("less", re.compile(r"(?:less\sthan|under|below|fewer\sthan|<|within|sub-)\s?$", re.I)),
)


_ABOUT = re.compile(
    r"(?:about|around|roughly|approximately|approx\.?|~|nearly|almost|close\sto|some|circa|c\.|on\sthe\sorder\sof|an?\sestimated|"
    r"typically|(?:an?\s)?average\sof)\s?~?\s?$",
    re.I,
)


_RIGHT = (
    ("more", re.compile(r"\+|\s(?:or\s(?:more|greater|higher|above)|and\s(?:above|up|more|beyond))\b", re.I)),
    (
        "less",
        re.compile(
            r"\s(?:or\s(?:less|fewer|lower|below)|and\s(?:below|under))\b|[^.;,]{0,24}\sor\s(?:less|fewer)\b", re.I
        ),
    ),
)


def qualified(text: str, quantity: Quantity) -> Quantity:
    """Add how exactly a figure is meant, from the words on both sides."""
    before, after = text[max(0, quantity.start - 32) : quantity.start], text[quantity.end : quantity.end + 40]
    about = _ABOUT.search(before)
    is_about = about is not None
    before = before[: about.start()] if about is not None else before
    comparator: Comparator = quantity.comparator
    for name, pattern in _LEFT:
        found = pattern.search(before)
        if found is not None and not text[: quantity.start].rstrip().endswith("in over"):
            comparator = name  # type: ignore[assignment]
            is_about = is_about or _ABOUT.search(before[: found.start()]) is not None
            break
    if comparator == "equal":
        numeral_text = quantity.noun
        for name, pattern in _RIGHT:
            if pattern.match(after) or (name == "more" and re.search(r"\d\s?\+", numeral_text)):
                comparator = name  # type: ignore[assignment]
                break
    is_of_order = quantity.noun.lower().endswith("-level")
    return replace(
        quantity,
        comparator=comparator,
        is_approximate=quantity.is_approximate or is_about or is_of_order,
        form="vague" if is_of_order else quantity.form,
    )
