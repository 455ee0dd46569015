"""What a person should look at, as rows of `mart.findings`; every station that finds something builds them here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

import polars as pl

from pipelines.schemas.mart import Findings

LONGEST_QUOTE = 200
"""Characters of published text that a finding may quote."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One row of `mart.findings`, without its name."""

    kind: str
    severity: Literal["error", "warning", "info"]
    subject: str
    explanation: str
    round: str | None = None
    expected: str | None = None
    found: str | None = None
    evidence: str | None = None


def findings_frame(rows: Iterable[Finding] | pl.DataFrame) -> pl.DataFrame:
    """Return rows as `mart.findings`, each named by its kind and subject, sorted by that name.

    Args:
        rows: findings, or a frame with any of the table's columns, among them `kind`, `severity`, `subject` and
            `explanation`; a column that is missing is null, one that is not the table's is left out.
    """
    names = [name for name in Findings.column_names() if name != "finding_id"]
    given = rows if isinstance(rows, pl.DataFrame) else pl.DataFrame([asdict(row) for row in rows])
    missing = [pl.lit(None, dtype=pl.String).alias(name) for name in names if name not in given.columns]
    return (
        given.with_columns(*missing)
        .select(
            pl.concat_str("kind", pl.lit(":"), pl.col("subject").cast(pl.String)).alias("finding_id"),
            *(pl.col(name).cast(pl.String) for name in names),
        )
        .with_columns(pl.col("expected", "found").str.slice(0, LONGEST_QUOTE))
        .sort("finding_id")
    )
