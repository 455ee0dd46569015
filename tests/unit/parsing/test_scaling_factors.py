"""Convergence factors: what is read, and what becomes a finding."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.published import PublishedFile
from pipelines.parsing.scaling_factors import parse_scaling_factors
from pipelines.schemas.core import ParseFindings, ScalingFactors


def factor_file(content: bytes, path: str = "AMD/results/MI300X/bert/scaling.json") -> PublishedFile:
    return PublishedFile("training-v5.0", path, "ab" * 32, content)


def test_a_factor_is_kept_exactly() -> None:
    frame, findings = parse_scaling_factors([factor_file(b'{"scaling_factor": 1.0127710127710128}')])
    assert ScalingFactors.validate(frame).rows() == [
        (
            "training-v5.0",
            "training-v5.0/AMD/MI300X/bert",
            1.0127710127710128,
            "AMD/results/MI300X/bert/scaling.json",
            "ab" * 32,
        )
    ]
    assert findings.is_empty()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", ""),
        (b"{", "{"),
        (b"\xff\xff\xfe", "\ufffd\ufffd\ufffd"),
        (b"[1.1]", "a JSON list"),
        (b'{"factor": 1.1}', "no such name among ['factor']"),
        (b'{"scaling_factor": "1.1"}', "'1.1'"),
        (b'{"scaling_factor": null}', "None"),
        (b'{"scaling_factor": true}', "True"),
        (b'{"scaling_factor": 0}', "0"),
        (b'{"scaling_factor": -1.1}', "-1.1"),
        (b'{"scaling_factor": NaN}', "nan"),
        (b'{"scaling_factor": 1e999}', "inf"),
        (b'{"scaling_factor": 1' + b"0" * 400 + b"}", "a number too large"),
    ],
)
def test_what_is_no_factor(content: bytes, found: str) -> None:
    frame, findings = parse_scaling_factors([factor_file(content)])
    assert frame.is_empty()
    assert findings.select("kind", "severity", "found").rows() == [("scaling.unreadable", "error", found)]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b'{"scaling_factor": 1.25,}', "a comma before } in line 1"),
        (b'{\n// of the checker\n"scaling_factor": 1.25}\n', "a comment in line 2"),
    ],
)
def test_a_factor_in_what_is_nearly_json_applies_and_is_told(content: bytes, found: str) -> None:
    frame, findings = parse_scaling_factors([factor_file(content)])
    assert frame["rcp_factor"].to_list() == [1.25]
    assert findings.select("kind", "severity", "found").rows() == [("scaling.mended_json", "warning", found)]


def test_a_factor_in_another_encoding_applies() -> None:
    frame, _ = parse_scaling_factors([factor_file('{"scaling_factor": 1.25}'.encode("utf-16"))])
    assert frame["rcp_factor"].to_list() == [1.25]


def test_a_second_factor_of_a_result_is_reported() -> None:
    files = [
        factor_file(b'{"scaling_factor": 1.1}'),
        factor_file(b'{"scaling_factor": 1.2}', "AMD/results/MI300X/strong/bert/scaling.json"),
    ]
    frame, findings = parse_scaling_factors(files)
    assert frame["rcp_factor"].to_list() == [1.1]
    assert findings.select("kind", "source_path").rows() == [("scaling.repeated", files[1].path)]


def test_a_file_elsewhere_is_reported() -> None:
    frame, findings = parse_scaling_factors([factor_file(b"{}", "scaling.json")])
    assert frame.is_empty()
    assert findings["kind"].to_list() == ["scaling.layout"]


@given(st.binary(max_size=200) | st.just(b"[" * 100_000))
def test_any_bytes_give_a_row_or_a_finding(content: bytes) -> None:
    frame, findings = parse_scaling_factors([factor_file(content)])
    told = ParseFindings.validate(findings).filter(pl.col("kind") != "scaling.mended_json")
    assert len(ScalingFactors.validate(frame)) + len(told) == 1
