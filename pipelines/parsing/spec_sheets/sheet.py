"""What every reader of a specification takes and gives: a sheet in memory, the facts in it, the findings about it.

How one form is laid out belongs in its reader; how a fact becomes a row of `core.spec_facts` belongs in `frames`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Density = Literal["dense", "sparse"]
Engine = Literal["tensor", "vector"]
Direction = Literal["per_direction", "both_directions"]
Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Sheet:
    """One published file, byte for byte, and who publishes it."""

    source: str
    """Short name of the source, such as `epoch-ml-hardware`."""
    address: str
    content: bytes
    publisher: str
    publisher_kind: Literal["vendor", "third_party"] = "third_party"
    path: str = ""
    """File inside the source; some forms name their subject only there."""
    confidence: Literal["high", "medium", "low"] = "low"
    """Trust in what the sheet says before a person has looked at it."""
    licence: str | None = None
    retrieved_at: str | None = None
    subject: str | None = None
    """The one part or platform that the sheet is of, where its tables do not name it."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What labels of this sheet stand for; blank for one that names no subject."""


@dataclass(frozen=True, slots=True)
class Form:
    """What a source says about the form of a figure; None where it does not say."""

    density: Density | None = None
    engine: Engine | None = None
    direction: Direction | None = None
    scope: str | None = None
    capacity_basis: Literal["usable", "raw"] | None = None
    prefix: Literal["decimal", "binary"] | None = None
    variant: str | None = None
    basis: Literal["published", "measured", "derived", "announced", "estimate"] = "published"


UNSTATED = Form()
"""A figure whose source says nothing about its form."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One figure as one source prints it; `value` is in the unit of the quantity, in the form stated."""

    subject: str
    quantity: str
    printed: str
    locator: str
    value: float | None = None
    words: str | None = None
    printed_unit: str | None = None
    form: Form = UNSTATED
    confidence: Literal["high", "medium", "low"] | None = None
    """Trust in this figure, where it differs from trust in the sheet."""
    cited_address: str | None = None
    defect: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class SheetFinding:
    """Something that a reader could not read or objects to."""

    kind: str
    explanation: str
    place: str = ""
    severity: Severity = "warning"
    expected: str | None = None
    found: str | None = None


@dataclass(slots=True)
class Reading:
    """What one sheet says: its facts, and what is wrong with it."""

    facts: list[Fact] = field(default_factory=list)
    findings: list[SheetFinding] = field(default_factory=list)

    def report(
        self,
        kind: str,
        explanation: str,
        *,
        place: str = "",
        severity: Severity = "warning",
        expected: str | None = None,
        found: str | None = None,
    ) -> str:
        """Add a finding and return its kind, so that the figure concerned can carry it as its defect."""
        self.findings.append(SheetFinding(kind, explanation, place, severity, expected, found))
        return kind
