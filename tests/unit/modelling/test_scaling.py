from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.modelling import scaling


def pair(**columns: float) -> pl.DataFrame:
    usual = {
        "accelerator_count_base": 512,
        "accelerator_count": 2496,
        "score_minutes_base": 121.093,
        "score_minutes": 27.3347,
        "raw_minutes_base": 104.947,
        "raw_minutes": 26.990,
        "global_batch_size_base": 896,
        "global_batch_size": 1248,
        "step_seconds_base": 19.278,
        "step_seconds": 5.8225,
    }
    return pl.DataFrame([usual | columns])


def test_the_same_pair_on_three_bases() -> None:
    told = pair().select(
        raw=scaling.time_efficiency("raw_minutes"),
        score=scaling.time_efficiency("score_minutes"),
        throughput=scaling.throughput_efficiency("step_seconds"),
    )
    assert told.row(0) == pytest.approx((0.7976, 0.9087, 0.9460), abs=6e-5)


@given(st.floats(1.1, 100), st.floats(1, 500), st.floats(0.2, 1.5))
def test_a_power_law_goes_through_its_two_runs(ratio: float, minutes: float, exponent: float) -> None:
    told = pair(accelerator_count=512 * ratio, score_minutes_base=minutes, score_minutes=minutes / ratio**exponent)
    found, at_base, at_larger = told.select(
        scaling.power_law_exponent(),
        base=scaling.accelerators_by_power_law(pl.col("score_minutes_base")),
        larger=scaling.accelerators_by_power_law(pl.col("score_minutes")),
    ).row(0)
    assert found == pytest.approx(exponent)
    assert (at_base, at_larger) == pytest.approx((512, 512 * ratio))


def test_h100_by_power_law() -> None:
    told = pair(
        accelerator_count_base=2560, accelerator_count=8192, score_minutes_base=57.5431, score_minutes=20.8069
    ).select(scaling.power_law_exponent(), n=scaling.accelerators_by_power_law(pl.lit(27.334656)))
    assert told.row(0) == pytest.approx((0.8746, 5996), abs=0.6)


@given(st.integers(1, 100))
def test_linear_scaling_has_efficiency_one(ratio: int) -> None:
    told = pair(accelerator_count=512 * ratio, raw_minutes=104.947 / ratio).select(
        scaling.time_efficiency("raw_minutes")
    )
    assert told.item() == pytest.approx(1)
