"""What every parser takes and gives: a published file in memory, and the finding about one.

How a kind of file is recognised belongs in `layout`, how it is read in the parser of that kind.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

import polars as pl

from pipelines.schemas.core import ParseFindings

LONGEST_QUOTE = 200
"""Characters of published text that a finding may quote."""


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """One file of a results repository, byte for byte."""

    round: str
    path: str
    sha256: str
    content: bytes


@dataclass(frozen=True, slots=True)
class ParseFinding:
    """One row of `core.parse_findings`."""

    round: str
    source_path: str
    kind: str
    explanation: str
    place: str = ""
    severity: Literal["error", "warning", "info"] = "warning"
    expected: str | None = None
    found: str | None = None
    source_sha256: str | None = None


def findings_frame(findings: Iterable[ParseFinding]) -> pl.DataFrame:
    """Return the findings as a frame of `core.parse_findings`, quotes cut to `LONGEST_QUOTE`."""
    rows = [asdict(finding) for finding in findings]
    names = ParseFindings.column_names()
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    return frame.with_columns(pl.col("expected", "found").str.slice(0, LONGEST_QUOTE)).select(names)
