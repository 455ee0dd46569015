from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from pipelines.modelling import calibration, intervals
from pipelines.scoring import rcp


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 15, 29, 30])
def test_quantiles_are_those_of_student(freedom: int) -> None:
    quantile = pl.select(intervals.t_quantile(pl.lit(freedom))).item()
    assert quantile == pytest.approx(rcp.t_quantile(0.975, freedom), abs=1e-4)


def test_quantiles_beyond_the_table_and_below_it() -> None:
    assert pl.select(intervals.t_quantile(pl.lit(500))).item() == pytest.approx(1.96)
    assert pl.select(intervals.t_quantile(pl.lit(0))).item() is None


def _half_width(errors: list[float | None]) -> float | None:
    frame = pl.DataFrame({"error": errors}, schema={"error": pl.Float64})
    return frame.select(intervals.half_width_percent(pl.col("error"))).item()


def test_half_width_joins_spread_and_noise() -> None:
    assert _half_width([3.0, -3.0, 3.0]) == pytest.approx(np.hypot(3.1824 * 3, 5))
    assert _half_width([0.0] * 4) == pytest.approx(5.0)


def test_a_bias_widens_the_interval_as_much_as_scatter() -> None:
    assert _half_width([2.0] * 5) == pytest.approx(_half_width([2.0, -2.0, 2.0, -2.0, 2.0]))


def test_too_few_errors_give_no_interval() -> None:
    assert _half_width([1.0, -1.0]) is None
    assert _half_width([1.0, -1.0, None]) is None
    assert _half_width([]) is None


@pytest.mark.parametrize(("scatter", "least"), [(0.01, 0.99), (0.04, 0.93), (0.10, 0.90)])
def test_nested_intervals_cover_what_they_claim(scatter: float, least: float) -> None:
    """Families of six with scatter in the step time: how often the interval holds the step that was held out."""
    rng = np.random.default_rng(20250604)
    slots = np.array([112.875, 112.875, 48.875, 48.875, 40.875, 32.875])
    families = 400
    noise = rng.normal(0, scatter, (families, len(slots)))
    members = pl.DataFrame(
        {
            "family": np.repeat([f"f{place:03}" for place in range(families)], len(slots)),
            "member": [f"{family}-{place}" for family in range(families) for place in range(len(slots))],
            "pipeline_slots": np.tile(slots, families),
            "step_seconds": ((0.168 * slots + 0.27) * (1 + noise)).ravel(),
        }
    ).with_columns(
        data_parallel=pl.lit(8),
        eval_seconds=pl.lit(None, dtype=pl.Float64),
        remainder_seconds=pl.lit(None, dtype=pl.Float64),
    )
    predicted = pl.col("micro_batch_seconds") * pl.col("pipeline_slots") + pl.col("fixed_seconds")
    error = calibration.percent_error(predicted, pl.col("step_seconds"))
    measured = members.select("member", "pipeline_slots", "step_seconds")
    widths = (
        calibration.hold_out_pairs(members.lazy())
        .collect()
        .join(measured, left_on="tested", right_on="member")
        .group_by("member")
        .agg(half_width=intervals.half_width_percent(error))
    )
    held_out = calibration.hold_out_each(members.lazy()).collect().join(measured, on="member").join(widths, on="member")
    covered = held_out.select((error.abs() <= pl.col("half_width")).mean()).item()
    assert covered >= least


def test_intervals_of_one_step_time_cover_what_they_claim() -> None:
    """Families of eight results of one size and layout, whose steps scatter by 4 %."""
    rng = np.random.default_rng(20251112)
    families, size = 400, 8
    members = pl.DataFrame(
        {
            "family": np.repeat([f"f{place:03}" for place in range(families)], size),
            "member": [f"{place}" for place in range(families * size)],
            "step_seconds": 1.5 * (1 + rng.normal(0, 0.04, families * size)),
        }
    ).with_columns(
        pipeline_slots=pl.lit(1.0),
        data_parallel=pl.lit(8),
        eval_seconds=pl.lit(None, dtype=pl.Float64),
        remainder_seconds=pl.lit(None, dtype=pl.Float64),
    )
    error = calibration.percent_error(
        calibration.calibrated_step_seconds(pl.col("pipeline_slots")), pl.col("step_seconds")
    )
    measured = members.select("member", "pipeline_slots", "step_seconds")
    widths = (
        calibration.hold_out_pairs(members.lazy())
        .collect()
        .join(measured, left_on="tested", right_on="member")
        .group_by("member")
        .agg(half_width=intervals.half_width_percent(error))
    )
    held_out = calibration.hold_out_each(members.lazy()).collect().join(measured, on="member").join(widths, on="member")
    covered = held_out.select((error.abs() <= pl.col("half_width")).mean()).item()
    assert 0.94 <= covered <= 0.999
