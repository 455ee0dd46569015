from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from pipelines.parsing.names import known_parts
from pipelines.parsing.spec_sheets.registry import Registry, read_registry
from pipelines.schemas.facts_core import SpecFacts
from pipelines.schemas.spec_metrics import QUANTITIES
from pipelines.sources.registry import registry_files


@pytest.fixture(scope="module")
def registry() -> Registry:
    return read_registry(registry_files())


def test_every_row_of_the_embedded_registry_is_read(registry: Registry) -> None:
    assert registry.findings.height == 0
    assert registry.facts.height == registry_files().facts.count(b"\n") - 1
    _, failure = SpecFacts.filter(registry.facts)
    assert failure.counts() == {}


def test_every_fact_has_a_source_with_an_address(registry: Registry) -> None:
    assert registry.facts.filter(pl.col("source_address").str.len_chars() < 4).height == 0
    assert registry.facts["publisher_kind"].null_count() == 0


def test_every_part_that_results_name_is_a_subject(registry: Registry) -> None:
    assert set(known_parts()) <= set(registry.subjects.known)
    names_only = registry.subject_frame.join(registry.facts, on="subject", how="anti")
    assert {"A10G", "Arc 140T", "RTX PRO 6000 Blackwell Server"} <= set(names_only["subject"])


@pytest.mark.parametrize(
    ("subject", "quantity", "value"),
    [
        ("Gaudi (first generation)", "memory_bytes", 32e9),
        ("Gaudi (first generation)", "power_watts", 300.0),
        ("IPU GC200", "fp16_teraflops", 250.0),
        ("Bow IPU", "fp16_teraflops", 350.0),
    ],
)
def test_parts_of_the_oldest_rounds_have_facts(registry: Registry, subject: str, quantity: str, value: float) -> None:
    facts = registry.facts.filter(subject=subject, quantity=quantity)
    assert facts["value"].to_list() == [value]


def test_the_memory_of_an_ipu_is_no_one_figure(registry: Registry) -> None:
    # 0.9 GB in the processor and up to 256 GB of streaming memory beside four of them.
    assert registry.facts.filter(pl.col("subject").str.contains("IPU"), quantity="memory_bytes").height == 0


def test_numbers_stand_in_the_unit_of_their_quantity(registry: Registry) -> None:
    words = registry.facts.filter(pl.col("words").is_not_null())
    assert all(QUANTITIES[quantity].family == "words" for quantity in words["quantity"])
    numbers = registry.facts.filter(pl.col("words").is_null())
    assert all(QUANTITIES[quantity].family != "words" for quantity in numbers["quantity"])


def test_a_processor_is_named_and_not_counted(registry: Registry) -> None:
    named = registry.facts.filter(quantity="processor")
    assert named.filter(subject="DGX H100")["words"].to_list() == ["Xeon 8480C"]
    assert named.filter(subject="DGX H100")["printed"].to_list() == ["2 Xeon 8480C"]
    assert named.filter(pl.col("words").str.contains(r"^\d+( |$)"))["subject"].to_list() == []
    counted = registry.facts.filter(quantity="processor_count", subject="GB200 NVL72")
    assert counted["value"].to_list() == [36.0]


def test_half_of_both_directions_is_one_direction(registry: Registry) -> None:
    plain = registry.facts.filter(
        pl.col("quantity") == "scale_up_gigabytes_per_second", pl.col("variant").is_null(), pl.col("scope").is_null()
    ).filter(pl.col("defect").is_null(), pl.col("publisher_kind") == "vendor")
    both = plain.filter(pl.col("direction") == "both_directions").select("subject", "source", both="value")
    one = plain.filter(pl.col("direction") == "per_direction").select("subject", "source", one="value")
    pairs = both.join(one, on=["subject", "source"]).filter(pl.col("both") != 2 * pl.col("one"))
    assert set(pairs["subject"]) <= {"Instinct MI350X"}, "AMD prints about 1,075 beside 7 x 153"


def test_rows_that_name_what_is_not_listed_are_left_out_and_told() -> None:
    files = registry_files()
    header, row = files.facts.split(b"\n")[:2]
    wrong = [row.replace(b"V100-SXM2-32GB", b"V1000"), row.replace(b"nvidia-v100-datasheet", b"hearsay")]
    wrong.append(row.replace(b"release_year", b"colour"))
    registry = read_registry(replace(files, facts=b"\n".join([header, row, *wrong])))
    assert registry.facts.height == 1
    assert registry.findings["kind"].sort().to_list() == [
        "registry.unknown_quantity",
        "registry.unknown_source",
        "registry.unknown_subject",
    ]


def test_no_text_of_a_cell_runs_to_a_paragraph(registry: Registry) -> None:
    assert registry.facts["note"].str.len_chars().max() <= 100
