"""Memory and counts as somebody states them, each kind of public error on a small input."""

from __future__ import annotations

import polars as pl
import pytest

from pipelines.parsing.spec_sheets.registry import Registry, read_registry
from pipelines.reconciling.figures import judge_counts, judge_memory
from pipelines.sources.registry import registry_files

MIB = 2**20
GIB = 2**30


@pytest.fixture(scope="module")
def registry() -> Registry:
    return read_registry(registry_files())


def verdict(registry: Registry, subject: str, memory_bytes: int | None, host_bytes: int | None = None) -> str:
    stated = pl.DataFrame(
        {"subject": [subject], "memory_bytes": [memory_bytes], "host_memory_bytes": [host_bytes]},
        schema={"subject": pl.String, "memory_bytes": pl.Int64, "host_memory_bytes": pl.Int64},
    )
    judged = judge_memory(stated, registry.facts, registry.subject_frame, registry.containments)
    assert judged.height == 1
    return str(judged["memory_verdict"][0])


@pytest.mark.parametrize("memory_bytes", [80 * 10**9, 80 * GIB, 81_559 * MIB, 96 * 10**9])
def test_every_way_to_count_the_memory_of_one_part_agrees(registry: Registry, memory_bytes: int) -> None:
    assert verdict(registry, "H100-SXM5-80GB", memory_bytes) == "agrees"


@pytest.mark.parametrize(
    ("subject", "memory_bytes"),
    [
        ("B200-SXM-180GB", 183_359 * MIB),
        ("B200-SXM-180GB", 180 * 10**9),
        ("B200-SXM-180GB", 192 * 10**9),
        ("GB300 (per GPU)", 279 * 10**9),
        ("GB300 (per GPU)", 280 * 10**9),
        ("GB300 (per GPU)", 288 * 10**9),
        ("GB300 (per GPU)", 284_208 * MIB),
        ("L40S", 45 * 10**9),
        ("TPU v5p", 95 * 10**9),
    ],
)
def test_raw_usable_and_named_memory_agree(registry: Registry, subject: str, memory_bytes: int) -> None:
    assert verdict(registry, subject, memory_bytes) == "agrees"


def test_host_memory_in_the_field_of_the_accelerator(registry: Registry) -> None:
    assert verdict(registry, "H100-SXM5-80GB", 204_800 * MIB, 204_800 * MIB) == "host_memory"
    assert verdict(registry, "H100-SXM5-80GB", 204_800 * MIB) == "too_large"


def test_a_description_copied_from_another_system(registry: Registry) -> None:
    assert verdict(registry, "GB200 (per GPU)", 143_771 * MIB) == "another_part"
    assert verdict(registry, "B200-SXM-180GB", 143_771 * MIB) == "another_part"


def test_the_memory_of_the_whole_node(registry: Registry) -> None:
    assert verdict(registry, "H100-SXM5-80GB", 640 * 10**9) == "sum_of_node"


def test_less_than_the_part_has(registry: Registry) -> None:
    assert verdict(registry, "B200-SXM-180GB", 123 * 10**9) == "contradicted"


def test_nothing_stated_or_nothing_known(registry: Registry) -> None:
    assert verdict(registry, "H100-SXM5-80GB", None) == "no_facts"
    assert verdict(registry, "RTX PRO 6000 Blackwell Server", 96 * 10**9) == "no_facts"


def test_what_is_known_stands_beside_the_verdict(registry: Registry) -> None:
    stated = pl.DataFrame({"system": ["a"], "subject": ["GB200 (per GPU)"], "memory_bytes": [143_771 * MIB]})
    judged = judge_memory(stated, registry.facts, registry.subject_frame, registry.containments).row(0, named=True)
    assert judged["system"] == "a"
    assert judged["known_memory_bytes"] == 189_471 * MIB
    assert judged["memory_ratio"] == pytest.approx(0.7588, abs=1e-4)
    assert judged["memory_evidence"].startswith("H200-SXM-141GB")


@pytest.mark.parametrize(
    ("nodes", "per_node", "total", "dies", "expected"),
    [
        (624, 4, 2496, 2, "agrees"),
        (1296, 8, 9216, 2, "contradicted"),
        (16, 4, 4, 2, "per_node_for_total"),
        (16, 4, 16, 2, "nodes_for_total"),
        (18, 4, 144, 2, "dies_for_packages"),
        (18, 4, 144, 1, "contradicted"),
        (18, 4, 144, None, "contradicted"),
        (None, 4, 72, 2, "not_checkable"),
        (18, 4, None, 2, "not_checkable"),
    ],
)
def test_a_total_is_held_against_nodes_times_accelerators(
    nodes: int | None, per_node: int, total: int | None, dies: int | None, expected: str
) -> None:
    columns = {"node_count": nodes, "accelerators_per_node": per_node, "accelerator_count": total, "die_count": dies}
    stated = pl.DataFrame({name: [value] for name, value in columns.items()}, schema=dict.fromkeys(columns, pl.Int64))
    assert judge_counts(stated)["count_verdict"].to_list() == [expected]


def test_the_row_of_1296_nodes_says_how_far_off_it_is() -> None:
    stated = pl.DataFrame({"node_count": [1296], "accelerators_per_node": [8], "accelerator_count": [9216]})
    judged = judge_counts(stated).row(0, named=True)
    assert judged["expected_accelerator_count"] == 10368
    assert judged["count_ratio"] == pytest.approx(8 / 9)
