"""What judging a claim deals in: the claim in canonical units, what is known, a check, a judgement.

Types and their small questions only; where known values come from is in `_claim_references`, the rules in
`_claim_rules`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from pipelines.parsing.claims import CANONICAL


@dataclass(frozen=True, slots=True)
class Claim:
    """A figure told of something, in the canonical unit of its dimension."""

    metric: str
    low: float
    high: float
    subject: str | None = None
    kind: str | None = None
    unit: str = ""
    factor: float = 1.0
    dimension: str = "count"
    half_unit: float = 0.0
    comparator: str = "equal"
    is_approximate: bool = False
    is_vague: bool = False
    scope: str | None = None
    direction: str | None = None
    density: str | None = None
    precision: str | None = None
    baseline: str | None = None
    is_hypothetical: bool = False
    is_typical: bool = False
    is_universal: bool = False
    source: str = "sentence"
    """Where the subject stands: sentence, heading, context, document, contrast, none."""
    is_contrast: bool = False
    """The figure is of something else that is not named: `72 instead of 8`."""
    is_explicit: bool = True
    """Subject and metric stand in the sentence itself, so that a mismatch is not ours."""
    beside: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    workload: str | None = None
    parts: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    sentence: str = ""
    quote: str = ""

    @property
    def value(self) -> float:
        """Return the claimed value, the middle of a range."""
        return (self.low + self.high) / 2

    @property
    def tolerance(self) -> float:
        """Return the relative error that the words allow: rounding, `about`, and what sources differ by anyway.

        A count of things is exact: only what `about` rounds away may differ, so 8,960 is about 9,000, not ~9,216.
        """
        rounding = self.half_unit / self.value if self.value else 0.0
        if self.dimension in ("generation", "version", "date"):
            return 0.0
        if self.is_vague:
            return 0.15
        if self.dimension == "count":
            if self.is_approximate:
                return min(max(self._rounded_away, 0.005), 0.05)
            return min(rounding, 0.035) if self.half_unit > 0.5 else 0.0
        if self.is_approximate:
            return min(max(self._rounded_away, 0.05), 0.15) if self.dimension == "time" else 0.15
        if self.dimension == "quotient":
            return 0.0
        if self.dimension == "time":
            return min(max(0.002, rounding), 0.06)
        if self.comparator in ("more", "less"):
            return 0.03
        return min(max(0.02, rounding), 0.05)

    @property
    def _rounded_away(self) -> float:
        """Return half of the last place that is not a zero, over the value: 0.056 for 9,000, almost none for 9,216."""
        told = abs(self.high / self.factor) if self.factor else 0.0
        if not told:
            return 0.0
        digits = f"{told:.10g}"
        zeros = len(digits) - len(digits.rstrip("0")) if digits.isdigit() else 0
        return max(self.half_unit, 0.5 * 10.0**zeros * self.factor * (zeros > 0)) / abs(self.high)

    def beside_value(self, metric: str) -> float | None:
        """Return another figure of the sentence, the middle of a range; None where there is none."""
        other = self.beside.get(metric)
        return (float(other["low"]) + float(other["high"])) / 2 if other else None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A value that the claim can be held against."""

    label: str
    """Of what it is the value."""
    low: float
    high: float
    expression: str
    """How it was computed, with its figures."""
    evidence: str
    """Row that it rests on: table, key, source."""
    note: str = ""
    """What a reader must know: which direction, dense or sparse, per what."""
    is_firm: bool = True
    """Whether the source is one to contradict a claim with."""
    noun: str = ""
    """What it counts, where that is called otherwise than in the claim: `chips`."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A value that the claim would be right about, were it told of something else."""

    candidate: Candidate
    reading: str
    """What it would be: `DGX SuperPOD GB200`, `one accelerator`, `both directions`, `bits told as bytes`."""


@dataclass(frozen=True, slots=True)
class Check:
    """What a check found out."""

    expression: str = ""
    candidates: tuple[Candidate, ...] = ()
    """One per member of what the claim is told of."""
    alternatives: tuple[Alternative, ...] = ()
    is_any: bool = False
    """Whether one candidate that fits is enough; else the claim is of them all."""
    verdict: str | None = None
    """A verdict that the check itself decides, with its `reason`."""
    reason: str = ""
    doubtful: tuple[Candidate, ...] = ()
    """Values of low confidence that are what the claim says."""
    is_final: bool = False
    """Whether no other check can say more: the round that the claim names is not here."""
    floor: Candidate | None = None
    """The lowest value that any known part or system has; far below it a claim is implausible."""
    ceiling: Candidate | None = None
    lookalikes: tuple[Candidate, ...] = ()
    """Others of the same family whose value is what the claim says, though nothing there speaks of them."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and what it rests on."""

    verdict: str
    explanation: str
    check: str = ""
    expression: str = ""
    computed_low: float | None = None
    computed_high: float | None = None
    relative_error: float | None = None
    tolerance: float | None = None
    evidence: str = ""
    strongest_reading: str = ""
    best: Candidate | None = None


def claim_from_row(row: Mapping[str, Any]) -> Claim:
    """Return the claim of a row of `parsing.claims.CLAIM_COLUMNS`, in canonical units."""
    factor = row["unit_factor"] or 1.0
    return Claim(
        metric=row["metric"],
        low=row["low"] * factor,
        high=row["high"] * factor,
        subject=row["subject"],
        kind=row["subject_kind"],
        unit=row["unit"],
        factor=factor,
        dimension=row["dimension"],
        half_unit=row["half_unit"] * factor,
        comparator=row["comparator"],
        is_approximate=row["is_approximate"],
        is_vague=row["is_vague"],
        scope=row["scope"],
        direction=row["direction"],
        density=row["density"],
        precision=row["precision"],
        baseline=row["baseline"],
        is_hypothetical=bool(row["is_hypothetical"]),
        is_typical=bool(row["is_typical"]),
        is_universal=bool(row["is_universal"]),
        source=row["subject_from"],
        is_contrast=row["subject_from"] == "contrast",
        is_explicit=row["subject_from"] in ("sentence", "heading") and bool(row["is_metric_explicit"]),
        workload=row["workload"],
        parts=tuple(row["parts"] or ()),
        beside=json.loads(row["beside"]),
        mentions=tuple(row["mentions"] or ()),
        context=tuple(row["context"] or ()),
        sentence=row["sentence"],
        quote=row["quote"],
    )


def shown(value: float, dimension: str, symbol: str = "", factor: float = 1.0) -> str:
    """Return a canonical value in the unit that a claim is told in, four digits."""
    if dimension == "date":
        return date.fromordinal(int(value)).isoformat()
    if symbol == "FLOP/s":
        symbol, factor = "TFLOPS", 1.0
    unit = symbol or CANONICAL.get(dimension, "")
    number = value / (factor or 1.0)
    if dimension == "count" and number == 1:
        unit = _singular(unit)
    text = f"{number:,.0f}" if dimension == "count" and float(number).is_integer() else f"{number:,.4g}"
    if abs(number) >= 10_000 and dimension != "count":
        text = f"{number:,.0f}"
    spaced = unit if unit in ("%", "") else f" {unit}"
    return f"{text}{'x' if unit == 'x' else spaced}"


def _singular(noun: str) -> str:
    return {"dies": "die", "switches": "switch"}.get(noun.rpartition(" ")[2], noun.removesuffix("s"))


def shown_range(low: float, high: float, dimension: str, symbol: str = "", factor: float = 1.0) -> str:
    """Return a range as `shown` tells its ends, or one value where they are the same."""
    if low == high or abs(high - low) <= 1e-9 * abs(high):
        return shown(low, dimension, symbol, factor)
    first = shown(low, dimension, symbol, factor).removesuffix(f" {symbol}").removesuffix("x")
    return f"{first} to {shown(high, dimension, symbol, factor)}"
