"""Every system description of the real archives, against what a survey of them found."""

from __future__ import annotations

import hashlib
import tarfile
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from pipelines.parsing.layout import classify
from pipelines.parsing.published import ParseFinding, PublishedFile
from pipelines.parsing.system_descriptions import parse_system_descriptions
from pipelines.schemas.core import Systems

ARCHIVES = {
    "training-v5.0": "training_results_v5.0.tar.gz",
    "training-v5.1": "training_results_v5.1.tar.gz",
    "inference-v5.1": "inference_results_v5.1.tar.gz",
}


TWO_FABRICS = (
    "8x HPE Slingshot SA210S Ethernet 200Gb 1-port PCIe NIC, 8x HPE InfiniBand NDR/Ethernet 400Gb 1-port OSFP PCIe5 "
    "x16 MCX75310AAS-NEAT Adapter, 1x HPE InfiniBand HDR/Ethernet 200Gb 2-port QSFP56 PCIe4 x16 MCX653106A-HDAT Adapter"
)


def descriptions(archive: Path, round_name: str) -> list[PublishedFile]:
    files = []
    with tarfile.open(archive, "r|gz") as members:
        for member in members:
            path = member.name.partition("/")[2]
            placed = classify(path) if member.isfile() else None
            if placed is not None and placed.kind == "system_description":
                opened = members.extractfile(member)
                assert opened is not None
                content = opened.read()
                files.append(PublishedFile(round_name, path, hashlib.sha256(content).hexdigest(), content))
    return files


@pytest.fixture(scope="module")
def described(shared: Path) -> tuple[pl.DataFrame, list[ParseFinding]]:
    files = [
        file for round_name, name in ARCHIVES.items() for file in descriptions(shared / "mlperf" / name, round_name)
    ]
    return parse_system_descriptions(files)


@pytest.fixture(scope="module")
def systems(described: tuple[pl.DataFrame, list[ParseFinding]]) -> pl.DataFrame:
    return described[0]


@pytest.fixture(scope="module")
def findings(described: tuple[pl.DataFrame, list[ParseFinding]]) -> list[ParseFinding]:
    return described[1]


def test_every_description_is_a_row_of_the_schema(systems: pl.DataFrame) -> None:
    Systems.validate(systems)
    by_round = dict(systems.group_by("round").len().iter_rows())
    # Four of the 125 inference systems are described under both divisions.
    assert by_round == {"training-v5.0": 94, "training-v5.1": 92, "inference-v5.1": 121}


def test_every_system_counts_its_accelerators_and_knows_its_part(systems: pl.DataFrame) -> None:
    training = systems.filter(pl.col("round").str.starts_with("training"))
    assert training.filter(pl.col("accelerator_count").is_null() | pl.col("accelerator").is_null()).height == 0
    assert training.filter(pl.col("availability").is_null()).height == 0
    assert training.filter(pl.col("accelerator_memory_bytes").is_null()).height == 0


def test_nothing_else_than_the_known_texts_is_unreadable(findings: list[ParseFinding]) -> None:
    unread = {(finding.kind, finding.found) for finding in findings if finding.kind == "system.unreadable_memory"}
    assert unread == {
        ("system.unreadable_memory", "Node1: 2.2 TB, Node2: 1.5 TB"),
        ("system.unreadable_memory", "192 GB (MI300X), 256 GB (MI325X)"),
        ("system.unreadable_memory", "256 GB (MI325X), 192 GB (MI300X)"),
        ("system.unreadable_memory", "8x3TiB"),
        ("system.unreadable_memory", "ToDo: 960 GB"),
        ("system.unreadable_memory", "Shared with host"),
    }
    networks = [(finding.place, finding.found) for finding in findings if finding.kind == "system.unreadable_network"]
    assert sorted(Counter(networks).items()) == [
        # Two kinds of port for compute, eight of each; none of them is told to be the one.
        (("host_network_card_count", TWO_FABRICS), 6),
        (("host_networking", "Management: 1x Ethernet 10GB/Sec"), 2),
        (("host_networking_topology", TWO_FABRICS), 7),
    ]
    assert [finding.place for finding in findings if finding.kind == "system.unreadable_interconnect"] == []
    others = {finding.kind for finding in findings} - {"system.unreadable_memory"}
    assert others == {
        "system.described_twice",
        "system.duplicate_key",
        "system.ports_unclear",
        "system.several_accelerators",
        "system.unreadable_network",
    }


def test_repeated_keys_are_found_in_the_three_descriptions_that_have_them(findings: list[ParseFinding]) -> None:
    repeated = {(finding.round, finding.source_path) for finding in findings if finding.kind == "system.duplicate_key"}
    assert repeated == {
        ("training-v5.0", "Dell/systems/1xXE9680Lx8H200-SXM-141GB.json"),
        ("training-v5.1", "Dell/systems/1xXE7745x8H200-NVL-141GB.json"),
        ("training-v5.1", "Dell/systems/1xXE7745x8RTXPro6000-PCIe-96GB.json"),
    }


def test_rack_scale_systems(systems: pl.DataFrame) -> None:
    racked = systems.filter(pl.col("round").str.starts_with("training") & pl.col("slots_per_rack").is_not_null())
    assert dict(racked.group_by("round").len().iter_rows()) == {"training-v5.0": 30, "training-v5.1": 23}
    assert racked["slots_per_rack"].unique().to_list() == [72]
    assert racked.filter(pl.col("rack_product_basis") == "name").height == 43
    assert racked.filter(pl.col("accelerator_count") % 72 != 0).height == 38
    stated = racked.filter(pl.col("racks_stated") > 1).with_columns(
        per_rack=pl.col("accelerator_count") / pl.col("racks_stated")
    )
    assert sorted(stated["per_rack"].to_list()) == [64.0] * 16 + [72.0] * 2
    assert racked.filter(pl.col("racks_stated").is_null()).height == 13


@pytest.mark.parametrize(
    ("system", "accelerators", "racks", "gigabytes"),
    [
        ("carina_ngpu2496_ngc25.04_nemo", 2496, 39, 50.0),
        ("hsg_ngpu5120_ngc25.09_nemo", 5120, 80, 50.0),
        ("hsg_ngpu1152_ngc25.09_nemo", 1152, 18, 50.0),
        ("theia_ngpu512_ngc25.09_nemo", 512, 8, 100.0),
        ("eos-dfw_n1024_ngc25.01_nemo", 8192, None, 50.0),
        ("nebius_soperator_8xH200_n128_ngc25.01_nemo", 1024, None, 50.0),
    ],
)
def test_network_and_racks_of_the_large_runs(
    systems: pl.DataFrame, system: str, accelerators: int, racks: int | None, gigabytes: float
) -> None:
    columns = ("accelerator_count", "racks_stated", "nic_gigabytes_per_second_per_accelerator")
    assert systems.filter(pl.col("system") == system).select(columns).rows() == [(accelerators, racks, gigabytes)]


def test_a_wrong_memory_is_kept_as_published(systems: pl.DataFrame) -> None:
    oracle = systems.filter(pl.col("system") == "18xBM.GPU.GB200.4")
    assert oracle["accelerator_memory_bytes"].to_list() == [143771 * 2**20]
