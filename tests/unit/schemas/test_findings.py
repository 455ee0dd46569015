from __future__ import annotations

import polars as pl

from pipelines.schemas import mart
from pipelines.schemas.findings import LONGEST_QUOTE, Finding, findings_frame


def test_findings_are_named_by_kind_and_subject_and_sorted() -> None:
    frame = findings_frame(
        [
            Finding("b.kind", "warning", "subject", "Words.", round="training-v5.0", evidence="a.txt:3"),
            Finding("a.kind", "info", "other", "Words.", expected="x" * 300),
        ]
    )
    assert frame["finding_id"].to_list() == ["a.kind:other", "b.kind:subject"]
    assert len(frame["expected"][0]) == LONGEST_QUOTE
    assert frame["evidence"].to_list() == [None, "a.txt:3"]
    assert mart.Findings.validate(frame).height == 2


def test_a_frame_may_lack_columns_and_have_others() -> None:
    given = pl.DataFrame(
        {"kind": ["k"], "severity": ["info"], "subject": ["s"], "explanation": ["e"], "found": [3], "x": [1]}
    )
    frame = findings_frame(given)
    assert frame.columns == list(mart.Findings.column_names())
    assert frame["found"].to_list() == ["3"]


def test_nothing_found_is_an_empty_table() -> None:
    assert mart.Findings.validate(findings_frame([])).height == 0
