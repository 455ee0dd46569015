"""Memory and links of a description against the facts on its part, and where wrong words were copied from."""

from __future__ import annotations

import polars as pl
import pytest

from pipelines.parsing.spec_sheets.registry import Registry, read_registry
from pipelines.reconciling.descriptions import audit_descriptions, description_findings
from pipelines.reconciling.links import judge_links, link_generation
from pipelines.schemas import core
from pipelines.schemas.audits_mart import DescriptionAudit
from pipelines.sources.registry import registry_files

MIB = 2**20


@pytest.fixture(scope="module")
def registry() -> Registry:
    return read_registry(registry_files())


def link(registry: Registry, subject: str | None, text: str, rate: float | None, scope: str | None = None) -> str:
    stated = pl.DataFrame(
        {"subject": [subject], "link_text": [text], "link_gigabytes_per_second": [rate], "link_scope": [scope]},
        schema={
            "subject": pl.String,
            "link_text": pl.String,
            "link_gigabytes_per_second": pl.Float64,
            "link_scope": pl.String,
        },
    )
    judged = judge_links(stated, registry.facts, registry.subject_frame, registry.containments)
    assert judged.height == 1
    return str(judged["link_verdict"][0])


@pytest.mark.parametrize(
    ("subject", "text", "rate", "scope", "verdict"),
    [
        ("GB200 (per GPU)", "NVLINK Gen5 1800 GB/s + NVSWITCH Gen5", 1800.0, "accelerator", "agrees"),
        ("GB200 (per GPU)", "NVLink 5, 900 GB/s", 900.0, None, "agrees"),
        ("H200-SXM-141GB", "18x 4th Gen NVLink, 900GB/s", 900.0, "accelerator", "agrees"),
        ("H100-SXM5-80GB", "18xNVLink 25GB/s", 25.0, "link", "agrees"),
        ("GB200 (per GPU)", "NVLINK Gen4 900 GB/s + NVSWITCH Gen3", 900.0, "accelerator", "another_generation"),
        ("H200-SXM-141GB", "NVLINK Gen5", None, None, "another_generation"),
        ("L40S", "18x 4th Gen NVLink, 900GB/s", 900.0, "accelerator", "contradicted"),
        ("H100-SXM5-80GB", "NVLink, 1800 GB/s", 1800.0, "accelerator", "contradicted"),
        ("B200-SXM-180GB", "NVLink", None, None, "not_stated"),
        ("RTX A5000", "NVLink 3", None, None, "no_facts"),
        (None, "NVLINK Gen5 1800 GB/s", 1800.0, "accelerator", "no_facts"),
    ],
)
def test_a_link_is_held_against_the_part(
    registry: Registry, subject: str | None, text: str, rate: float | None, scope: str | None, verdict: str
) -> None:
    assert link(registry, subject, text, rate, scope) == verdict


@pytest.mark.parametrize(
    ("text", "generation"),
    [
        ("NVLINK Gen5 1800 GB/s", 5),
        ("NVLink 4", 4),
        ("NVLink-v3", 3),
        ("18x 5th Gen NVLink, 14.4 TB/s", 5),
        ("5th-gen NVLink and NVLink Switches", 5),
        ("NVLink", None),
        ("18xNVLink 25GB/s", None),
        ("XGMI", None),
    ],
)
def test_the_generation_in_a_text(text: str, generation: int | None) -> None:
    assert pl.select(link_generation(pl.lit(text))).item() == generation


def system(
    name: str, part: str, memory: str, memory_bytes: int, text: str, rate: float, **other: object
) -> dict[str, object]:
    return {
        "round": "training-v9.0",
        "submitter_folder": "Someone",
        "system": name,
        "accelerator": part,
        "accelerators_per_node": 8,
        "accelerator_memory_text": memory,
        "accelerator_memory_bytes": memory_bytes,
        "accelerator_interconnect_text": text,
        "scale_up_gigabytes_per_second": rate,
        "scale_up_rate_scope": "accelerator",
        "source_path": f"Someone/systems/{name}.json",
        "source_sha256": "0",
        **other,
    }


def audit(registry: Registry, *systems: dict[str, object]) -> pl.DataFrame:
    frame = pl.DataFrame(list(systems), schema=core.Systems.create_empty().schema)
    audited = audit_descriptions(frame, registry.facts, registry.subject_frame, registry.containments)
    return DescriptionAudit.validate(audited)


H200_TEXT, H200_MEMORY = "NVLINK Gen4 900 GB/s + NVSWITCH Gen3", "143771 MiB"


def test_a_description_copied_from_another_system_names_that_system(registry: Registry) -> None:
    frame = audit(
        registry,
        system("gb200", "GB200 (per GPU)", H200_MEMORY, 143_771 * MIB, H200_TEXT, 900.0),
        system("h200", "H200-SXM-141GB", H200_MEMORY, 143_771 * MIB, H200_TEXT, 900.0),
        system("h200b", "H200-SXM-141GB", H200_MEMORY, 143_771 * MIB, H200_TEXT, 900.0, submitter_folder="Another"),
    )
    wrong = frame.filter(system="gb200").row(0, named=True)
    assert (wrong["memory_verdict"], wrong["link_verdict"]) == ("another_part", "another_generation")
    assert wrong["same_text_as"] == "Someone/h200"
    assert wrong["explanation"] == (
        "The memory told is 150.8 GB where GB200 (per GPU) has 198.7 GB, and another part has just that. "
        "The link named is NVLink 4, that of the part is NVLink 5. "
        "The same words stand in the description of Someone/h200, which has H200-SXM-141GB."
    )
    assert frame.filter(pl.col("system") != "gb200")["explanation"].to_list() == [None, None]
    (finding,) = description_findings(frame).to_dicts()
    assert finding["kind"] == "description.memory_and_link_not_of_part"
    assert finding["severity"] == "warning"
    assert finding["expected"] == "198.7 GB; NVLink 5, 900 GB/s per direction"
    assert finding["found"] == "143771 MiB; NVLINK Gen4 900 GB/s + NVSWITCH Gen3"


GB200_TEXT, GB200_MEMORY = "NVLINK Gen5 1800 GB/s + NVSWITCH Gen5", "189471 MiB"


@pytest.mark.parametrize(
    ("memory", "text", "others", "source"),
    [
        # the link alone is wrong, and one description of the submitter has these words
        (GB200_MEMORY, H200_TEXT, {"link": ("141 GB", H200_TEXT)}, "Someone/link"),
        # the memory alone
        (H200_MEMORY, GB200_TEXT, {"memory": (H200_MEMORY, "18x 4th Gen NVLink, 900GB/s")}, "Someone/memory"),
        # what is right here is no sign of copying, whoever else says it
        (GB200_MEMORY, H200_TEXT, {"other": (H200_MEMORY, "18x 4th Gen NVLink, 900GB/s")}, None),
        # of two descriptions the one that says the same of both
        (H200_MEMORY, H200_TEXT, {"a": ("141 GB", H200_TEXT), "b": (H200_MEMORY, H200_TEXT)}, "Someone/b"),
        # the submitter's own goes before one that says the same of both
        (H200_MEMORY, H200_TEXT, {"own": ("141 GB", H200_TEXT), "Another/x": (H200_MEMORY, H200_TEXT)}, "Someone/own"),
    ],
)
def test_where_wrong_words_were_copied_from(
    memory: str, text: str, others: dict[str, tuple[str, str]], source: str | None, registry: Registry
) -> None:
    sizes = {GB200_MEMORY: 189_471 * MIB, H200_MEMORY: 143_771 * MIB, "141 GB": 141 * 10**9}
    rate = 900.0 if text == H200_TEXT else 1800.0
    systems = [system("wrong", "GB200 (per GPU)", memory, sizes[memory], text, rate)]
    for name, (its_memory, its_text) in others.items():
        folder, _, own_name = name.rpartition("/")
        its = system(own_name, "H200-SXM-141GB", its_memory, sizes[its_memory], its_text, 900.0)
        systems.append(its | ({"submitter_folder": folder} if folder else {}))
    wrong = audit(registry, *systems).filter(system="wrong").row(0, named=True)
    assert wrong["same_text_as"] == source


def test_a_description_that_is_wrong_itself_is_no_source(registry: Registry) -> None:
    frame = audit(
        registry,
        system("gb200", "GB200 (per GPU)", H200_MEMORY, 143_771 * MIB, H200_TEXT, 900.0),
        system("l40s", "L40S", H200_MEMORY, 143_771 * MIB, H200_TEXT, 900.0),
        system("gb200b", "GB200 (per GPU)", H200_MEMORY, 143_771 * MIB, H200_TEXT, 900.0),
    )
    assert frame["same_text_as"].to_list() == [None, None, None]


def test_an_aggregate_is_shared_by_the_accelerators_of_a_node(registry: Registry) -> None:
    text = "18x 5th Gen NVLink, 14.4 TB/s aggregated bandwidth"
    of = {"scale_up_rate_scope": "aggregate"}
    memory, size = "183359 MiB", 183_359 * MIB
    frame = audit(
        registry,
        system("eight", "B200-SXM-180GB", memory, size, text, 14_400.0, **of),
        system("one", "B200-SXM-180GB", memory, size, text, 14_400.0, **of, accelerators_per_node=1),
        system("none", "B200-SXM-180GB", memory, size, text, 14_400.0, **of, accelerators_per_node=0),
    )
    told = dict(frame.select("system", "link_verdict").iter_rows())
    assert told == {"eight": "agrees", "one": "contradicted", "none": "agrees"}
    assert "told as 14400 GB/s" in frame.filter(system="one")["explanation"][0]


def test_host_memory_in_the_field_of_the_accelerator(registry: Registry) -> None:
    size = 204_800 * MIB
    frame = audit(registry, system("a", "H100-SXM5-80GB", "204800 MiB", size, H200_TEXT, 900.0, host_memory_bytes=size))
    assert frame["memory_verdict"].to_list() == ["host_memory"]
    assert description_findings(frame)["kind"].to_list() == ["description.memory_not_of_part"]


def test_no_systems(registry: Registry) -> None:
    assert audit(registry).is_empty()
    assert description_findings(audit(registry)).is_empty()
