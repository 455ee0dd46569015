"""Rows that broke a rule, as a check sees them: counted a table, shown with the rule and as they were read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines.lake.tables import Lake
from pipelines.refreshing.quarantine import SCHEMA, quarantine_inputs, read_quarantine, structure_outcomes
from pipelines.schemas import TABLES

MADE: dict[str, Any] = {"inputs": {}, "code_version": "1"}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.at(str(tmp_path))


def frame(name: str, *rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=TABLES[name].schema.create_empty().schema)


FACT = {
    "subject": "H100-SXM5-80GB",
    "subject_kind": "accelerator",
    "subject_text": "H100 SXM",
    "quantity": "bf16_teraflops",
    "value": 989.4,
    "printed": "989.4",
    "basis": "published",
    "publisher": "NVIDIA",
    "publisher_kind": "vendor",
    "confidence": "high",
    "source_address": "https://example.org/h100",
    "source": "page",
    "metric": "bf16_dense_teraflops",
}


def test_each_broken_rule_is_a_row_with_the_text_as_read(lake: Lake) -> None:
    facts = frame(
        "core.spec_facts",
        {**FACT, "locator": "good"},
        {**FACT, "locator": "no value", "value": None},
        {**FACT, "locator": "range", "value": None, "value_low": 3.0, "value_high": 2.0, "density": "thick"},
    )
    manifest = lake.write("core.spec_facts", facts, **MADE)
    assert (manifest.rows, manifest.quarantined_rows) == (1, 2)
    broken = read_quarantine(lake)
    assert broken.select("table", "partition", "row_count", "column", "rule").sort("rule").rows() == [
        ("core.spec_facts", "all", 1, "density", "check"),
        ("core.spec_facts", "all", 1, None, "has_a_value"),
        ("core.spec_facts", "all", 1, None, "range_is_ordered"),
    ]
    (row,) = broken.filter(rule="check")["row"].to_list()
    assert json.loads(row)["density"] == "thick"
    assert json.loads(row)["printed"] == "989.4"


@pytest.mark.parametrize(
    ("name", "bad", "rule"),
    [
        ("mart.accelerators", {"accelerator": "A", "power_watts": -1.0}, "min"),
        ("mart.resolved_facts", {"subject": "A", "metric": "x", "basis": "guess"}, "check"),
        ("mart.fact_conflicts", {"subject": "A", "metric": "x", "explained_by": "magic"}, "check"),
        ("mart.name_counts", {"system": "A", "verdict": "perhaps"}, "check"),
        ("mart.description_audit", {"system": "A", "memory_verdict": "perhaps"}, "check"),
        ("mart.comparability", {"benchmark": "A", "score_ratio": -1.0}, "min"),
        ("core.sheet_findings", {"source": "A", "severity": "loud"}, "check"),
    ],
)
def test_a_row_that_breaks_a_rule_of_these_tables_does_not_land(
    lake: Lake, name: str, bad: dict[str, Any], rule: str
) -> None:
    manifest = lake.write(name, frame(name, bad), **MADE)
    assert (manifest.rows, manifest.quarantined_rows) == (0, 1)
    broken = read_quarantine(lake)
    assert set(broken["table"]) == {name}
    assert rule in broken["rule"].to_list()


def test_a_table_fails_once_with_its_counts_and_rows(lake: Lake) -> None:
    row = {"result_id": "training-v9.0/a/b/c", "source_path": "a", "source_sha256": "b"}
    for round_name, factors in {"training-v9.0": (1.0, -1.0), "training-v9.1": (-2.0, 1.1, 1.2)}.items():
        rows = [
            {**row, "round": round_name, "result_id": f"{round_name}/{factor}", "rcp_factor": factor}
            for factor in factors
        ]
        lake.write("core.scaling_factors", frame("core.scaling_factors", *rows), round_name, **MADE)
    (outcome,) = structure_outcomes(read_quarantine(lake))
    assert (outcome.table, outcome.name, outcome.status, outcome.is_blocking) == (
        "core.scaling_factors",
        "structure",
        "failed",
        False,
    )
    assert (outcome.failed_count, outcome.checked_count) == (2, 5)
    assert outcome.rows.select("partition", "column", "rule").rows() == [
        ("training-v9.0", "rcp_factor", "min"),
        ("training-v9.1", "rcp_factor", "min"),
    ]
    assert "2 of 5 rows do not satisfy" in outcome.explanation


def test_a_changed_quarantine_is_a_reason_to_check_again(lake: Lake) -> None:
    assert quarantine_inputs(lake) == {}
    bad = frame("mart.accelerators", {"accelerator": "A", "power_watts": -1.0})
    lake.write("mart.accelerators", bad, **MADE)
    first = quarantine_inputs(lake)
    assert list(first) == ["mart.accelerators__quarantine/all"]
    lake.write("mart.accelerators", bad.with_columns(power_watts=-2.0), **MADE)
    assert quarantine_inputs(lake) != first
    lake.write("mart.accelerators", bad.clear(), **MADE)
    assert quarantine_inputs(lake) == {}


def test_no_bad_rows(lake: Lake) -> None:
    assert read_quarantine(lake).schema == pl.Schema(SCHEMA)
    assert structure_outcomes(read_quarantine(lake)) == []
