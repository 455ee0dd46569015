"""Each published form on a small sheet in its shape, with the defects that its real files have."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.spec_sheets import calculon, epoch, evokernel, llm_analysis, mlco2
from pipelines.parsing.spec_sheets.frames import READERS
from pipelines.parsing.spec_sheets.sheet import Fact, Reading, Sheet


def sheet(content: bytes | str | dict[str, Any], path: str = "") -> Sheet:
    if isinstance(content, dict):
        content = json.dumps(content)
    data = content.encode() if isinstance(content, str) else content
    return Sheet("source", "https://example.org", data, publisher="somebody", path=path)


def fact(reading: Reading, quantity: str, locator: str = "") -> Fact:
    found = [fact for fact in reading.facts if fact.quantity == quantity and locator in fact.locator]
    assert len(found) == 1, found
    return found[0]


def findings(reading: Reading) -> list[tuple[str, str]]:
    return [(finding.kind, finding.place) for finding in reading.findings if finding.severity != "info"]


CALCULON = {
    "matrix": {"float16": {"tflops": 312, "gflops_efficiency": [[128, 0.99]]}},
    "vector": {"float16": {"tflops": 78}},
    "mem1": {"GiB": 80, "GBps": 2039},
    "mem2": {"GiB": 512, "GBps": 32},
    "networks": [{"bandwidth": 25, "size": 65536}, {"bandwidth": 300, "size": 8}],
}


def test_calculon_tells_engines_apart_and_networks_by_their_size() -> None:
    reading = calculon.read(sheet(CALCULON, "systems/a100_80g.json"))
    assert {fact.subject for fact in reading.facts} == {"a100_80g"}
    matrix, vector = [fact for fact in reading.facts if fact.quantity == "fp16_teraflops"]
    assert (matrix.value, matrix.form.engine) == (312.0, "tensor")
    assert (vector.value, vector.form.engine) == (78.0, "vector")
    assert fact(reading, "memory_bytes").value == 80 * 2**30
    assert fact(reading, "scale_up_gigabytes_per_second").locator == "networks.1.bandwidth"
    assert fact(reading, "scale_up_domain_accelerators").value == 8
    assert fact(reading, "nic_gigabits_per_second").value == 200.0
    assert findings(reading) == []
    assert "mem2.GiB" in str(reading.findings[-1].found)


def test_calculon_bytes_in_the_gib_field_are_told_and_not_corrected() -> None:
    reading = calculon.read(sheet({"mem1": {"GiB": 80000000000}}, "a100_80e.json"))
    memory = fact(reading, "memory_bytes")
    assert memory.value == 80000000000 * 2**30
    assert memory.printed == "80000000000"
    assert memory.defect == "capacity.bytes_in_gib_field"
    assert findings(reading) == [("capacity.bytes_in_gib_field", "mem1.GiB")]


LLM_ANALYSIS = {
    "name": "v100-sxm-16gb",
    "mem_per_GPU_in_GB": 32,
    "hbm_bandwidth_in_GB_per_sec": 900,
    "intra_node_bandwidth_in_GB_per_sec": 150,
    "peak_fp16_TFLOPS": 125,
    "peak_i8_TFLOPS": 0,
    "inter_node_bandwidth_in_GB_per_sec": 200,
}


def test_llm_analysis_is_held_against_its_own_name_and_units() -> None:
    reading = llm_analysis.read(sheet(LLM_ANALYSIS))
    assert fact(reading, "memory_bytes").defect == "capacity.against_name"
    network = fact(reading, "nic_gigabits_per_second")
    assert (network.value, network.printed, network.printed_unit) == (1600.0, "200", "GB/s")
    assert network.defect == "network.bits_in_byte_field"
    assert fact(reading, "fp16_teraflops").defect is None
    assert findings(reading) == [
        ("capacity.against_name", "mem_per_GPU_in_GB"),
        ("network.bits_in_byte_field", "inter_node_bandwidth_in_GB_per_sec"),
    ]
    zero = next(finding for finding in reading.findings if finding.kind == "value.zero_for_none")
    assert zero.place == "peak_i8_TFLOPS"
    assert not [fact for fact in reading.facts if fact.quantity == "int8_teraops"]


def test_llm_analysis_100_gigabytes_may_be_a_port_of_800_gigabits() -> None:
    reading = llm_analysis.read(sheet({"name": "x", "inter_node_bandwidth_in_GB_per_sec": 100}))
    assert fact(reading, "nic_gigabits_per_second").defect is None


def test_a_file_without_a_name_is_a_finding() -> None:
    assert findings(llm_analysis.read(sheet({"mem_per_GPU_in_GB": 32}))) == [("subject.missing", "name")]
    assert findings(evokernel.read(sheet("name: x\n"))) == [("subject.missing", "id")]


MLCO2 = """name,type,tdp_watts,TFLOPS32, TFLOPS16,GFLOPS32/W,GFLOPS16/W,memory,source
H100 SXM,gpu,700,989,1979,,,80,https://example.org/h100
A10G,gpu,150,31.52,,,24,https://example.org/a10g
Quadro P6000,gpu,250,12.63,197.4,5.052,789.6,24,https://example.org/p6000
L40S,gpu,350,183,362.05,unk,unk,48,example.org
Tesla M40 24GB,gpu,250,6.844,NaN,27.38,NaN,12,https://example.org/m40
TPUv2 Chip,tpu,221,22,45,,,64,average consumption - not TDP
"""


def test_mlco2_reads_what_can_be_told_and_tells_the_rest() -> None:
    reading = mlco2.read(sheet(MLCO2))
    assert {fact.subject for fact in reading.facts} == {
        "H100 SXM",
        "Quadro P6000",
        "L40S",
        "Tesla M40 24GB",
        "TPUv2 Chip",
    }
    assert fact(reading, "memory_bytes", "row L40S").value == 48e9
    assert fact(reading, "fp16_teraflops", "row L40S").cited_address == "example.org"
    assert fact(reading, "fp16_teraflops", "row H100 SXM").form.density is None
    assert fact(reading, "power_watts", "row TPUv2 Chip").form.variant == "average"
    assert set(findings(reading)) == {
        ("row.short", "line 3"),
        ("compute.implausible", "row H100 SXM, column TFLOPS32"),
        ("compute.gigaflops_in_teraflops_field", "row Quadro P6000, column TFLOPS16"),
        ("derived.differs", "row Quadro P6000, column GFLOPS32/W"),
        ("capacity.against_name", "row Tesla M40 24GB, column memory"),
    }
    assert [finding.place for finding in reading.findings if finding.kind == "source.not_an_address"] == [
        "row L40S, column source",
        "row TPUv2 Chip, column source",
    ]


EVOKERNEL = """id: gb200-nvl72
name: NVIDIA GB200 NVL72
form_factor: nvl
release_year: 2024
compute:
  fp4_tflops: null
  fp8_tflops: { value: 4500, evidence_ref: ev-1 }
  bf16_tflops: { value: fast, evidence_ref: ev-1 }
architecture:
  memory_hierarchy:
    - name: 'L2 Cache'
      size_mb: { value: 100, evidence_ref: ev-1 }
    - name: 'HBM3e'
      size_mb: { value: 196608, evidence_ref: ev-1 }
      bandwidth_tbs: { value: 8.0, evidence_ref: ev-9 }
memory:
  capacity_gb: { value: 192, evidence_ref: ev-1 }
  type: HBM3e
scale_up:
  bandwidth_gbps: 1800
scale_out:
  bandwidth_gbps_per_card: 800
evidence:
  - id: ev-1
    url: https://example.org/gb200
"""


def test_evokernel_carries_the_evidence_and_tells_units_and_names_that_mislead() -> None:
    reading = evokernel.read(sheet(EVOKERNEL))
    assert fact(reading, "fp8_teraflops").cited_address == "https://example.org/gb200"
    assert fact(reading, "scale_up_gigabytes_per_second").value == 1800.0
    assert fact(reading, "nic_gigabits_per_second").value == 800.0
    assert fact(reading, "memory_type").words == "HBM3e"
    assert fact(reading, "memory_bytes", "capacity_gb").value == 192e9
    assert fact(reading, "memory_bytes", "size_mb").defect == "capacity.mixed_prefix"
    assert fact(reading, "memory_bandwidth_gigabytes_per_second").value == 8000.0
    assert set(findings(reading)) == {
        ("subject.rack_name_for_one_accelerator", "name"),
        ("cell.not_a_number", "compute.bf16_tflops.value"),
        ("unit.bytes_called_gbps", "scale_up.bandwidth_gbps"),
        ("capacity.mixed_prefix", "architecture.memory_hierarchy.1.size_mb"),
        ("evidence.missing", "architecture.memory_hierarchy.1.bandwidth_tbs"),
    }


EPOCH_COLUMNS = [
    "Hardware name",
    "Notes",
    "Release date",
    "Tensor-FP16/BF16 performance (FLOP/s)",
    "FP8 performance (FLOP/s)",
    "FP4 performance (FLOP/s)",
    "TF32 (TensorFloat-32) performance (FLOP/s)",
    "FP16 (half precision) performance (FLOP/s)",
    "FP32 (single precision) performance (FLOP/s)",
    "FP64 (double precision) performance (FLOP/s)",
    "INT8 performance (OP/s)",
    "INT4 performance (OP/s)",
    "Memory (bytes)",
    "Memory bandwidth (byte/s)",
    "Intranode bandwidth (byte/s)",
    "Internode bandwidth (bit/s)",
    "TDP (W)",
    "Link to datasheet",
]


def epoch_sheet(**cells: str) -> Sheet:
    row = {"Hardware name": "Part", **cells}
    return sheet("\n".join([",".join(EPOCH_COLUMNS), ",".join(f'"{row.get(name, "")}"' for name in EPOCH_COLUMNS)]))


def test_epoch_reads_the_column_of_two_formats_as_both() -> None:
    reading = epoch.read(
        epoch_sheet(
            **{
                "Tensor-FP16/BF16 performance (FLOP/s)": "2500000000000000.0",
                "FP16 (half precision) performance (FLOP/s)": "77970000000000.0",
                "Notes": "Figures are listed without sparsity.",
                "Release date": "2025-08-22",
                "Link to datasheet": "see https://example.org/a\nhttps://example.org/b",
            }
        )
    )
    assert fact(reading, "bf16_teraflops").value == 2500.0
    assert fact(reading, "bf16_teraflops").form.density == "dense"
    half = fact(reading, "fp16_teraflops", "half precision")
    assert half.value == pytest.approx(77.97)
    assert half.form.density is None
    assert half.cited_address == "https://example.org/a"
    assert fact(reading, "release_year").value == 2025.0
    assert findings(reading) == []


def test_epoch_bytes_in_a_bit_column_and_a_bandwidth_ten_times_too_high_are_told() -> None:
    reading = epoch.read(
        epoch_sheet(
            **{
                "Internode bandwidth (bit/s)": "784000000000.0",
                "Memory (bytes)": "64000000000",
                "Memory bandwidth (byte/s)": "18000000000000",
            }
        )
    )
    assert fact(reading, "nic_gigabits_per_second").defect == "network.not_a_port_rate"
    assert fact(reading, "memory_bandwidth_gigabytes_per_second").defect == "bandwidth.implausible"
    assert len(findings(reading)) == 2


@pytest.mark.parametrize("form", sorted(READERS))
@given(content=st.binary(max_size=300))
def test_no_bytes_stop_a_reader(form: str, content: bytes) -> None:
    reading = READERS[form](sheet(content, "x.json"))
    assert all(fact.value is not None or fact.words for fact in reading.facts)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "id", "mem1", "GiB", "networks", "size", "bandwidth", "memory", "value", "compute"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("form", ["calculon", "llm_analysis", "evokernel"])
@given(document=JSON_VALUES)
def test_no_document_of_any_shape_stops_a_reader(form: str, document: Any) -> None:
    reading = READERS[form](sheet(json.dumps(document), "x.json"))
    assert isinstance(reading.facts, list)
