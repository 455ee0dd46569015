"""What the audits find in the two embedded training rounds: every name, every description, every pair of groups."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from pipelines.parsing.spec_sheets.registry import Registry, read_registry
from pipelines.reconciling.comparability import compare_groups
from pipelines.reconciling.descriptions import audit_descriptions, description_findings
from pipelines.reconciling.facts import reconcile_facts
from pipelines.reconciling.name_counts import audit_names, name_findings
from pipelines.reconciling.naming import list_names
from pipelines.schemas.audits_mart import NAME_VERDICTS
from pipelines.schemas.facts_mart import EXPLANATIONS
from pipelines.scoring.results import score_results
from pipelines.scoring.rules import load_rules
from pipelines.scoring.runs import judge_runs
from pipelines.snapshot import Snapshot
from pipelines.sources.registry import registry_files

ROUNDS = ("training-v5.0", "training-v5.1")

NAMES = """
v5.0 Dell/9xXE9712x4GB200 | system_name | 9xXE9680L | another_machine
v5.0 HPE/HPE-Cray-XD670-H200-SXM5-141GB_n2_24.09 | system_name | 8x H200 | counts_one_node
v5.0 HPE/HPE-Cray-XD670-H200-SXM5-141GB_n4_24.09 | system_name | 8x H200 | counts_one_node
v5.0 Lenovo/4xSR680Ax8H200-SXM-141GB | system_name | 8x H200 | counts_one_node
v5.0 Oracle/18xBM.GPU.GB200.4 | system_name | GPU.GB200.8 | contradicted
v5.1 Cisco/2xC885A_M8-8xH200-SXM-141GB | system_name | 8xH200 | counts_one_node
v5.1 HPE/HPE-Cray-XD670-H200-SXM5-141GB_n8_25.09 | system_name | 8x H200 | counts_one_node
v5.1 MangoBoost/MI325X-LLMBoost-GPUBoost-2node | system_name | 8x MI325X | counts_one_node
v5.1 University-of-Florida/hpg.dgxb200x8.n16 | system_name | 8x B200 | counts_one_node
v5.1 University-of-Florida/hpg.dgxb200x8.n2 | system_name | 8x B200 | counts_one_node
v5.1 University-of-Florida/hpg.dgxb200x8.n32 | system_name | 8x B200 | counts_one_node
v5.1 University-of-Florida/hpg.dgxb200x8.n4 | system_name | 8x B200 | counts_one_node
v5.1 University-of-Florida/hpg.dgxb200x8.n56 | system_name | 8x B200 | counts_one_node
v5.1 University-of-Florida/hpg.dgxb200x8.n8 | system_name | 8x B200 | counts_one_node
v5.1 University-of-Florida/hpg.dgxb200x8.n9 | system_name | 8x B200 | counts_one_node
v5.1 Verda/b200_8x8_ngc25.09 | system_name | 8xB200 | counts_one_node
v5.1 Wiwynn/1xKinabalux18x4GB200 | folder | 1xKinabalu | counts_racks
v5.1 Wiwynn/8xKinabalux18x4GB200 | folder | 8xKinabalu | counts_racks
"""

DESCRIPTIONS = """
v5.0 Dell/1xXE9680Lx8H200-SXM-141GB | agrees | another_generation | Dell/16xXE9712x4GB200
v5.0 Oracle/18xBM.GPU.GB200.4 | another_part | another_generation | Oracle/1xBM.GPU.H200.8
v5.0 Oracle/1xBM.GPU.B200.8 | another_part | another_generation | Oracle/1xBM.GPU.H200.8
v5.0 Oracle/1xBM.GPU.GB200.4 | another_part | another_generation | Oracle/1xBM.GPU.H200.8
v5.0 Oracle/2xBM.GPU.GB200.4 | another_part | another_generation | Oracle/1xBM.GPU.H200.8
v5.0 Oracle/8xBM.GPU.B200.8 | another_part | another_generation | Oracle/1xBM.GPU.H200.8
v5.1 Dell/1xXE7745x8H200-NVL-141GB | another_part | not_stated | Dell/1xXE7745x8RTXPro6000-PCIe-96GB
v5.1 Dell/1xXE9680Lx8H200-SXM-141GB | agrees | another_generation | Dell/1xXE9680Lx8B200-SXM-180GB
"""


def rows(text: str) -> list[str]:
    return text.strip().splitlines()


def embedded(name: str) -> pl.DataFrame:
    snapshot = Snapshot()
    return pl.concat([snapshot.read(name, round_name) for round_name in ROUNDS])


@pytest.fixture(scope="module")
def registry() -> Registry:
    return read_registry(registry_files())


@pytest.fixture(scope="module")
def systems() -> pl.DataFrame:
    return embedded("core.systems")


def told(frame: pl.DataFrame, *columns: str) -> list[str]:
    system = pl.format(
        "{} {}/{}", pl.col("round").str.strip_prefix("training-"), pl.col("submitter_folder"), pl.col("system")
    )
    return sorted(" | ".join(row) for row in frame.select(system.alias("of"), *columns).iter_rows())


def test_every_name_against_its_counts(systems: pl.DataFrame, registry: Registry) -> None:
    facts = reconcile_facts(registry.facts, registry.subject_frame, registry.containments)
    counts = audit_names(systems, facts.accelerators)
    wrong = counts.filter(pl.col("verdict") != "agrees")
    assert told(wrong, "stated_in", "words", "verdict") == rows(NAMES)
    assert counts.height == 342, "counts that are read at all"
    findings = name_findings(counts)
    assert findings.height == len(rows(NAMES)), "one a system and kind"
    assert findings.filter(severity="warning")["subject"].to_list() == [
        "training-v5.0/Dell/9xXE9712x4GB200",
        "training-v5.0/Oracle/18xBM.GPU.GB200.4",
    ]


def test_every_description_against_its_part(systems: pl.DataFrame, registry: Registry) -> None:
    audit = audit_descriptions(systems, registry.facts, registry.subject_frame, registry.containments)
    wrong = audit.filter(pl.col("explanation").is_not_null())
    assert told(wrong, "memory_verdict", "link_verdict", "same_text_as") == rows(DESCRIPTIONS)
    assert audit.height == 186
    assert set(audit.filter(memory_verdict="no_facts")["accelerator"]) == {"RTX A5000", "RTX PRO 6000 Blackwell Server"}
    assert description_findings(audit).height == len(rows(DESCRIPTIONS))


def test_what_may_be_compared() -> None:
    runs, systems, rules = embedded("core.runs"), embedded("core.systems"), load_rules()
    judged = judge_runs(runs, systems, rules)
    results, _ = score_results(
        runs, judged, systems, embedded("core.scaling_factors"), embedded("core.power_readings"), rules
    )
    compared = compare_groups(results, runs, embedded("core.launches"))
    across = compared.filter(pl.col("round_a") != pl.col("round_b"))
    assert not across["is_comparable"].any()
    assert set(across.filter(verdict="other_reference")["benchmark"]) == {"llama31_405b"}
    nebius = across.filter(
        benchmark="llama31_405b", accelerator_a="H200-SXM-141GB", accelerator_b="H200-SXM-141GB"
    ).row(0, named=True)
    assert nebius["same_log_count"] == 2
    assert nebius["same_log_score_ratio"] == pytest.approx(1.1333333333 / 1.1666666667)
    assert nebius["reference_ratio"] == pytest.approx(0.9713, abs=1e-4), "the reference moved by as much"
    fp4 = compared.filter(benchmark="llama31_405b", round_a="training-v5.1", precision_a="fp4", precision_b="fp8")
    assert set(fp4["verdict"]) == {"other_precision"}
    gb300 = compared.filter(
        benchmark="llama31_405b",
        round_a="training-v5.1",
        accelerator_a="GB200 (per GPU)",
        accelerator_b="GB300 (per GPU)",
    ).row(0, named=True)
    assert (gb300["verdict"], gb300["common_count"]) == ("comparable", 1)
    assert gb300["score_ratio"] == pytest.approx(0.7606, abs=1e-4)


def test_every_spelling_has_a_name(systems: pl.DataFrame) -> None:
    names = list_names(systems, embedded("core.runs"))
    here = names.filter(pl.col("occurrence_count") > 0)
    assert here.filter(pl.col("basis").is_in(["unknown"])).is_empty()
    assert here.filter((pl.col("kind") == "submitter") & (pl.col("basis") == "as_written")).is_empty()
    joint = here.filter(basis="joint").select("published", "canonical").rows()
    assert joint == [
        ("CoreWeave + IBM + NVIDIA", "CoreWeave + IBM + NVIDIA"),
        ("IBM+CoreWeave+NVIDIA", "CoreWeave + IBM + NVIDIA"),
        ("Supermicro_MangoBoost", "MangoBoost + Supermicro"),
    ]
    assert names.filter(kind="accelerator").height >= 69


def test_the_page_on_facts_says_what_the_registry_comes_to(registry: Registry) -> None:
    tables = reconcile_facts(registry.facts, registry.subject_frame, registry.containments)
    page = " ".join((Path(__file__).parents[2] / "docs" / "facts.md").read_text("utf-8").split())
    listed = tables.accelerators.height + tables.platforms.height
    several = tables.resolved.filter(pl.col("fact_count") > 1)
    disputed = several.filter(pl.col("conflict_count") > 0)
    unexplained = tables.conflicts.filter(explained_by="unexplained")
    assert f"come from {registry.facts['source'].n_unique()} sources" in page
    told = tables.resolved["subject"].n_unique()
    assert f"holds {registry.facts.height:,} figures on {told} of {listed} parts and platforms" in page
    assert f"Of the {several.height} metrics with more than one figure {disputed.height} are in dispute" in page
    assert f"{tables.conflicts.height} figures differ, {unexplained.height} of them unexplained" in page
    assert [reason for reason in EXPLANATIONS if f"`{reason}`" not in page] == []
    verdicts = (*NAME_VERDICTS, "another_part")
    assert [verdict for verdict in verdicts if f"`{verdict}`" not in page and verdict != "not_checkable"] == []
