"""Counts in names: each form, what is no count, and names that nobody has seen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.name_counts import Hardware, counts_in_name

GB200 = Hardware("NVIDIA Blackwell GPU (GB200)", "NVIDIA Grace CPU", "GB200 (per GPU)")
H200 = Hardware("NVIDIA H200-SXM5-141GB", "Intel(R) Xeon(R) Platinum 8480C", "H200-SXM-141GB")
MIXED = Hardware("AMD Instinct MI325X 256GB HBM3E (x16), AMD Instinct MI300X 192GB HBM3 (x8)", "AMD EPYC 9575F")


def told(name: str, hardware: Hardware) -> list[tuple[int, str]]:
    return [(count.count, count.unit) for count in counts_in_name(name, hardware)]


@pytest.mark.parametrize(
    ("name", "hardware", "expected"),
    [
        ("carina_ngpu2496_ngc25.04_nemo", GB200, [(2496, "accelerators")]),
        ("eos-dfw_n1024_ngc25.01_nemo", H200, [(1024, "nodes")]),
        ("AS-4126GS-NBR-LCC_N2", H200, [(2, "nodes")]),
        ("MI300X-LLMBoost-GPUBoost-4node", MIXED, [(4, "nodes")]),
        ("smci355-4N-cluster", MIXED, [(4, "nodes")]),
        ("16xXE9712x4GB200", GB200, [(16, "machines"), (4, "accelerators_per_node")]),
        ("8xKinabalux18x4GB200", GB200, [(8, "machines"), (72, "accelerators_per_node")]),
        ("1xC885A_M8-8xH200-SXM-141GB", H200, [(1, "machines"), (8, "accelerators")]),
        ("R7715x3H200-NVL-141GB", H200, [(3, "accelerators_per_node")]),
        ("18xBM.GPU.GB200.4", GB200, [(18, "machines"), (4, "accelerators_per_node")]),
        ("BM.GPU.GB200.8", GB200, [(8, "accelerators_per_node")]),
        ("Eos-dfw (1024x NVIDIA HGX H100)", H200, [(1024, "machines")]),
        ("HPE Cray XD670 n2 (16x H200-SXM-141GB)", H200, [(2, "nodes"), (16, "accelerators")]),
        ("nebius_soperator_8xH200_n128", H200, [(8, "accelerators"), (128, "nodes")]),
        ("hpg.dgxb200x8.n16", Hardware("NVIDIA B200"), [(8, "accelerators"), (16, "nodes")]),
        ("GB200-NVL72_GB200-186GB_aarch64x72_TRT", GB200, [(72, "accelerators")]),
        ("HPE_PROLIANT_DL380A_H200_NVL_141GBX10_TRT", H200, [(10, "accelerators")]),
        ("xd670_h200_x16_vllm_092", H200, [(16, "accelerators")]),
        ("b200_8x8_ngc25.09", Hardware("NVIDIA B200"), [(64, "grid")]),
        ("perlmutter_512x4", H200, [(2048, "grid")]),
        ("Dell PowerEdge XE9680 (2x8x MI300X-192GB LLMBoost)", MIXED, [(16, "grid")]),
        ("16xMI325X_8xMI300X_2xEPYC_9575F", MIXED, [(16, "accelerators"), (8, "accelerators")]),
        ("tpu-v5p-12288", Hardware("TPU-v5p"), [(12288, "tpu_units")]),
        ("cloud-tpu-trillium-256-maxdiffusion", Hardware("TPU-trillium"), [(256, "tpu_units")]),
        ("v5litepod-256", Hardware("TPU-v5e"), [(256, "tpu_units")]),
        ("512GPU.GB300.4.NVL72", GB200, [(512, "accelerators"), (4, "accelerators_per_node")]),
        ("Box (16 GPUs)", H200, [(16, "accelerators")]),
        ("NVIDIA Vera Rubin NVL72 (72x VR-288GB_aarch64)", Hardware("NVIDIA Vera Rubin"), [(72, "accelerators")]),
        ("IBM_Cloud_gx3-48x240x2l40s_vLLM", Hardware("NVIDIA L40S"), [(2, "accelerators_per_node")]),
    ],
)
def test_each_form(name: str, hardware: Hardware, expected: list[tuple[int, str]]) -> None:
    assert told(name, hardware) == expected


@pytest.mark.parametrize(
    ("name", "hardware"),
    [
        ("ESC_N8_E11", H200),
        ("Carina (39x NVIDIA GB200 NVL72)", GB200),
        ("Half (2x NVIDIA GB200 NVL36)", GB200),
        ("Boards (8x GB200 NVL4)", GB200),
        ("G893-ZX1-AAX2_pytorch", MIXED),
        ("8126GS-TNMR_2xEPYC_9575F", MIXED),
        ("R770_XEON6787Px2", Hardware("N/A", "INTEL(R) XEON(R) 6787P")),
        ("Lambda-1-Click-Cluster", H200),
        ("QuantaGrid D74H-7U", H200),
        ("4x PCIe Gen5", H200),
        ("smci355-ccs-aus-n12-05 (AS -4126GS-NMR-LCC)", MIXED),
        ("", H200),
    ],
)
def test_what_is_no_count_of_accelerators_or_nodes(name: str, hardware: Hardware) -> None:
    assert told(name, hardware) == []


def test_the_machine_is_kept_where_the_name_says_what_is_in_it() -> None:
    (machine, parts) = counts_in_name("9xXE9680Lx4GB200", GB200)
    assert (machine.words, machine.model) == ("9xXE9680L", "XE9680L")
    assert (parts.words, parts.model) == ("x4", None)


@given(st.text(max_size=60), st.text(max_size=30), st.text(max_size=30))
def test_any_text_gives_positive_counts_with_their_words(name: str, accelerator: str, processor: str) -> None:
    for count in counts_in_name(name, Hardware(accelerator, processor)):
        assert count.count > 0
        assert any(map(str.isdigit, count.words))


@given(st.integers(1, 99_999), st.sampled_from(["n{}", "sys_n{}", "sys_n{}_x", "{} nodes", "{}-node-x"]))
def test_a_node_count_is_read_whatever_stands_around_it(nodes: int, form: str) -> None:
    assert (nodes, "nodes") in told(form.format(nodes), H200)
