"""Power of racks, runs and levels."""

from __future__ import annotations

import polars as pl
import pytest

from pipelines.modelling.power import (
    POWER_LEVELS,
    accelerators_kilowatts,
    binding_level,
    energy_bound_megawatt_hours,
    facility_kilowatts,
    level_by_power,
    racks_kilowatts,
)


def value(expression: pl.Expr) -> float:
    return float(pl.select(expression).item())


@pytest.mark.parametrize(
    ("racks", "kilowatts", "megawatts"),
    [(39, 120, 4.68), (39, 132, 5.148), (156, 40.8, 6.3648), (184, 40.8, 7.5072), (8, 132, 1.056)],
)
def test_racks(racks: int, kilowatts: float, megawatts: float) -> None:
    assert value(racks_kilowatts(pl.lit(racks), pl.lit(kilowatts))) / 1_000 == pytest.approx(megawatts)


@pytest.mark.parametrize(("per_unit", "unit", "expected"), [(10.2, 8, 40.8), (120, 72, 53.33), (559, 384, 46.58)])
def test_thirty_two_accelerators(per_unit: float, unit: int, expected: float) -> None:
    assert value(accelerators_kilowatts(pl.lit(32), pl.lit(per_unit), pl.lit(unit))) == pytest.approx(
        expected, abs=0.01
    )


@pytest.mark.parametrize(("rack", "megawatts"), [(120, 166.7), (200, 277.8)])
def test_a_hundred_thousand(rack: float, megawatts: float) -> None:
    assert value(accelerators_kilowatts(pl.lit(100_000), pl.lit(rack), pl.lit(72))) / 1_000 == pytest.approx(
        megawatts, abs=0.1
    )


def test_energy_is_an_upper_bound() -> None:
    drawn = racks_kilowatts(pl.lit(39), pl.lit(132.0))
    assert value(energy_bound_megawatt_hours(drawn, pl.lit(26.99))) == pytest.approx(2.3157, abs=1e-4)


def test_facility() -> None:
    assert value(facility_kilowatts(pl.lit(1_000.0), pl.lit(1.2), pl.lit(50.0))) == pytest.approx(1_250)


def test_levels() -> None:
    frame = pl.DataFrame({"kw": [132.0, 250.0, 1_056.0, 5_148.0, 166_667.0, 277_778.0, None]})
    levels = frame.select(level=level_by_power(pl.col("kw")))["level"].to_list()
    assert levels == ["rack", "pod", "pod", "row", "cluster", "campus", None]


def test_which_tier_binds() -> None:
    frame = pl.DataFrame({"a": ["rack", "cluster", "pod"], "p": ["pod", "row", "pod"]})
    bound = frame.select(by=binding_level(pl.col("a"), pl.col("p"), POWER_LEVELS))["by"].to_list()
    assert bound == ["power", "accelerators", "both"]
