from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.reconciling.racks import audit_racks
from pipelines.schemas.core import Launches, Systems
from pipelines.schemas.mart import RackAudit


def systems(*rows: dict[str, Any]) -> pl.DataFrame:
    base = {
        "round": "training-v5.0",
        "submitter_folder": "Acme",
        "accelerators_per_node": 4,
        "rack_product": "GB200 NVL72",
        "slots_per_rack": 72,
        "source_path": "Acme/systems/x.json",
        "source_sha256": "0",
    }
    filled = [base | {"system": f"s{place}"} | row for place, row in enumerate(rows)]
    return pl.DataFrame(
        [{name: row.get(name) for name in Systems.column_names()} for row in filled],
        schema=Systems.create_empty().schema,
    )


def launches(**row: Any) -> pl.DataFrame:
    base = {
        "round": "training-v5.0",
        "submitter_folder": "Acme",
        "system": "s0",
        "benchmark": "llama31_405b",
        "batch_check": "confirmed",
    } | row
    return pl.DataFrame(
        [{name: base.get(name) for name in Launches.column_names()}], schema=Launches.create_empty().schema
    )


NO_LAUNCHES = Launches.create_empty()


def audited(count: int | None, stated: int | None, launch: pl.DataFrame = NO_LAUNCHES, **more: Any) -> dict[str, Any]:
    frame = audit_racks(systems({"accelerator_count": count, "racks_stated": stated} | more), launch)
    RackAudit.validate(frame)
    return frame.row(0, named=True)


@pytest.mark.parametrize(
    ("count", "stated", "verdict", "active"),
    [
        (144, 2, "whole", 72),
        (2496, 39, "explained", 64),
        (5120, 80, "explained", 64),
        (1152, 18, "explained", 64),
        (72, 2, "explained", 36),
        (64, 1, "part_rack", 64),
        (8, 1, "part_rack", 8),
        (2496, 34, "contradicted", None),
        (2496, 0, "contradicted", None),
        (100, 3, "contradicted", None),
        (6, 1, "contradicted", None),
        (8, 3, "contradicted", None),
        (72, None, "whole", 72),
        (36, None, "part_rack", 36),
        (2496, None, "explained", 64),
        (1152, None, "ambiguous", None),
        (100, None, "not_stated", None),
        (None, None, "not_stated", None),
        (None, 4, "not_stated", None),
        (0, None, "not_stated", None),
    ],
)
def test_verdicts(count: int | None, stated: int | None, verdict: str, active: int | None) -> None:
    row = audited(count, stated)
    assert (row["verdict"], row["active_per_rack"]) == (verdict, active)
    assert row["explanation"].endswith(".")


def test_a_replica_and_spare_trays_both_explain_64() -> None:
    row = audited(2496, 39, launches(tensor_parallel=4, context_parallel=2, pipeline_parallel=8))
    assert row["active_explained_by"] == "replica_or_spare_trays"
    assert row["explanation"].startswith("2496 = 39 x 64: 64 of 72 slots in use in each of 39 stated racks")
    assert "one model replica of 64 and also 16 of 18 trays, so why it is 64 is ambiguous" in row["explanation"]
    assert (row["remainder_by_slots"], row["racks_least"], row["idle_slots"]) == (48, 35, 312)
    assert row["fill_fraction"] == pytest.approx(0.8889, abs=1e-4)


def test_stated_racks_decide_although_the_count_divides() -> None:
    row = audited(1152, 18)
    assert row["remainder_by_slots"] == 0
    assert row["active_explained_by"] == "spare_trays"
    assert "although 16 full racks would hold as many" in row["explanation"]


def test_two_readings_of_an_unstated_count_are_both_told() -> None:
    assert (
        audited(1152, None)["explanation"]
        == "1152 divides by 64 and 72 per rack, and no rack count is stated to decide."
    )


def test_a_replica_can_explain_what_spare_trays_do_not() -> None:
    row = audited(240, 5, launches(tensor_parallel=8, context_parallel=1, pipeline_parallel=6))
    assert (row["verdict"], row["active_per_rack"], row["active_explained_by"]) == ("explained", 48, "replica")
    assert audited(240, 5)["active_explained_by"] == "not_explained"


def test_several_replicas_share_a_rack() -> None:
    row = audited(512, 8, launches(tensor_parallel=2, context_parallel=2, pipeline_parallel=8))
    assert "64 is 2 model replicas of 32" in row["explanation"]
    assert row["replica_accelerator_count"] == 32


def test_a_launch_that_its_log_contradicts_explains_nothing() -> None:
    wrong = launches(tensor_parallel=4, context_parallel=2, pipeline_parallel=8, batch_check="contradicted")
    row = audited(2496, 39, wrong)
    assert row["replica_accelerator_count"] is None
    assert row["active_explained_by"] == "spare_trays"


def test_racks_that_hold_too_few_are_said_to() -> None:
    row = audited(2496, 34)
    assert row["explanation"] == "34 stated racks hold 2448 accelerators, not 2496."
    assert row["idle_slots"] is None


def test_only_rack_scale_systems_are_audited() -> None:
    frame = systems({"accelerator_count": 64, "rack_product": None, "slots_per_rack": None}, {"accelerator_count": 64})
    assert audit_racks(frame, NO_LAUNCHES)["system"].to_list() == ["s1"]


def test_an_unknown_tray_is_no_reason_to_fail() -> None:
    row = audited(2496, 39, accelerators_per_node=None)
    assert (row["verdict"], row["active_per_rack"]) == ("explained", 64)


@given(
    st.one_of(st.none(), st.integers(0, 20_000)),
    st.one_of(st.none(), st.integers(0, 400)),
    st.one_of(st.none(), st.integers(0, 8)),
    st.integers(1, 200),
)
def test_any_description_gets_a_verdict_that_its_figures_bear_out(
    count: int | None, stated: int | None, tray: int | None, replica: int
) -> None:
    launch = launches(tensor_parallel=replica, context_parallel=1, pipeline_parallel=1)
    row = audited(count, stated, launch, accelerators_per_node=tray)
    active, verdict = row["active_per_rack"], row["verdict"]
    if active is not None and count:
        assert count % active == 0
        assert active <= row["slots_per_rack"]
    if verdict == "whole" and count:
        assert count % row["slots_per_rack"] == 0
    if verdict in ("explained", "whole") and stated:
        assert active * stated == count
    if stated and count and count > stated * row["slots_per_rack"]:
        assert verdict == "contradicted"
