"""Claims on a refreshed lake: the ledger against the labels, its findings, documents that nobody has labelled."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import polars as pl
import pytest

from pipelines.lake.queries import query
from pipelines.lake.tables import Lake

Run = Callable[..., CompletedProcess[str]]

DIFFERS = {"s3-18": "supported"}
"""Verdicts that differ from the label, each argued in docs/claims.md."""


@pytest.fixture
def ledger(filled: Path) -> pl.DataFrame:
    return Lake.at(str(filled / "lake")).read("mart.claims_ledger")


def test_every_statement_has_its_verdict_and_nearly_all_are_the_labelled_ones(
    ledger: pl.DataFrame, shared: Path
) -> None:
    labels = {row["id"]: row for row in csv.DictReader((shared / "specs/claims.csv").read_text("utf-8").splitlines())}
    got = dict(ledger.select("claim_id", "verdict").iter_rows())
    assert len(got) == 95
    assert set(got) == set(labels)
    differing = {name: verdict for name, verdict in got.items() if labels[name]["expected_verdict"] != verdict}
    assert differing == DIFFERS
    assert len(got) - len(differing) >= 90


def test_what_the_ledger_finds_by_computing(ledger: pl.DataFrame) -> None:
    rows = {row["claim_id"]: row for row in ledger.iter_rows(named=True)}
    assert "a factor of 8" in rows["s1-11"]["explanation"]
    assert "219 W each" in rows["s1-08"]["explanation"]
    assert "18x" in rows["s0-06"]["explanation"]
    assert "288 leaf switches" in rows["s0-13"]["explanation"]
    assert "need 180 to 188 racks" in rows["s0-26"]["explanation"]
    assert rows["s0-20"]["computed_value"] == pytest.approx(27.334655875655876, rel=1e-12)
    assert "step-time model of its runs = 5,760" in rows["s0-26"]["expression"]


def test_refuted_claims_are_findings_and_a_repeat_is_none(filled: Path, ledger: pl.DataFrame) -> None:
    refuted = ledger.filter(
        pl.col("verdict").is_in(["contradicted", "implausible", "misplaced"]) & pl.col("repeat_of").is_null()
    )
    told = query(
        filled / "warehouse.duckdb", "SELECT subject, kind FROM mart.findings WHERE kind LIKE 'claim.%' ORDER BY 1"
    )
    expected = refuted.sort("claim_id").select("claim_id", pl.format("claim.{}", "verdict")).rows()
    assert told.rows() == expected
    assert expected


def test_evidence_names_rows_that_are_there(filled: Path, ledger: pl.DataFrame) -> None:
    lake = Lake.at(str(filled / "lake"))
    facts = set(lake.read("core.spec_facts").select("subject", "quantity", "source").iter_rows())
    results = set(lake.read("mart.results")["result_id"])
    named = [row for text in ledger["evidence"].drop_nulls() for row in text.split("; ")]
    of_facts = [row.removeprefix("core.spec_facts: ") for row in named if row.startswith("core.spec_facts: ")]
    of_results = [row.removeprefix("mart.results: ") for row in named if row.startswith("mart.results: ")]
    assert len(of_facts) > 20
    assert len(of_results) > 5
    assert [row for row in of_facts if tuple(row.rsplit(", ", 2)) not in facts] == []
    assert [row for row in of_results if row not in results] == []


def told(ran: CompletedProcess[str]) -> list[dict[str, Any]]:
    assert ran.returncode == 0, ran.stderr
    rows: list[dict[str, Any]] = json.loads(ran.stdout)
    return rows


def test_articles_of_our_own(rackrecon: Run) -> None:
    articles = Path(__file__).parents[1] / "unit" / "reconciling" / "articles"
    expected = list(csv.DictReader((articles / "expected.csv").read_text("utf-8").splitlines()))
    for article in sorted({row["article"] for row in expected}):
        rows = told(rackrecon("claims", str(articles / article), "--format", "json"))
        found = {(row["value"], row["unit"], row["metric"], row["verdict"]) for row in rows}
        labelled = {(r["value"], r["unit"], r["metric"], r["verdict"]) for r in expected if r["article"] == article}
        assert found == labelled, article


def test_the_largest_error_of_a_document(rackrecon: Run, shared: Path) -> None:
    rows = told(rackrecon("claims", str(shared / "documents/what_is_a_superpod.txt"), "--format", "json"))
    (row,) = [row for row in rows if (row["value"], row["unit"]) == ("1", "PB/s") and row["repeat_of"] is None]
    assert row["verdict"] == "misplaced"
    assert "a factor of 8" in row["explanation"]
    assert row["rewording"].startswith("GB200 NVL72: ")


def test_the_chain_of_a_verdict_ends_at_what_a_source_prints(rackrecon: Run) -> None:
    ran = rackrecon("explain", "s1-11")
    assert ran.returncode == 0
    assert "printed: 130 (129.6)" in ran.stdout
    assert "https://www.nvidia.com/en-us/data-center/gb200-nvl72/" in ran.stdout
    of_result = rackrecon("explain", "s0-20")
    assert "score 27.3346558757 min, closed, CoreWeave + IBM + NVIDIA" in of_result.stdout
