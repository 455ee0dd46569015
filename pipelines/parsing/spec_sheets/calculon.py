"""System files of the Calculon model: one JSON a system, rates by engine and precision, memories, networks.

The subject stands in the file's name only. Host memory and efficiency curves are not carried.
"""

from __future__ import annotations

from dataclasses import replace
from posixpath import basename, splitext
from typing import Any

from pipelines.parsing.spec_sheets import suspicions
from pipelines.parsing.spec_sheets.cells import number
from pipelines.parsing.spec_sheets.documents import Field, at, fact_at, read_json, report_unread_fields
from pipelines.parsing.spec_sheets.sheet import Form, Reading, Sheet

_PRECISIONS = {"float8": "fp8_teraflops", "float16": "fp16_teraflops", "float32": "fp32_teraflops"}
_ENGINES = {"matrix": Form(engine="tensor"), "vector": Form(engine="vector")}

_CAPACITY = Field("mem1.GiB", "memory_bytes", 2.0**30, "GiB", Form(prefix="binary"))

_FIELDS = (
    *(
        Field(f"{engine}.{precision}.tflops", quantity, 1.0, "TFLOP/s", form)
        for engine, form in _ENGINES.items()
        for precision, quantity in _PRECISIONS.items()
    ),
    _CAPACITY,
    Field("mem1.GBps", "memory_bandwidth_gigabytes_per_second", 1.0, "GB/s"),
)


def read(sheet: Sheet) -> Reading:
    """Read one system file: matrix and vector rates, memory, the smallest network as scale-up, the largest as NIC."""
    reading = Reading()
    document = read_json(sheet.content, reading)
    subject = splitext(basename(sheet.path))[0]
    fields = (*_FIELDS, *_network_fields(document))
    for field in fields:
        fact = fact_at(document, field, subject, reading)
        if fact is None:
            continue
        gib = number(fact.printed) if field is _CAPACITY else None
        defect = suspicions.bytes_in_gib_field(gib, field.path, reading) if gib is not None else None
        reading.facts.append(replace(fact, defect=defect))
    report_unread_fields(document, (field.path for field in fields), reading)
    return reading


def _network_fields(document: dict[str, Any]) -> list[Field]:
    networks = at(document, "networks")
    sizes = {
        place: size
        for place, network in enumerate(networks if isinstance(networks, list) else [])
        if (size := number(at(network, "size"))) is not None
    }
    if not sizes:
        return []
    inner = min(sizes, key=lambda place: sizes[place])
    outer = max(sizes, key=lambda place: sizes[place])
    fields = [
        Field(f"networks.{inner}.bandwidth", "scale_up_gigabytes_per_second", 1.0, "GB/s"),
        Field(f"networks.{inner}.size", "scale_up_domain_accelerators"),
    ]
    if outer != inner:
        fields.append(Field(f"networks.{outer}.bandwidth", "nic_gigabits_per_second", 8.0, "GB/s"))
    return fields
