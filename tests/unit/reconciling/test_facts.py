from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.reconciling.facts import FactTables, explain_figures, reconcile_facts
from pipelines.schemas.facts_core import SpecFacts
from pipelines.schemas.facts_mart import Accelerators, FactConflicts, Platforms, ResolvedFacts
from pipelines.schemas.spec_metrics import QUANTITIES, metric_name

SUBJECTS = pl.DataFrame(
    {
        "subject": ["Part", "Sister", "Nameless", "Rack", "Pod"],
        "subject_kind": ["accelerator", "accelerator", "accelerator", "platform", "platform"],
        "vendor": ["Maker"] * 5,
    }
)
CONTAINMENTS = pl.DataFrame({"outer": ["Pod"], "inner": ["Rack"], "count": [8.0], "source": ["vendor-page"]})


def row(quantity: str, value: float | None, **said: Any) -> dict[str, Any]:
    """Return a fact by the vendor, dense and per direction unless told otherwise."""
    given = {"subject": "Part", "source": "vendor-page", "publisher_kind": "vendor", "basis": "published", **said}
    given.setdefault("subject_kind", "platform" if given["subject"] in ("Rack", "Pod") else "accelerator")
    form = {name: given.get(name) for name in ("density", "engine", "direction")}
    return {
        "quantity": quantity,
        "value": value,
        "metric": metric_name(quantity, **form),
        "locator": f"{quantity} {value} {given.get('variant')} {form}",
        "subject_text": given["subject"],
        "unit": QUANTITIES[quantity].unit,
        "printed": str(value if value is not None else given.get("words")),
        "publisher": "somebody",
        "confidence": "medium",
        "source_address": "https://example.org",
        **given,
    }


def other(quantity: str, value: float | None, **said: Any) -> dict[str, Any]:
    """Return a fact by a third party that says nothing of its form."""
    return row(quantity, value, **{"source": "blog", "publisher_kind": "third_party", **said})


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=SpecFacts.create_empty().schema, orient="row")


def reconciled(*rows: dict[str, Any]) -> FactTables:
    return reconcile_facts(frame(*rows), SUBJECTS, CONTAINMENTS)


def value(tables: FactTables, metric: str, subject: str = "Part") -> dict[str, Any]:
    is_it = (pl.col("metric") == metric) & (pl.col("subject") == subject)
    return tables.resolved.row(by_predicate=is_it, named=True)


def explanation(*rows: dict[str, Any]) -> tuple[str, float]:
    """Return what explains the one conflict among these facts, and its ratio."""
    conflicts = reconciled(*rows).conflicts
    assert conflicts.height == 1, conflicts.select("metric", "source", "value", "explained_by")
    return conflicts["explained_by"][0], round(conflicts["ratio"][0], 4)


DENSE = row("bf16_teraflops", 989.4, density="dense", engine="tensor")
SPARSE = row("bf16_teraflops", 1979.0, density="sparse", engine="tensor")
BOTH = row("scale_up_gigabytes_per_second", 1800.0, direction="both_directions")


# Resolution


def test_the_vendor_is_taken_before_a_third_party() -> None:
    found = value(reconciled(row("power_watts", 700.0), other("power_watts", 650.0, confidence="high")), "power_watts")
    assert (found["value"], found["source"], found["conflict_count"]) == (700.0, "vendor-page", 1)
    assert found["rule"] == "stated in this form, by the vendor"
    assert found["disagreeing"] == "650 (blog, unexplained)"


def test_a_stated_form_is_taken_before_one_left_open_whoever_states_it() -> None:
    tables = reconciled(row("bf16_teraflops", 1979.0), other("bf16_teraflops", 989.4, density="dense", engine="tensor"))
    assert value(tables, "bf16_dense_teraflops")["value"] == 989.4


def test_both_directions_are_halved_and_the_rule_says_so() -> None:
    found = value(reconciled(BOTH), "scale_up_gigabytes_per_second_per_direction")
    assert found["value"] == 900.0
    assert found["rule"] == "half of what is stated for both directions, by the vendor"


def test_sparse_vector_die_raw_and_variant_are_never_taken() -> None:
    tables = reconciled(
        SPARSE,
        row("fp16_teraflops", 134.0, engine="vector"),
        row("memory_bandwidth_gigabytes_per_second", 4000.0, scope="die"),
        row("power_watts", 1000.0, variant="liquid cooled"),
    )
    assert tables.resolved.height == 0
    part = tables.accelerators.row(by_predicate=pl.col("accelerator") == "Part", named=True)
    assert (part["bf16_dense_teraflops"], part["power_watts"], part["fact_count"]) == (None, None, 4)


def test_memory_is_usable_before_named_and_raw_only_where_nothing_else_is() -> None:
    named, usable = row("memory_bytes", 80e9), other("memory_bytes", 85.5e9, capacity_basis="usable", basis="measured")
    raw = row("memory_bytes", 96e9, capacity_basis="raw")
    for facts, expected in (((named, usable, raw), "usable"), ((named, raw), None), ((raw,), "raw")):
        part = reconciled(*facts).accelerators.row(by_predicate=pl.col("accelerator") == "Part", named=True)
        assert part["memory_bytes_basis"] == expected


def test_a_fact_with_a_defect_is_never_taken_and_still_explained() -> None:
    tables = reconciled(
        other("nic_gigabits_per_second", 400.0),
        row("nic_gigabits_per_second", 3200.0, defect="network.bits_in_byte_field"),
    )
    assert value(tables, "nic_gigabits_per_second")["value"] == 400.0
    assert tables.conflicts["explained_by"].to_list() == ["bits_for_bytes"]


def test_a_range_gives_its_middle_but_not_for_counts() -> None:
    tables = reconciled(
        row("power_kilowatts", None, value_low=120.0, value_high=132.0, subject="Rack"),
        row("accelerators_per_rack", None, value_low=16.0, value_high=32.0, subject="Rack"),
    )
    rack = tables.platforms.row(by_predicate=pl.col("platform") == "Rack", named=True)
    assert rack["power_kilowatts"] == 126.0
    assert rack["accelerators_per_rack"] is None
    low_and_high = value(tables, "accelerators_per_rack", "Rack")
    assert (low_and_high["value_low"], low_and_high["value_high"]) == (16.0, 32.0)


def test_between_equals_more_agreeing_sources_win_and_a_source_counts_once() -> None:
    tables = reconciled(
        other("power_watts", 500.0, source="a", locator="1"),
        other("power_watts", 500.0, source="a", locator="2"),
        other("power_watts", 600.0, source="b"),
        other("power_watts", 601.0, source="c"),
    )
    found = value(tables, "power_watts")
    assert (found["value"], found["agreeing_count"]) == (600.0, 1)


def test_of_two_open_rates_the_one_that_looks_like_the_vector_engine_s_is_not_taken() -> None:
    tables = reconciled(
        other("fp32_teraflops", 38.7, source="a"),
        other("fp16_teraflops", 38.7, source="a"),
        other("fp16_teraflops", 154.8, source="b"),
    )
    assert value(tables, "fp16_dense_teraflops")["value"] == 154.8
    assert tables.conflicts["explained_by"].to_list() == ["vector_for_tensor"]


def test_a_part_known_by_name_only_has_null_figures() -> None:
    part = reconciled(DENSE).accelerators.row(by_predicate=pl.col("accelerator") == "Nameless", named=True)
    assert part["fact_count"] == 0
    figures = [name for name in part if name not in ("accelerator", "vendor") and not name.endswith("_count")]
    assert all(part[name] is None for name in figures)


def test_the_tables_keep_their_schemas() -> None:
    tables = reconciled(DENSE, SPARSE, BOTH, other("bf16_teraflops", 1979.0), row("memory_type", None, words="HBM3"))
    assert ResolvedFacts.is_valid(tables.resolved)
    assert FactConflicts.is_valid(tables.conflicts)
    assert Accelerators.is_valid(tables.accelerators)
    assert Platforms.is_valid(tables.platforms)
    assert value(tables, "memory_type")["words"] == "HBM3"


def test_no_facts_give_empty_tables() -> None:
    tables = reconciled()
    assert (tables.resolved.height, tables.conflicts.height, tables.accelerators.height) == (0, 0, 3)


# What explains a disagreement


def test_sparse_told_as_dense_is_explained_by_the_fact_that_states_the_sparse_rate() -> None:
    conflicts = reconciled(DENSE, SPARSE, other("bf16_teraflops", 1979.0)).conflicts
    assert conflicts["explained_by"].to_list() == ["density"]
    assert conflicts["evidence"].to_list() == ["stated as sparse: 1979, vendor-page"]
    assert conflicts["metric"].to_list() == ["bf16_dense_teraflops"]


def test_not_every_sparse_rate_is_twice_the_dense_one() -> None:
    dense = row("fp4_teraflops", 15000.0, density="dense", engine="tensor")
    sparse = row("fp4_teraflops", 20000.0, density="sparse", engine="tensor")
    assert explanation(dense, sparse, other("fp4_teraflops", 20000.0)) == ("density", 1.3333)
    assert explanation(dense, sparse, other("fp4_teraflops", 30000.0)) == ("unexplained", 2.0)


def test_a_density_of_four() -> None:
    dense = row("bf16_teraflops", 667.0, density="dense", engine="tensor")
    sparse = row("bf16_teraflops", 2563.0, density="sparse", engine="tensor")
    assert explanation(dense, sparse, other("bf16_teraflops", 2563.0)) == ("density", 3.8426)


def test_twice_the_rate_of_a_part_without_structured_sparsity_is_not_density() -> None:
    assert explanation(DENSE, other("bf16_teraflops", 1978.8)) == ("density", 2.0)
    without = row("structured_sparsity", None, words="none")
    assert explanation(DENSE, without, other("bf16_teraflops", 1978.8)) == ("unexplained", 2.0)


def test_the_vector_rate_is_1_2_or_4_times_fp32_of_the_same_source() -> None:
    tensor = row("fp16_teraflops", 125.0, density="dense", engine="tensor")
    facts = (tensor, other("fp32_teraflops", 15.0), row("fp32_teraflops", 15.7, engine="vector", source="a"))
    conflicts = reconciled(*facts, other("fp16_teraflops", 30.0)).conflicts
    half = conflicts.filter(pl.col("quantity") == "fp16_teraflops")
    assert half["explained_by"].to_list() == ["vector_for_tensor"]
    assert half["evidence"].to_list() == ["2 x the FP32 vector rate 15, blog"]


def test_a_ratio_near_four_alone_is_the_vector_rate_with_weaker_evidence() -> None:
    conflicts = reconciled(DENSE, other("bf16_teraflops", 241.3)).conflicts
    assert conflicts["explained_by"].to_list() == ["vector_for_tensor"]
    assert conflicts["evidence"].to_list() == ["ratio of 4 alone: the usual one of matrix to vector rate"]


def test_tf32_in_a_column_for_fp32() -> None:
    single = row("fp32_teraflops", 91.6, engine="vector")
    tf32 = row("tf32_teraflops", 183.0, density="dense", engine="tensor")
    assert explanation(single, tf32, other("fp32_teraflops", 183.0)) == ("other_precision", 1.9978)


def test_tf32_in_a_column_for_bf16() -> None:
    tf32 = row("tf32_teraflops", 494.7, density="dense", engine="tensor")
    assert explanation(DENSE, tf32, other("bf16_teraflops", 494.7)) == ("other_precision", 0.5)


def test_both_directions_told_without_saying_so() -> None:
    assert explanation(BOTH, other("scale_up_gigabytes_per_second", 1800.0)) == ("direction", 2.0)


def test_the_memory_of_a_die() -> None:
    dies = row("die_count", 2.0)
    assert explanation(row("memory_bytes", 180e9), dies, other("memory_bytes", 90e9)) == ("dies", 0.5)


def test_gigabytes_for_gibibytes() -> None:
    gib = row("memory_bytes", 192 * 2.0**30, prefix="binary")
    assert explanation(gib, other("memory_bytes", 192e9)) == ("binary_prefix", 0.9313)


def test_bits_for_bytes_and_bytes_for_bits() -> None:
    nic = row("nic_gigabits_per_second", 800.0)
    assert explanation(nic, other("nic_gigabits_per_second", 6400.0)) == ("bits_for_bytes", 8.0)
    assert explanation(nic, other("nic_gigabits_per_second", 100.0)) == ("bytes_for_bits", 0.125)


def test_the_figure_of_the_pod_on_a_rack() -> None:
    rack = row("scale_up_aggregate_terabytes_per_second", 130.0, direction="both_directions", subject="Rack")
    pod = row("scale_up_aggregate_terabytes_per_second", 1040.0, direction="both_directions", subject="Pod")
    told = other("scale_up_aggregate_terabytes_per_second", 1000.0, subject="Rack")
    assert explanation(rack, pod, told) == ("pod_for_rack", 15.3846)
    of_rack = other("fast_memory_total_bytes", 240e12, subject="Rack")
    own = row("fast_memory_total_bytes", 30.2e12, subject="Rack")
    of_pod = row("fast_memory_total_bytes", 240e12, subject="Pod")
    assert explanation(own, of_pod, of_rack) == ("pod_for_rack", 7.947)


def test_a_known_variant() -> None:
    usual, variant = row("memory_bytes", 32e9), row("memory_bytes", 16e9, variant="16 GB")
    assert explanation(usual, variant, other("memory_bytes", 16e9)) == ("variant", 0.5)


def test_the_figure_of_a_sister_part() -> None:
    sister = row("bf16_teraflops", 2250.0, density="dense", engine="tensor", subject="Sister")
    own = row("bf16_teraflops", 2500.0, density="dense", engine="tensor")
    assert explanation(own, sister, other("bf16_teraflops", 2250.0)) == ("another_part", 0.9)


def test_a_rounded_figure() -> None:
    assert explanation(DENSE, other("bf16_teraflops", 1000.0)) == ("rounding", 1.0107)


def test_a_thousandfold() -> None:
    assert explanation(DENSE, other("bf16_teraflops", 0.989)) == ("thousandfold", 0.001)


def test_what_nothing_explains_says_so() -> None:
    conflicts = reconciled(row("power_watts", 355.0), other("power_watts", 335.0)).conflicts
    assert conflicts["explained_by"].to_list() == ["unexplained"]
    assert conflicts["expected_value"].to_list() == [None]
    assert conflicts["explanation"].to_list() == [
        "blog states 335 W against 355 W by vendor-page: a ratio of 0.9437. No known reading gives the figure."
    ]


def test_bytes_are_told_in_gigabytes() -> None:
    driver = row("memory_bytes", 40960 * 2**20, capacity_basis="usable")
    (told,) = reconciled(driver, other("memory_bytes", 40e9)).conflicts["explanation"]
    assert told.startswith("blog states 40 GB against 42.9497 GB by vendor-page: a ratio of 0.9313.")


def test_figures_within_one_percent_and_within_a_range_agree() -> None:
    spread = other("power_watts", None, value_low=650.0, value_high=750.0)
    assert reconciled(row("power_watts", 700.0), other("power_watts", 695.0), spread).conflicts.height == 0


# Figures that somebody states


def test_a_rate_per_link_that_is_the_accelerator_s() -> None:
    facts = frame(BOTH, row("scale_up_link_count", 18.0))
    claim = other("scale_up_gigabytes_per_second", 900.0, scope="link", direction="both_directions")
    told = explain_figures(frame(claim), facts, SUBJECTS, CONTAINMENTS)
    assert told["explained_by"].to_list() == ["scope"]
    assert told["resolved_value"].to_list() == [50.0]


def test_a_figure_that_agrees_or_has_no_facts_gives_no_row() -> None:
    claims = frame(other("bf16_teraflops", 990.0), other("power_watts", 700.0))
    assert explain_figures(claims, frame(DENSE), SUBJECTS, CONTAINMENTS).height == 0


@pytest.mark.parametrize(
    ("factor", "explained_by"),
    [
        (2.0, "direction"),
        (0.5, "direction"),
        (8.0, "bits_for_bytes"),
        (0.125, "bytes_for_bits"),
        (1000.0, "thousandfold"),
    ],
)
@settings(max_examples=10, deadline=None)
@given(rate=st.floats(min_value=10.0, max_value=5000.0))
def test_a_known_factor_explains_whatever_the_figure(factor: float, explained_by: str, rate: float) -> None:
    facts = frame(row("scale_up_gigabytes_per_second", rate, direction="per_direction"))
    claim = frame(other("scale_up_gigabytes_per_second", rate * factor))
    told = explain_figures(claim, facts, SUBJECTS, CONTAINMENTS)
    expected = {
        2.0: "direction",
        0.5: "direction",
        8.0: "bits_for_bytes",
        0.125: "bytes_for_bits",
        1000.0: "thousandfold",
    }
    assert told["explained_by"].to_list() == [expected[factor]]
    assert told["ratio"][0] == pytest.approx(factor)


@settings(max_examples=10, deadline=None)
@given(st.permutations([DENSE, SPARSE, BOTH, other("bf16_teraflops", 1979.0), other("bf16_teraflops", 1000.0)]))
def test_the_order_of_the_facts_changes_nothing(rows: list[dict[str, Any]]) -> None:
    tables, expected = reconciled(*rows), reconciled(*sorted(rows, key=str))
    assert tables.resolved.equals(expected.resolved)
    assert tables.conflicts.equals(expected.conflicts)
