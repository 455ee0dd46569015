"""Levels of scale with their power, and the power of results."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pipelines.reconciling.scales import levels_of_scale, powers
from pipelines.schemas import core, mart
from pipelines.schemas.facts_mart import Accelerators, Platforms, ResolvedFacts
from pipelines.schemas.modelling_mart import Levels, Power
from tests.unit.reconciling.world import frame_of

PLATFORMS = [
    {
        "platform": "GB200 NVL72",
        "accelerator": "GB200 (per GPU)",
        "accelerator_count": 72,
        "rack_count": 1.0,
        "power_kilowatts": 126.0,
    },
    {"platform": "DGX H100", "accelerator": "H100", "accelerator_count": 8, "power_kilowatts": 10.2},
]
DRAWN = [
    {"subject": "GB200 NVL72", "metric": "power_kilowatts", "value": 126.0, "value_low": 120.0, "value_high": 132.0},
    {"subject": "DGX H100", "metric": "power_kilowatts", "value": 10.2},
]
PARTS = [{"accelerator": "L40S", "power_watts": 350.0}, {"accelerator": "T4"}]


def power_of(accelerator: str, count: int, description: dict[str, Any] | None = None, **result: Any) -> dict[str, Any]:
    keys = {"round": "r", "submitter_folder": "f", "system": "s"}
    results = frame_of(
        mart.Results,
        [
            keys
            | {"result_id": "r/f/s/b", "accelerator": accelerator, "accelerator_count": count}
            | {"score_minutes": 30.0, "raw_minutes": 26.99}
            | result
        ],
    )
    systems = frame_of(core.Systems, [keys | (description or {})])
    table = powers(
        results,
        systems,
        frame_of(Accelerators, PARTS),
        frame_of(Platforms, PLATFORMS),
        frame_of(ResolvedFacts, DRAWN),
    )
    return Power.validate(table).row(0, named=True)


RACK = {"rack_product": "GB200 NVL72", "slots_per_rack": 72}


@pytest.mark.parametrize(
    ("accelerator", "count", "description", "basis", "low", "high", "level"),
    [
        ("GB200 (per GPU)", 2496, RACK | {"racks_stated": 39}, "rack", 4680, 5148, "row"),
        ("GB200 (per GPU)", 144, RACK, "rack", 240, 264, "pod"),
        ("GB200 (per GPU)", 36, RACK, "rack", 60, 66, "rack"),
        ("H100", 32, {}, "node", 40.8, 40.8, "rack"),
        ("L40S", 8, {}, "part", 2.8, 2.8, "rack"),
        ("T4", 8, {}, None, None, None, None),
    ],
)
def test_power_of_racks_nodes_and_parts(
    accelerator: str,
    count: int,
    description: dict[str, Any],
    basis: str | None,
    low: float | None,
    high: float | None,
    level: str | None,
) -> None:
    told = power_of(accelerator, count, description)
    found = [told[name] for name in ("computer_kilowatts_low", "computer_kilowatts_high")]
    assert found == [None if value is None else pytest.approx(value) for value in (low, high)]
    assert (told["power_basis"], told["level"]) == (basis, level)
    assert (told["no_power_reason"] is None) == (basis is not None)


def test_energy_is_bounded_and_beside_what_was_measured() -> None:
    told = power_of("GB200 (per GPU)", 2496, RACK | {"racks_stated": 39}, energy_joules=3.6e9)
    assert told["energy_bound_megawatt_hours"] == pytest.approx(2.3157, abs=1e-4)
    assert told["energy_measured_megawatt_hours"] == 1.0
    assert told["facility_kilowatts_low"] == pytest.approx(4680 * 1.1)
    assert told["facility_kilowatts_high"] == pytest.approx(5148 * 1.5)


def test_exercises_change_what_they_say() -> None:
    levels = Levels.validate(levels_of_scale(frame_of(Platforms, PLATFORMS)))
    first = levels.filter(pl.col("scenario").str.starts_with("exercise 1")).row(0, named=True)
    assert (first["by_time"], first["level"]) == (2701, "cluster (16k)")
    second = levels.filter(pl.col("scenario").str.starts_with("exercise 2")).sort("place")
    assert second["by_memory"].to_list() == [1, 7, 45, 22, 25, 353]
    third = levels.filter(pl.col("scenario").str.starts_with("exercise 3")).sort("scenario", "place")
    assert third["memory_gigabytes"].to_list() == pytest.approx([946.165879, 1487.331759] * 2, abs=1e-6)
    assert third["by_memory"].to_list() == [4, 7, 14, 22]
    assert levels["kilowatts"].to_list() == pytest.approx((levels["needed"] * 126 / 72).to_list())
