"""Accelerator files of llm-analysis: one flat JSON a part, units in the names of its fields.

A zero stands for a rate that the part does not have.
"""

from __future__ import annotations

from dataclasses import replace

from pipelines.parsing.spec_sheets import suspicions
from pipelines.parsing.spec_sheets.cells import number
from pipelines.parsing.spec_sheets.documents import Field, at, fact_at, read_json, report_unread_fields
from pipelines.parsing.spec_sheets.sheet import Fact, Reading, Sheet

_NIC = "inter_node_bandwidth_in_GB_per_sec"
_MEMORY = "mem_per_GPU_in_GB"

_FIELDS = (
    Field(_MEMORY, "memory_bytes", 1e9, "GB"),
    Field("hbm_bandwidth_in_GB_per_sec", "memory_bandwidth_gigabytes_per_second", 1.0, "GB/s"),
    Field("intra_node_bandwidth_in_GB_per_sec", "scale_up_gigabytes_per_second", 1.0, "GB/s"),
    Field("peak_fp16_TFLOPS", "fp16_teraflops", 1.0, "TFLOP/s"),
    Field("peak_i8_TFLOPS", "int8_teraops", 1.0, "TOP/s"),
    Field("peak_i4_TFLOPS", "int4_teraops", 1.0, "TOP/s"),
    Field(_NIC, "nic_gigabits_per_second", 8.0, "GB/s"),
)


def read(sheet: Sheet) -> Reading:
    """Read one part: rates, memory, scale-up and network bandwidth, each held against its own name and unit."""
    reading = Reading()
    document = read_json(sheet.content, reading)
    if not document:
        return reading
    name = at(document, "name")
    if not isinstance(name, str) or not name.strip():
        reading.report("subject.missing", "The file names no part.", place="name", severity="error")
        return reading
    for field in _FIELDS:
        fact = fact_at(document, field, name, reading)
        if fact is None:
            continue
        if fact.value == 0:
            _report_zero(field, reading)
            continue
        reading.facts.append(replace(fact, defect=_defect(fact, reading)))
    report_unread_fields(document, ("name", *(field.path for field in _FIELDS)), reading)
    return reading


def _defect(fact: Fact, reading: Reading) -> str | None:
    figure = number(fact.printed)
    if figure is None:
        return None
    if fact.locator == _NIC:
        return suspicions.bits_in_byte_field(figure, _NIC, reading)
    if fact.locator == _MEMORY:
        return suspicions.capacity_against_name(fact.subject, figure, _MEMORY, reading)
    return None


def _report_zero(field: Field, reading: Reading) -> None:
    reading.report(
        "value.zero_for_none",
        f"{field.path} is 0, which no part has: the rate is not supported or not known.",
        place=field.path,
        severity="info",
        expected="a rate, or nothing",
        found="0",
    )
