"""What a check is and what came of it, in terms that need no Great Expectations.

How a check is evaluated belongs in `gate` (plausibility) or `consistency` (our own arithmetic).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from pipelines.schemas.mart import Checks

Severity = Literal["error", "warning"]
Status = Literal["passed", "failed", "errored"]

MOST_ROWS_KEPT = 200
"""Offending rows that an outcome carries; the count beside them is always the full one."""


@dataclass(frozen=True)
class Check:
    """One plausible statement about the rows of one table."""

    name: str
    """Short slug, unique within its table."""
    table: str
    severity: Severity
    meaning: str
    """The statement, in a sentence that a person understands."""
    expectation: Callable[[], Any]
    """Makes the Great Expectations object; called only when the suite runs, since the import takes seconds."""
    shown: tuple[str, ...]
    """Columns that let a person recognise an offending row and see why it offends."""
    rows_are_findings: bool = False
    """Whether each offending row is a finding of its own, so that the check need not be told as one as well."""


@dataclass(frozen=True)
class Outcome:
    """What came of one check: passed, failed, or errored where the check itself broke."""

    table: str
    name: str
    severity: Severity
    status: Status
    meaning: str
    checked_count: int | None = None
    failed_count: int | None = None
    error: str | None = None
    rows: pl.DataFrame = field(default_factory=pl.DataFrame)

    @property
    def is_blocking(self) -> bool:
        """Whether nothing may be published on top of this: an ERROR check that failed, or any that broke."""
        return self.status == "errored" or (self.status == "failed" and self.severity == "error")

    @property
    def explanation(self) -> str:
        """Return one sentence on what came of the check."""
        if self.status == "errored":
            return f"The check itself broke, an error of this project: {self.error}"
        if self.status == "failed":
            return f"{self.failed_count} of {self.checked_count} rows do not satisfy: {self.meaning}"
        if not self.checked_count:
            return f"There was no row to check that {self.meaning}"
        return f"All {self.checked_count} rows satisfy: {self.meaning}"


def outcomes_frame(outcomes: Iterable[Outcome]) -> pl.DataFrame:
    """Return the outcomes as a frame of `mart.checks`, sorted by table and name."""
    rows = [
        {
            "table": outcome.table,
            "name": outcome.name,
            "severity": outcome.severity,
            "status": outcome.status,
            "checked_count": outcome.checked_count,
            "failed_count": outcome.failed_count,
            "is_blocking": outcome.is_blocking,
            "meaning": outcome.meaning,
            "explanation": outcome.explanation,
            "rows": rows_as_json(outcome.rows),
        }
        for outcome in outcomes
    ]
    return pl.DataFrame(rows, schema=Checks.create_empty().schema, orient="row").sort("table", "name")


def rows_as_json(rows: pl.DataFrame) -> str | None:
    """Return at most `MOST_ROWS_KEPT` rows as a JSON list of objects, None for no rows."""
    if rows.is_empty():
        return None
    return json.dumps(rows.head(MOST_ROWS_KEPT).to_dicts(), ensure_ascii=False, default=str)
