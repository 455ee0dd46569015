"""Published convergence factors: the `scaling.json` beside the logs of a result.

Reading the factor belongs here; applying or recomputing it does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import polars as pl

from pipelines.parsing._published_json import decoded, read_json
from pipelines.parsing.layout import classify, result_id
from pipelines.parsing.published import ParseFinding, PublishedFile, findings_frame
from pipelines.schemas.core import ScalingFactors

_EXPECTED = 'a JSON object with a positive number "scaling_factor"'


def parse_scaling_factors(files: Iterable[PublishedFile]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the factors as `core.scaling_factors` and what could not be read as `core.parse_findings`.

    A file without a usable factor gives a finding and no row; so does a second file for the same result.
    """
    rows: dict[tuple[str, str], dict[str, object]] = {}
    findings: list[ParseFinding] = []
    for file in files:
        placed = classify(file.path)
        if placed is None or placed.kind != "scaling_factor":
            findings.append(
                _finding(file, "scaling.layout", "The path is not that of a convergence factor.", file.path)
            )
            continue
        text, _ = decoded(file.content)
        factor, mends = _factor(text)
        if isinstance(factor, str):
            findings.append(_finding(file, "scaling.unreadable", "The factor cannot be read, so none applies.", factor))
            continue
        key = file.round, result_id(file.round, placed)
        if key in rows:
            text = f"A second factor for {key[1]}; the first stays."
            findings.append(_finding(file, "scaling.repeated", text, str(factor)))
            continue
        if mends:
            said = "The file is no JSON as it stands; its factor is read with what is wrong mended, and applies."
            findings.append(_finding(file, "scaling.mended_json", said, "; ".join(mends)))
        rows[key] = {
            "round": file.round,
            "result_id": key[1],
            "rcp_factor": factor,
            "source_path": file.path,
            "source_sha256": file.sha256,
        }
    frame = pl.DataFrame(list(rows.values()), schema=ScalingFactors.create_empty().schema)
    return frame, findings_frame(findings)


def _factor(text: str) -> tuple[float | str, tuple[str, ...]]:
    """Return the factor, or what stands there in its place, and what of the JSON had to be mended."""
    try:
        record, mends = read_json(text)
    except ValueError:
        return text[:200], ()
    if not isinstance(record, dict):
        return f"a JSON {type(record).__name__}", mends
    if "scaling_factor" not in record:
        return f"no such name among {sorted(record)[:10]}".encode("utf-8", "replace").decode(), mends
    return _positive_number(record["scaling_factor"]), mends


def _positive_number(value: Any) -> float | str:
    """Return a positive number, or what stands in its place."""
    try:
        is_factor = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
        return float(value) if is_factor else repr(value)[:200]
    except OverflowError:
        return "a number too large"


def _finding(file: PublishedFile, kind: str, explanation: str, found: str) -> ParseFinding:
    return ParseFinding(
        file.round,
        file.path,
        kind,
        explanation,
        severity="error" if kind == "scaling.unreadable" else "warning",
        expected=_EXPECTED,
        found=found,
        source_sha256=file.sha256,
    )
