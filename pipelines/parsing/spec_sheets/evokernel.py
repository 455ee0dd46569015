"""Hardware files of evokernel-spec: one YAML a part, each figure with a reference to the evidence behind it.

A file can be named after a rack and hold the figures of one accelerator; bandwidth fields are called gbps whether they
hold bytes or bits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pipelines.parsing.spec_sheets.cells import as_printed, is_missing, number
from pipelines.parsing.spec_sheets.documents import Field, at, fact_at, read_yaml, report_unread_fields
from pipelines.parsing.spec_sheets.sheet import Fact, Form, Reading, Sheet

_COMPUTE = {
    "fp4_tflops": "fp4_teraflops",
    "fp8_tflops": "fp8_teraflops",
    "bf16_tflops": "bf16_teraflops",
    "fp16_tflops": "fp16_teraflops",
    "tf32_tflops": "tf32_teraflops",
    "fp32_tflops": "fp32_teraflops",
    "int8_tops": "int8_teraops",
}
_EVIDENCED = (
    *(Field(f"compute.{name}", quantity, 1.0, "TFLOP/s") for name, quantity in _COMPUTE.items()),
    Field("memory.capacity_gb", "memory_bytes", 1e9, "GB"),
    Field("memory.bandwidth_gbps", "memory_bandwidth_gigabytes_per_second", 1.0, "gbps"),
    Field("power.tdp_w", "power_watts", 1.0, "W"),
    Field("power.sustained_w", "power_watts", 1.0, "W", Form(variant="sustained")),
)
_PLAIN = (
    Field("release_year", "release_year"),
    Field("scale_up.bandwidth_gbps", "scale_up_gigabytes_per_second", 1.0, "gbps"),
    Field("scale_up.world_size", "scale_up_domain_accelerators"),
    Field("scale_out.bandwidth_gbps_per_card", "nic_gigabits_per_second", 1.0, "gbps"),
)
_WORDS = {"memory.type": "memory_type", "scale_up.protocol": "scale_up_name"}
_HIERARCHY = "architecture.memory_hierarchy"

BYTE_FIELDS = ("memory.bandwidth_gbps", "scale_up.bandwidth_gbps")
"""Fields called gbps that hold gigabytes: no memory and no NVLink is as slow as they would be in bits."""


def read(sheet: Sheet) -> Reading:
    """Read one part: rates, memory, scale-up, network, power, each figure with the address of its evidence."""
    reading = Reading()
    document = read_yaml(sheet.content, reading)
    if not document:
        return reading
    subject = at(document, "id")
    if not isinstance(subject, str) or not subject.strip():
        reading.report("subject.missing", "The file has no id.", place="id", severity="error")
        return reading
    _report_rack_name(document, reading)
    evidence = _evidence(document)
    read_paths = ["id", *_WORDS]
    for field in (*_EVIDENCED, *_PLAIN, *_hierarchy_fields(document)):
        valued = replace(field, path=f"{field.path}.value") if isinstance(at(document, field.path), dict) else field
        fact = fact_at(document, valued, subject, reading)
        read_paths += [valued.path, f"{field.path}.evidence_ref"]
        if fact is not None:
            cited = _cited(document, field.path, evidence, reading)
            reading.facts.append(replace(fact, cited_address=cited, defect=_defect(fact, document, reading)))
    reading.facts += _words(document, subject)
    report_unread_fields(document, read_paths, reading)
    return reading


def _words(document: dict[str, Any], subject: str) -> list[Fact]:
    return [
        Fact(subject=subject, quantity=quantity, printed=words, locator=path, words=words)
        for path, quantity in _WORDS.items()
        if isinstance(words := at(document, path), str) and not is_missing(words)
    ]


def _hierarchy_fields(document: dict[str, Any]) -> list[Field]:
    """Return the fields of the device memory in the list of memories, where one is listed."""
    levels = at(document, _HIERARCHY)
    fields = []
    for place, level in enumerate(levels if isinstance(levels, list) else []):
        if "HBM" in str(at(level, "name")):
            path = f"{_HIERARCHY}.{place}"
            fields += [
                Field(f"{path}.size_mb", "memory_bytes", 1e6, "MB"),
                Field(f"{path}.bandwidth_tbs", "memory_bandwidth_gigabytes_per_second", 1e3, "TB/s"),
            ]
    return fields


def _evidence(document: dict[str, Any]) -> dict[str, str]:
    listed = at(document, "evidence")
    return {
        str(at(entry, "id")): str(at(entry, "url"))
        for entry in (listed if isinstance(listed, list) else [])
        if at(entry, "url") is not None
    }


def _cited(document: dict[str, Any], path: str, evidence: dict[str, str], reading: Reading) -> str | None:
    reference = at(document, f"{path}.evidence_ref")
    if reference is None:
        return None
    if str(reference) not in evidence:
        reading.report(
            "evidence.missing",
            f"{path} refers to evidence {reference}, which the file does not list.",
            place=path,
            expected="an entry under evidence",
            found=str(reference),
        )
    return evidence.get(str(reference))


def _report_rack_name(document: dict[str, Any], reading: Reading) -> None:
    if at(document, "form_factor") != "nvl":
        return
    reading.report(
        "subject.rack_name_for_one_accelerator",
        f"{at(document, 'name')} is the name of a rack; the figures are of one accelerator.",
        place="name",
        expected="the name of the accelerator",
        found=str(at(document, "name")),
    )


def _defect(fact: Fact, document: dict[str, Any], reading: Reading) -> str | None:
    path = fact.locator.removesuffix(".value")
    if path in BYTE_FIELDS:
        _report_gbps(path, fact, reading)
    if path.endswith(".size_mb"):
        return _mixed_prefix(path, fact, number(at(document, "memory.capacity_gb.value")), reading)
    return None


def _report_gbps(path: str, fact: Fact, reading: Reading) -> None:
    reading.report(
        "unit.bytes_called_gbps",
        f"{path} is called gbps and holds gigabytes a second; scale_out calls gigabits so.",
        place=path,
        expected="a name that tells bytes from bits",
        found=fact.printed,
    )


def _mixed_prefix(path: str, fact: Fact, gigabytes: float | None, reading: Reading) -> str | None:
    megabytes = number(fact.printed)
    if megabytes is None or gigabytes is None or megabytes != 1024 * gigabytes:
        return None
    return reading.report(
        "capacity.mixed_prefix",
        f"{path} is 1,024 times memory.capacity_gb, so one of them counts in powers of two.",
        place=path,
        expected=f"{as_printed(1000 * gigabytes)} MB for {as_printed(gigabytes)} GB",
        found=fact.printed,
    )
