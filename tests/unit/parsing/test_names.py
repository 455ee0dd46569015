from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.names import (
    NamedAccelerator,
    RackProduct,
    accelerators_in,
    availability_category,
    canonical_accelerator,
    canonical_benchmark,
    canonical_submitter,
    names_nvlink_machine,
    part_of_family,
    rack_product_named,
    rack_product_of,
)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("NVIDIA Blackwell GPU (GB200)", "GB200 (per GPU)"),
        ("NVIDIA A100 - PCIe - 80 GB", "A100-PCIe-80GB"),
        ("NVIDIA H100-SXM5-96GB", "H100-SXM5-80GB"),
        ("NVIDIA A100-SXM4-80GB (400W)", "A100-SXM4-80GB"),
        ("Intel(R) Gaudi(R) 2 AI Accelerator", "Gaudi 2"),
        ("TPU-trillium", "TPU v6e (Trillium)"),
        ("Habana Gaudi", "Gaudi (first generation)"),
        ("Graphcore IPU GC200", "IPU GC200"),
        ("Graphcore Bow IPU", "Bow IPU"),
        ("NVIDIA A100-SXM4-80GB (500W)", "A100-SXM4-80GB"),
        ("NVIDIA A100-PCIE-80GB (300W)", "A100-PCIe-80GB"),
        # Spellings that no round has used so far, each with one possible meaning.
        ("nvidia h200\u2011sxm5\u2011141gb", "H200-SXM-141GB"),
        ("H200-SXM5-141GB", "H200-SXM-141GB"),
        ("NVIDIA Blackwell Ultra GPU (GB200)", "GB200 (per GPU)"),
        ("AMD MI355X", "Instinct MI355X"),
        ("AMD Instinct MI325X 256GB", "Instinct MI325X"),
        ("Gaudi 3", "Gaudi 3"),
        ("Google TPU v6e", "TPU v6e (Trillium)"),
        ("Google TPU Ironwood", "TPU7x (Ironwood)"),
        ("TPU v7x", "TPU7x (Ironwood)"),
        ("Google TPU-v7x (Ironwood)", "TPU7x (Ironwood)"),
        ("TPU5p", "TPU v5p"),
        ("TPU v6 lite", "TPU v6e (Trillium)"),
        ("Cloud TPU v5litepod", "TPU v5e"),
        ("Intel Gaudi 3 AI Accelerator", "Gaudi 3"),
        ("NVIDIA Rubin GPU (VR200)", "Rubin (VR200, per GPU package)"),
        # Chip, form and memory in another order, or less of them where one part alone is left.
        ("NVIDIA A100 80GB PCIe", "A100-PCIe-80GB"),
        ("NVIDIA A100 40GB SXM4 (400 W)", "A100-SXM4-40GB"),
        ("H100 80GB SXM5 Tensor Core GPU", "H100-SXM5-80GB"),
        ("H100 SXM", "H100-SXM5-80GB"),
        ("NVIDIA H200 141 GB HBM3e SXM", "H200-SXM-141GB"),
        ("94 GB H100 NVL", "H100-NVL-94GB"),
        ("NVIDIA V100 SXM2 16GB", "V100-SXM2-16GB"),
        ("NVIDIA Blackwell B200-SXM-192GB", "B200-SXM-180GB"),
        ("NVIDIA B300 SXM 288 GB", "B300-SXM-270GB"),
        ("NVIDIA GB200 186GB", "GB200 (per GPU)"),
        ("NVIDIA GH200 Grace Hopper Superchip 96GB", "GH200"),
        ("AMD Instinct MI300X OAM 192GB 750W", "Instinct MI300X"),
        ("NVIDIA L40S PCIe 48GB", "L40S"),
    ],
)
def test_accelerator_text_gives_its_part(text: str, part: str) -> None:
    assert accelerators_in(text) == (NamedAccelerator(text.replace("\u2011", "-"), part),)


@pytest.mark.parametrize(
    "text",
    [
        "NVIDIA H100",
        "NVIDIA A100",
        "NVIDIA B200",
        "AMD Instinct MI999X",
        "GB200 NVL4",
        "NVIDIA GB200 NVL",
        "NVIDIA GB200 Grace Blackwell Superchip",
        "NVIDIA H200 141GB",
        "NVIDIA A100 SXM4",
        "NVIDIA A100 SXM4 60GB",
        "NVIDIA V100 SXM4 32GB",
        "NVIDIA H100 SXM5 80GB CNX",
        "NVIDIA H800-SXM-80GB",
        "A100 SXM4 40GB with H100",
        "AMD Instinct MI300A",
        "TPU",
        "TPU v7",
        "TPU v4 lite",
        "Gaudi 4",
        "Graphcore IPU",
    ],
)
def test_accelerator_text_that_could_mean_several_parts_gives_none(text: str) -> None:
    assert [named.part for named in accelerators_in(text)] == [None]


@pytest.mark.parametrize("text", ["N/A", "None", "", "  ", None])
def test_no_accelerator(text: str | None) -> None:
    assert accelerators_in(text) == ()


def test_several_parts_in_one_text_come_with_their_counts() -> None:
    named = accelerators_in("AMD Instinct MI300X 192GB HBM3 (x32), AMD Instinct MI999X (x16)")
    assert [(entry.part, entry.count) for entry in named] == [("Instinct MI300X", 32), (None, 16)]


@pytest.mark.parametrize("between", [", ", "; ", " + ", " and ", " & ", " / ", ", and "])
def test_several_parts_however_they_are_joined(between: str) -> None:
    named = accelerators_in(f"8x NVIDIA H200-SXM-141GB{between}4x AMD Instinct MI350X")
    assert [(entry.part, entry.count) for entry in named] == [("H200-SXM-141GB", 8), ("Instinct MI350X", 4)]


def test_every_published_text_has_its_part(shared: Path) -> None:
    listed = (shared / "specs" / "accelerator_aliases.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(listed.splitlines()))
    assert len(rows) == 69
    # The list calls the 80 GB part of three v2.1 systems a 40 GB one; the text and the list of parts say 80 GB.
    corrected = {"NVIDIA A100-SXM4-80GB (400W)": "A100-SXM4-80GB"}
    for row in rows:
        text, part = row["accelerator_model_name"], row["canonical_model"]
        found = accelerators_in(text)
        if part == "MIXED":
            assert [entry.part is not None and entry.count is not None for entry in found] == [True, True]
        else:
            assert [entry.part for entry in found] == ([corrected.get(text, part)] if part else []), text


@pytest.mark.parametrize(
    ("text", "product"),
    [
        ("Carina (39x NVIDIA GB200 NVL72)", "GB200 NVL72"),
        ("SRS-GB300-NVL72-M1 (18x ARS-121GL-NB3)", "GB300 NVL72"),
        ("NVIDIA Vera Rubin NVL144", "Vera Rubin NVL72"),
        ("8 racks of NVL72", "GB300 NVL72"),
        ("GB300 NVL72; 2048 nodes", "GB300 NVL72"),
        ("NVL72 2048 GPUs", "GB300 NVL72"),
    ],
)
def test_rack_product_named(text: str, product: str) -> None:
    assert rack_product_named(text, "GB300 (per GPU)") == RackProduct(product, 72)


@pytest.mark.parametrize("text", ["NVIDIA GB200 NVL4", "GB300-NVL8", "GB200 NVL720", "H200-NVL-141GB", "", None])
def test_other_machines_are_no_rack_product(text: str | None) -> None:
    assert rack_product_named(text, "GB200 (per GPU)") is None


def test_rack_product_implied_by_a_part() -> None:
    assert rack_product_of("GB200 (per GPU)") == RackProduct("GB200 NVL72", 72)
    assert rack_product_of("B200-SXM-180GB") is None
    assert rack_product_of(None) is None
    assert names_nvlink_machine("NVIDIA GB200 NVL4")
    assert not names_nvlink_machine("H100 NVL 94GB")


@pytest.mark.parametrize(
    ("status", "category"),
    [
        ("onprem", "available_on_premise"),
        ("Available on-premise", "available_on_premise"),
        ("Available on premise", "available_on_premise"),
        ("cloud", "available_cloud"),
        ("Available cloud", "available_cloud"),
        ("Available Cloud", "available_cloud"),
        ("Available in cloud", "available_cloud"),
        ("preview", "preview"),
        ("Preview (cloud)", "preview"),
        ("available", "available"),
        ("Research, Development, or Internal", "research"),
        ("RDI", "research"),
        ("retired", None),
        ("", None),
    ],
)
def test_availability(status: str, category: str | None) -> None:
    assert availability_category(status) == category


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("IBM+CoreWeave+NVIDIA", "CoreWeave + IBM + NVIDIA"),
        ("CoreWeave + IBM + NVIDIA", "CoreWeave + IBM + NVIDIA"),
        ("NVIDIA_CoreWeave", "CoreWeave + NVIDIA"),
        ("NVIDIA+CoreWeave", "CoreWeave + NVIDIA"),
        ("Fujitsu/RIKEN", "Fujitsu + RIKEN"),
        ("smc-ac-power", "Sustainable Metal Cloud"),
        ("Graphcore-mlperf-v2.0-submission", "Graphcore"),
        ("Sustainable Metal Cloud", "Sustainable Metal Cloud"),
        ("GIGABYTE", "GigaComputing"),
        ("GigaComptuing", "GigaComputing"),
        ("Quanta_Cloud_Technology", "Quanta Cloud Technology"),
        ("QCT", "Quanta Cloud Technology"),
        ("krai", "Krai"),
        ("DELL", "Dell"),
        ("Supermicro-RedHat", "Red Hat + Supermicro"),
        ("RedHat-Supermicro", "Red Hat + Supermicro"),
        ("Supermicro_MangoBoost", "MangoBoost + Supermicro"),
        ("University-of-Florida", "University of Florida"),
        ("Inspur", "Inspur"),
        ("HabanaLabs", "Intel-HabanaLabs"),
        ("Habana Labs", "Intel-HabanaLabs"),
        ("Intel-HabanaLabs", "Intel-HabanaLabs"),
        ("Intel", "Intel"),
        ("Google_1", "Google"),
        ("Red Hat, Supermicro", "Red Hat + Supermicro"),
        ("Dell with MangoBoost", "Dell + MangoBoost"),
        ("IBM, CoreWeave and NVIDIA", "CoreWeave + IBM + NVIDIA"),
        ("Dell EMC", "Dell"),
        ("Orrick Industries, LLC", "Orrick Industries LLC"),
        ("Smith, Jones", "Smith, Jones"),
        ("Somebody_Else", "Somebody_Else"),
        ("Somebody_1", "Somebody_1"),
        ("2024", "2024"),
    ],
)
def test_submitters(name: str, canonical: str) -> None:
    assert canonical_submitter(name) == canonical


@pytest.mark.parametrize(
    ("name", "canonical"),
    [("ssd", "retinanet"), ("gnn", "rgat"), ("mask", "maskrcnn"), ("dlrm", "dlrm"), ("dlrm_dcnv2", "dlrm_dcnv2")],
)
def test_benchmarks(name: str, canonical: str) -> None:
    assert canonical_benchmark(name) == canonical


@given(st.text(max_size=200))
def test_any_text_has_a_name_or_none(text: str) -> None:
    assert isinstance(accelerators_in(text), tuple)
    assert canonical_accelerator(text) in {None, *(entry.part for entry in accelerators_in(text))}
    assert canonical_submitter(canonical_submitter(text)) == canonical_submitter(text)
    availability_category(text)
    rack_product_named(text)


@pytest.mark.parametrize(
    ("family", "texts", "part"),
    [
        ("TPU", ["tpu-v4-6912", "tpu-v4-6912-TF"], "TPU v4"),
        ("tpu", [None, "cloud-tpu-v5e-256"], "TPU v5e"),
        ("TPU", ["tpu-v5litepod-256"], "TPU v5e"),
        ("TPU", ["Pod 7", "TPU_trillium_n64"], "TPU v6e (Trillium)"),
        ("Gaudi", ["8x Gaudi3"], "Gaudi 3"),
        ("TPU", ["tpu-v4 beside tpu-v5e"], None),
        ("TPU", ["tpu-v99-8"], None),
        ("TPU", ["pod of 4"], None),
        ("GPU", ["gpu-h100-8"], None),
        ("TPU v", ["tpu-v4-8"], None),
        ("", ["v4"], None),
    ],
)
def test_a_family_is_told_apart_by_the_system_s_name(family: str, texts: list[str | None], part: str | None) -> None:
    assert part_of_family(family, *texts) == part
