"""The pages of Great Expectations: one for each table with rows, made and read without network."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from pipelines.quality.data_docs import write_data_docs
from pipelines.quality.suites import CHECKS
from pipelines.schemas import TABLES


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    frames = {name: TABLES[name].schema.create_empty() for name in {check.table for check in CHECKS}}
    rack = {
        "round": "training-v9.0",
        "system": "<script>alert(1)</script>",
        "accelerator_count": 2496,
        "slots_per_rack": 72,
        "verdict": "explained",
    }
    frames["mart.rack_audit"] = pl.DataFrame([rack], schema=frames["mart.rack_audit"].schema)
    folder = tmp_path_factory.mktemp("docs")
    write_data_docs(CHECKS, frames, folder)
    return write_data_docs(CHECKS, frames, folder)


def test_the_index_leads_to_the_result_of_each_table(index: Path) -> None:
    text = index.read_text("utf-8")
    assert "whole_racks" in text
    assert "not passed (warning)" in text
    (page,) = set(re.findall(r"href='([^']+)'", text))
    assert (index.parent / page).is_file()
    assert "mart.results" not in text, "a table without rows has no page"


def test_no_page_loads_anything_from_elsewhere_or_runs_what_was_published(index: Path) -> None:
    pages = list(index.parent.rglob("*.html"))
    assert len(pages) == 3, "the index, one suite, the result of the newest run alone"
    for page in pages:
        text = page.read_text("utf-8")
        assert re.findall(r"<(?:script|link|img|iframe)\b[^>]*(?:https?:)?//[^>]*>", text) == []
        assert "<script>alert(1)</script>" not in text
