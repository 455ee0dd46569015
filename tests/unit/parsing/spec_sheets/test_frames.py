from __future__ import annotations

import hashlib
import json

import polars as pl
import pytest

from pipelines.parsing.spec_sheets.frames import UNKNOWN, read_sheet
from pipelines.parsing.spec_sheets.sheet import Sheet
from pipelines.parsing.spec_sheets.subjects import Naming, Subject, Subjects
from pipelines.schemas.facts_core import SheetFindings, SpecFacts


@pytest.fixture
def subjects() -> Subjects:
    known = Subjects()
    known.add([Subject("H100-SXM5-80GB", "accelerator", "NVIDIA"), Subject("V100-SXM2-32GB", "accelerator", "NVIDIA")])
    known.add_spelling("H100 SXM", "H100-SXM5-80GB")
    known.add_spelling("Both", "H100-SXM5-80GB")
    known.add_spelling("Both", "V100-SXM2-32GB")
    known.add_spelling("v100-sxm-16gb", "V100-SXM2-32GB", "16 GB")
    return known


def sheet(name: str) -> Sheet:
    content = {"name": name, "mem_per_GPU_in_GB": 16, "peak_fp16_TFLOPS": 125, "peak_i8_TFLOPS": "?"}
    return Sheet(
        "llm-analysis",
        "https://github.com/cli99/llm-analysis",
        json.dumps(content).encode(),
        publisher="llm-analysis",
        path="gpu.json",
        licence="Apache-2.0",
        retrieved_at="2026-11-01T00:00:00Z",
    )


def test_a_sheet_becomes_rows_that_the_schema_takes(subjects: Subjects) -> None:
    facts, findings = read_sheet("llm_analysis", sheet("h100 sxm"), subjects)
    assert SpecFacts.filter(facts)[0].height == facts.height == 2
    assert SheetFindings.is_valid(findings)
    row = facts.row(by_predicate=pl.col("quantity") == "fp16_teraflops", named=True)
    assert row["subject"] == "H100-SXM5-80GB"
    assert row["subject_text"] == "h100 sxm"
    assert row["metric"] == "fp16_teraflops"
    assert row["unit"] == "TFLOP/s"
    assert row["locator"] == "gpu.json: peak_fp16_TFLOPS"
    assert row["confidence"] == "low"
    assert row["source_sha256"] == hashlib.sha256(sheet("h100 sxm").content).hexdigest()


def test_a_variant_in_the_name_holds_for_the_memory_only(subjects: Subjects) -> None:
    facts, _ = read_sheet("llm_analysis", sheet("v100-sxm-16gb"), subjects)
    assert dict(facts.select("quantity", "variant").iter_rows()) == {"memory_bytes": "16 GB", "fp16_teraflops": None}


def test_a_name_of_two_parts_gives_both_the_facts_and_is_told(subjects: Subjects) -> None:
    facts, findings = read_sheet("llm_analysis", sheet("both"), subjects)
    assert facts.height == 4
    assert set(facts["subject"]) == {"H100-SXM5-80GB", "V100-SXM2-32GB"}
    assert "subject.several" in set(findings["kind"])


def test_a_name_of_no_known_part_stays_and_is_told_once(subjects: Subjects) -> None:
    facts, findings = read_sheet("llm_analysis", sheet("H100 SXM6"), subjects)
    assert set(facts["subject"]) == {"H100 SXM6"}
    assert set(facts["subject_kind"]) == {UNKNOWN}
    assert findings.filter(findings["kind"] == "subject.unknown")["found"].to_list() == ["H100 SXM6"]


def test_spellings_of_results_repositories_are_understood(subjects: Subjects) -> None:
    assert subjects.named("NVIDIA H100-SXM5-80GB") == [Naming(Subject("H100-SXM5-80GB", "accelerator", "NVIDIA"))]
    assert subjects.named("NVIDIA B200-SXM-180GB") == []


def test_a_spelling_given_twice_stands_for_one_subject(subjects: Subjects) -> None:
    subjects.add_spelling("H100-SXM5-80gb", "H100-SXM5-80GB")
    assert len(subjects.named("h100-sxm5-80gb")) == 1


def test_a_spelling_of_an_unlisted_subject_is_refused(subjects: Subjects) -> None:
    with pytest.raises(KeyError):
        subjects.add_spelling("X", "Y")


def test_an_unknown_form_is_a_key_error(subjects: Subjects) -> None:
    with pytest.raises(KeyError):
        read_sheet("papyrus", sheet("x"), subjects)
