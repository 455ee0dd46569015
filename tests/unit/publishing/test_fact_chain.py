"""A figure of a specification as it is told, and what a name that nothing bears can have meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines.lake.tables import Lake
from pipelines.publishing.fact_chain import RESOLVED, chain_of_fact
from pipelines.publishing.near_names import near_facts
from pipelines.schemas import TABLES


def fact(subject: str, metric: str, **other: Any) -> dict[str, Any]:
    return {
        "subject": subject,
        "metric": metric,
        "subject_kind": "accelerator",
        "quantity": metric,
        "rule": "stated in this form, by the vendor",
        "basis": "published",
        "confidence": "high",
        "publisher_kind": "vendor",
        "source": "vendor-page",
        "source_address": "https://example.org/",
        "locator": "row 1",
        "printed": "as printed",
        "fact_count": 1,
        "agreeing_count": 0,
        "conflict_count": 0,
        "unexplained_count": 0,
        **other,
    }


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake.at(str(tmp_path))
    rows = [
        fact("H100-SXM5-80GB", "fp8_dense_teraflops", value=1979.0, unit="TFLOP/s"),
        fact("H100-SXM5-80GB", "power_watts", value=700.0, unit="W"),
        fact("DGX H100", "processor_count", value=2.0),
        fact("B200-SXM-180GB", "scale_up_name", words="NVLink 5"),
        fact("Rack", "power_kilowatts", value=126.0, value_low=120.0, value_high=132.0, unit="kW"),
    ]
    frame = pl.DataFrame(rows, schema=TABLES[RESOLVED].schema.create_empty().schema)
    assert lake.write(RESOLVED, frame, inputs={}, code_version="1").quarantined_rows == 0
    return lake


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("H100", "nothing is named 'H100'; did you mean H100-SXM5-80GB, DGX H100"),
        ("h100-sxm5-80gb", "nothing is named 'h100-sxm5-80gb'; did you mean H100-SXM5-80GB"),
        ("NVLink 5", "nothing is named 'NVLink 5'; did you mean B200-SXM-180GB/scale_up_name"),
        (
            "H100-SXM5-80GB/fp9",
            "H100-SXM5-80GB has no 'fp9'; it has fp8_dense_teraflops, power_watts",
        ),
        (
            "H100-SXM5-80GB/fp8_teraflops",
            "H100-SXM5-80GB has no 'fp8_teraflops'; did you mean fp8_dense_teraflops; "
            "it has fp8_dense_teraflops, power_watts",
        ),
        ("B200-SXM-18GB", "nothing is named 'B200-SXM-18GB'; did you mean B200-SXM-180GB"),
        ("entirely different", None),
        ("?", None),
    ],
)
def test_a_name_that_nothing_bears_is_answered_with_those_alike(lake: Lake, name: str, expected: str | None) -> None:
    assert near_facts(lake, name) == expected


@pytest.mark.parametrize("name", ["Rack", "Rack/power_kilowatts"])
def test_a_range_is_told_by_its_ends(lake: Lake, name: str) -> None:
    spec_facts = TABLES["core.spec_facts"].schema.create_empty()
    chain = chain_of_fact(lake, spec_facts, name)
    assert chain is not None
    assert "120 to 132 kW, the middle, 126, is taken: " in chain.below[0].text
