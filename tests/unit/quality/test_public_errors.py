"""Errors that stand in public tables, articles and descriptions, each on a small input, each with the right verdict.

One test a kind. The figures are published ones; who published them wrongly does not matter here.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pipelines.parsing.networks import parse_network
from pipelines.parsing.spec_sheets.registry import Registry, read_registry
from pipelines.quality import gate
from pipelines.quality.suites import CHECKS
from pipelines.reconciling.comparability import compare_groups
from pipelines.reconciling.descriptions import audit_descriptions
from pipelines.reconciling.facts import explain_figures
from pipelines.reconciling.figures import judge_counts, judge_memory
from pipelines.reconciling.name_counts import audit_names
from pipelines.schemas import TABLES
from pipelines.schemas.facts_core import SpecFacts
from pipelines.sources.registry import registry_files

MIB, GIB = 2**20, 2**30


@pytest.fixture(scope="module")
def registry() -> Registry:
    return read_registry(registry_files())


def table(name: str, *rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=TABLES[name].schema.create_empty().schema)


def explained(registry: Registry, subject: str, quantity: str, figure: float, **form: str) -> str | None:
    """Say what explains that somebody states this figure; None where it agrees."""
    stated = {
        "subject": subject, "subject_kind": registry.subjects.known[subject].kind, "subject_text": subject,
        "quantity": quantity, "metric": quantity, "source": "somebody", "source_address": "", "locator": "here",
        "value": figure, "printed": str(figure), "basis": "published", **form,
    }  # fmt: skip
    frame = pl.DataFrame([stated], schema=SpecFacts.create_empty().schema)
    told = explain_figures(frame, registry.facts, registry.subject_frame, registry.containments)
    return None if told.is_empty() else str(told["explained_by"][0])


def memory_verdict(registry: Registry, subject: str, size: int, host: int | None = None) -> str:
    stated = pl.DataFrame(
        {"subject": [subject], "memory_bytes": [size], "host_memory_bytes": [host]},
        schema={"subject": pl.String, "memory_bytes": pl.Int64, "host_memory_bytes": pl.Int64},
    )
    judged = judge_memory(stated, registry.facts, registry.subject_frame, registry.containments)
    return str(judged["memory_verdict"][0])


def count_verdict(nodes: int, per_node: int, total: int, dies: int | None = None) -> str:
    columns = {"node_count": nodes, "accelerators_per_node": per_node, "accelerator_count": total, "die_count": dies}
    stated = pl.DataFrame({name: [value] for name, value in columns.items()}, schema=dict.fromkeys(columns, pl.Int64))
    return str(judge_counts(stated)["count_verdict"][0])


def check_status(name: str, **columns: Any) -> str:
    (check,) = [check for check in CHECKS if check.name == name]
    (outcome,) = gate.run_checks([check], {check.table: table(check.table, columns)})
    return outcome.status


@pytest.mark.parametrize(
    ("part", "quantity", "sparse"),
    [
        ("H100-SXM5-80GB", "bf16_teraflops", 1979.0),
        ("H100-SXM5-80GB", "fp8_teraflops", 3958.0),
        ("A100-SXM4-80GB", "bf16_teraflops", 624.0),
        ("GB200 (per GPU)", "fp8_teraflops", 10_000.0),
        ("Trainium2", "bf16_teraflops", 2563.0),
    ],
)
def test_sparse_flops_quoted_as_dense(registry: Registry, part: str, quantity: str, sparse: float) -> None:
    assert explained(registry, part, quantity, sparse) == "density"


@pytest.mark.parametrize(
    ("part", "figure", "reading"),
    [
        ("A100-SXM4-80GB", 78.0, "vector_for_tensor"),
        ("A100-SXM4-80GB", 156.0, "other_precision"),
        ("H100-SXM5-80GB", 494.7, "other_precision"),
    ],
)
def test_a_vector_or_tf32_figure_in_a_bf16_column(registry: Registry, part: str, figure: float, reading: str) -> None:
    assert explained(registry, part, "bf16_teraflops", figure) == reading


def test_a_run_held_against_the_vector_rate_computes_faster_than_its_part() -> None:
    achieved = 0.45 * 312.0
    assert check_status("utilisation_possible", model_flops_utilisation=achieved / 312.0) == "passed"
    assert check_status("utilisation_possible", model_flops_utilisation=achieved / 78.0) == "failed"
    assert (
        check_status("matrix_rate_above_vector_rate", bf16_dense_teraflops=19.5, fp32_vector_teraflops=19.5) == "failed"
    )


def test_both_directions_quoted_as_one(registry: Registry) -> None:
    assert explained(registry, "GB200 (per GPU)", "scale_up_gigabytes_per_second", 900.0) is None
    assert explained(registry, "GB200 (per GPU)", "scale_up_gigabytes_per_second", 1800.0) == "direction"


def test_the_rate_of_all_links_quoted_per_link(registry: Registry) -> None:
    rate = "scale_up_gigabytes_per_second"
    assert explained(registry, "H100-SXM5-80GB", rate, 25.0, scope="link") is None
    assert explained(registry, "H100-SXM5-80GB", rate, 900.0, scope="link") == "scope"


@pytest.mark.parametrize("size", [80 * 10**9, 80 * GIB, 81_559 * MIB])
def test_80_gb_80_gib_and_81559_mib_are_one_memory(registry: Registry, size: int) -> None:
    assert memory_verdict(registry, "H100-SXM5-80GB", size) == "agrees"


def test_host_memory_in_an_accelerator_memory_field(registry: Registry) -> None:
    size = 204_800 * MIB
    assert memory_verdict(registry, "H100-SXM5-80GB", size, host=size) == "host_memory"
    assert memory_verdict(registry, "H100-SXM5-80GB", size) == "too_large"


def test_800_gigabytes_for_a_nic_of_800_gigabits(registry: Registry) -> None:
    assert explained(registry, "GB300 (per GPU)", "nic_gigabits_per_second", 800.0) is None
    assert explained(registry, "GB300 (per GPU)", "nic_gigabits_per_second", 800.0 * 8) == "bits_for_bytes"
    ports = parse_network("8x ConnectX-8 800 GB/s").compute
    assert ports is not None
    assert ports.rate is not None
    assert check_status("port_rate_exists", nic_gigabits_per_second=ports.rate.gigabits_per_second) == "failed"


def test_bits_in_a_byte_column(registry: Registry) -> None:
    rate = "scale_up_gigabytes_per_second"
    assert explained(registry, "TPU v5p", rate, 4800.0) == "bits_for_bytes"


def test_accelerators_per_node_taken_for_the_total() -> None:
    assert count_verdict(nodes=16, per_node=4, total=4) == "per_node_for_total"
    systems = table(
        "core.systems",
        {
            "round": "training-v9.0",
            "submitter_folder": "Someone",
            "system": "hgx_n4",
            "system_name": "HGX (8x H200-SXM-141GB)",
            "number_of_nodes": 4,
            "accelerators_per_node": 8,
            "accelerator_count": 32,
            "accelerator_text": "NVIDIA H200",
        },
    )
    told = audit_names(systems, table("mart.accelerators")).filter(pl.col("stated_in") == "system_name")
    assert told["verdict"].to_list() == ["counts_one_node"]


def test_a_name_that_counts_tensorcores_for_chips() -> None:
    systems = table(
        "core.systems",
        {
            "round": "training-v9.0",
            "submitter_folder": "Someone",
            "system": "tpu-v5p-12288",
            "number_of_nodes": 1536,
            "accelerators_per_node": 4,
            "accelerator_count": 6144,
            "accelerator_text": "TPU-v5p",
            "accelerator": "TPU v5p",
        },
    )
    part = {"accelerator": "TPU v5p", "tensorcore_count": 2}
    (told,) = audit_names(systems, table("mart.accelerators", part)).to_dicts()
    assert (told["verdict"], told["stated_count"], told["expected_count"]) == ("counts_cores", 12288, 6144)


def test_a_description_copied_from_another_system(registry: Registry) -> None:
    words = {
        "round": "training-v9.0",
        "submitter_folder": "Someone",
        "accelerators_per_node": 8,
        "accelerator_memory_text": "143771 MiB",
        "accelerator_memory_bytes": 143_771 * MIB,
        "accelerator_interconnect_text": "NVLINK Gen4 900 GB/s + NVSWITCH Gen3",
        "scale_up_gigabytes_per_second": 900.0,
        "scale_up_rate_scope": "accelerator",
        "source_path": "x",
    }
    systems = table(
        "core.systems",
        {**words, "system": "h200", "accelerator": "H200-SXM-141GB"},
        {**words, "system": "b200", "accelerator": "B200-SXM-180GB"},
    )
    audit = audit_descriptions(systems, registry.facts, registry.subject_frame, registry.containments)
    told = {row["system"]: row for row in audit.to_dicts()}
    assert told["h200"]["explanation"] is None
    assert told["b200"]["memory_verdict"] == "another_part"
    assert told["b200"]["link_verdict"] == "another_generation"
    assert told["b200"]["same_text_as"] == "Someone/h200"


def test_a_raw_time_published_as_the_score() -> None:
    clock, factor = 26.989967, 1.0127710127710128
    ours = {"raw_minutes": clock, "rcp_factor": factor, "score_minutes": clock * factor}
    assert check_status("published_score_is_the_score", **ours, score_published_minutes=27.335) == "passed"
    assert check_status("published_score_is_the_score", **ours, score_published_minutes=26.99) == "failed"
    assert check_status("score_is_not_the_clock", **{**ours, "score_minutes": clock}) == "failed"


@pytest.mark.parametrize(
    ("other", "precision", "verdict"),
    [
        ({}, "fp8", "comparable"),
        ({}, "fp4", "other_precision"),
        ({"round": "training-v9.1"}, "fp8", "other_round"),
        ({"round": "training-v9.1", "expected_samples": 300_000.0}, "fp4", "other_reference"),
        ({"accelerator_count": 8192}, "fp8", "other_size"),
    ],
)
def test_a_speed_up_across_precisions_rounds_or_sizes(other: dict[str, Any], precision: str, verdict: str) -> None:
    usual = {
        "round": "training-v9.0", "division": "closed", "benchmark": "llama31_405b", "scaling_mode": "strong",
        "accelerator": "GB200 (per GPU)", "accelerator_count": 512, "score_minutes": 100.0, "global_batch_size": 1152,
        "expected_samples": 320_000.0,
    }  # fmt: skip
    newer = {**usual, "result_id": "new", "first_result_id": "new", "accelerator": "GB300 (per GPU)", **other}
    results = table("mart.results", {**usual, "result_id": "old", "first_result_id": "old"}, newer)
    launches = table(
        "core.launches", {"result_id": "old", "precision": "fp8"}, {"result_id": "new", "precision": precision}
    )
    compared = compare_groups(results, table("core.runs"), launches)
    across = compared.filter(pl.col("group_a") != pl.col("group_b"))
    assert across["verdict"].to_list() == [verdict]


@pytest.mark.parametrize(
    ("quantity", "figure"),
    [("scale_up_aggregate_terabytes_per_second", 1000.0), ("fast_memory_total_bytes", 240e12)],
)
def test_pod_figures_on_a_rack(registry: Registry, quantity: str, figure: float) -> None:
    assert explained(registry, "GB200 NVL72", quantity, figure) == "pod_for_rack"


def test_dies_counted_as_packages(registry: Registry) -> None:
    rack = "Vera Rubin NVL72 (announced as NVL144)"
    assert explained(registry, rack, "accelerator_count", 144.0) == "dies"
    assert count_verdict(nodes=18, per_node=4, total=144, dies=2) == "dies_for_packages"


def test_a_vendor_table_whose_last_row_says_1296_nodes_of_8_and_9216_gpus(registry: Registry) -> None:
    assert count_verdict(nodes=1296, per_node=8, total=9216, dies=2) == "contradicted"
    assert count_verdict(nodes=1152, per_node=8, total=9216) == "agrees"
    row = registry.facts.filter(pl.col("printed") == "1296 nodes x 8 = 10368")
    assert row["value"].to_list() == [10_368.0]
