from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.modelling import calibration

SIZES = [(4, 112), (8, 112), (16, 48), (24, 48), (32, 40), (39, 32)]


def members(
    points: list[tuple[int, float]],
    steps: list[float],
    *,
    evals: list[float | None] | None = None,
    family: str = "f",
) -> pl.DataFrame:
    """Make members of a family whose replicas take 64 accelerators, from (DP, micro-batches) and step times."""
    replicas, micro_batches = [dp for dp, _ in points], [m for _, m in points]
    return pl.DataFrame(
        {
            "family": family,
            "member": [f"{family}{place}" for place in range(len(points))],
            "pipeline_slots": [m + 7 / 8 for m in micro_batches],
            "step_seconds": steps,
            "data_parallel": replicas,
            "accelerator_count": [dp * 64 for dp in replicas],
            "global_batch_size": [round(dp * m) for dp, m in points],
            "eval_seconds": evals or [3.5 + 335 / dp for dp in replicas],
            "remainder_seconds": [6.0 + place for place in range(len(points))],
        },
        schema_overrides={"step_seconds": pl.Float64, "eval_seconds": pl.Float64},
    )


def exact(a: float, b: float, points: list[tuple[int, float]] = SIZES) -> list[float]:
    return [a * (m + 7 / 8) + b for _, m in points]


def fitted(frame: pl.DataFrame) -> dict[str, Any]:
    return calibration.fit(frame.lazy()).collect().row(0, named=True)


def weighted_least_squares(slots: np.ndarray, steps: np.ndarray) -> np.ndarray:
    columns = np.column_stack([slots / steps, 1 / steps])
    return np.linalg.lstsq(columns, np.ones(len(steps)), rcond=None)[0]


@given(st.floats(0.01, 2), st.floats(0, 2))
def test_exact_steps_give_back_their_parameters(a: float, b: float) -> None:
    fit = fitted(members(SIZES, exact(a, b)))
    assert fit["micro_batch_seconds"] == pytest.approx(a, rel=1e-6)
    assert fit["fixed_seconds"] == pytest.approx(b, abs=1e-5 * a)
    assert fit["in_sample_mape_percent"] == pytest.approx(0, abs=1e-6)
    assert fit["leave_one_out_mape_percent"] == pytest.approx(0, abs=1e-5)
    assert (fit["eval_base_seconds"], fit["eval_per_replica_seconds"]) == pytest.approx((3.5, 335))
    assert fit["other_seconds"] == 8.5


@st.composite
def noisy(draw: st.DrawFn) -> list[float]:
    return [step * draw(st.floats(0.9, 1.1)) for step in exact(0.168, 0.27)]


@given(noisy())
def test_fit_and_held_out_fits_are_those_of_numpy(steps: list[float]) -> None:
    frame = members(SIZES, steps)
    slots, measured = frame["pipeline_slots"].to_numpy(), frame["step_seconds"].to_numpy()
    fit = fitted(frame)
    assert (fit["micro_batch_seconds"], fit["fixed_seconds"]) == pytest.approx(
        tuple(weighted_least_squares(slots, measured)), rel=1e-6, abs=1e-9
    )
    errors = []
    held_out = calibration.hold_out_each(frame.lazy()).collect().sort("member")
    for place, row in enumerate(held_out.iter_rows(named=True)):
        keep = np.arange(len(steps)) != place
        a, b = weighted_least_squares(slots[keep], measured[keep])
        assert (row["micro_batch_seconds"], row["fixed_seconds"]) == pytest.approx((a, b), rel=1e-6, abs=1e-9)
        assert row["fitted_count"] == len(steps) - 1
        errors.append(abs((a * slots[place] + b) / measured[place] - 1) * 100)
    assert fit["leave_one_out_mape_percent"] == pytest.approx(np.mean(errors), rel=1e-5)
    assert fit["leave_one_out_worst_percent"] == pytest.approx(max(errors), rel=1e-5)


@given(noisy(), st.integers(0, 5), st.floats(0.5, 2), st.floats(0.5, 2), st.floats(0.5, 2))
def test_a_fit_that_left_a_member_out_does_not_know_it(
    steps: list[float], place: int, step_factor: float, eval_factor: float, rest_factor: float
) -> None:
    frame = members(SIZES, steps)
    is_it = pl.col("member") == f"f{place}"
    changed = frame.with_columns(
        pl.when(is_it).then(pl.col(name) * factor).otherwise(name).alias(name)
        for name, factor in (
            ("step_seconds", step_factor),
            ("eval_seconds", eval_factor),
            ("remainder_seconds", rest_factor),
        )
    )
    before, after = (
        calibration.hold_out_each(rows.lazy()).filter(is_it).select(calibration.PARAMETERS).collect()
        for rows in (frame, changed)
    )
    known = [name for name in calibration.PARAMETERS if not name.startswith("even_")]
    assert after.select(known).row(0) == pytest.approx(before.select(known).row(0), rel=1e-6)
    assert after["even_step_seconds"].to_list() == before["even_step_seconds"].to_list() == [None]


def test_pairs_leave_both_out() -> None:
    steps = [step * factor for step, factor in zip(exact(0.168, 0.27), [1, 1.01, 0.99, 1.02, 1, 0.98], strict=True)]
    frame = members(SIZES, steps)
    pairs = calibration.hold_out_pairs(frame.lazy()).collect()
    assert pairs.height == 6 * 5
    pair = pairs.filter(member="f1", tested="f4").row(0, named=True)
    alone = fitted(frame.filter(~pl.col("member").is_in(["f1", "f4"])))
    assert pair["micro_batch_seconds"] == pytest.approx(alone["micro_batch_seconds"])
    assert pair["eval_base_seconds"] == pytest.approx(alone["eval_base_seconds"])
    assert pair["fitted_count"] == 4


def test_two_members_have_parameters_and_no_error() -> None:
    """Two points are met exactly; an error of 0 would be a lie."""
    fit = fitted(members(SIZES[3:5], exact(0.34, 0.4, SIZES[3:5])))
    assert fit["n"] == 2
    assert fit["micro_batch_seconds"] == pytest.approx(0.34)
    assert fit["in_sample_mape_percent"] is None
    assert fit["leave_one_out_mape_percent"] is None
    assert fit["leave_one_out_worst_percent"] is None
    assert fit["largest_held_out_error_percent"] is None
    assert fit["linear_baseline_error_percent"] is not None


def test_one_member_has_no_parameters() -> None:
    fit = fitted(members(SIZES[:1], [19.2]))
    assert [fit[name] for name in calibration.PARAMETERS[:4]] == [None] * 4
    assert fit["linear_baseline_error_percent"] is None


def test_members_of_one_pipeline_length_tell_their_step_alone() -> None:
    """a and b cannot be told apart, but a step of as many micro-batches is known, and how far it is off."""
    steps = [27.645, 27.977, 27.8]
    frame = members([(4, 144), (7, 144), (9, 144)], steps)
    fit = fitted(frame)
    assert (fit["micro_batch_seconds"], fit["fixed_seconds"]) == (None, None)
    assert fit["even_slots"] == pytest.approx(144.875)
    assert fit["even_step_seconds"] == pytest.approx(sum(1 / y for y in steps) / sum(1 / y**2 for y in steps))
    others = [sum(1 / y for y in rest) / sum(1 / y**2 for y in rest) for rest in (steps[1:], steps[::2], steps[:2])]
    errors = [abs(other / y - 1) * 100 for other, y in zip(others, steps, strict=True)]
    assert fit["leave_one_out_mape_percent"] == pytest.approx(np.mean(errors))
    assert fit["largest_held_out_error_percent"] == pytest.approx((others[2] / steps[2] - 1) * 100)


@pytest.mark.parametrize(("slots", "expected"), [(144.875, 27.8), (144.876, None), (72.875, None)])
def test_one_step_time_holds_for_its_number_of_slots_alone(slots: float, expected: float | None) -> None:
    fit = calibration.fit(members([(4, 144), (7, 144)], [27.8, 27.8]).lazy()).collect()
    step = fit.select(calibration.calibrated_step_seconds(pl.lit(slots))).item()
    assert step == (None if expected is None else pytest.approx(expected))


def test_evaluations_of_one_number_of_replicas_are_all_work_to_share() -> None:
    fit = fitted(members([(8, 1), (8, 1), (8, 1)], [1.5, 1.51, 1.52], evals=[12.0, 14.0, None]))
    assert (fit["eval_base_seconds"], fit["eval_per_replica_seconds"]) == (0.0, pytest.approx(13.0 * 8))


def test_leave_one_out_needs_every_member_to_be_held_out() -> None:
    """Without the one of another length the rest are alike, so the mean over the others would hide it."""
    points = [(4, 112), (8, 112), (16, 48)]
    fit = fitted(members(points, exact(0.17, 0.3, points)))
    assert fit["micro_batch_seconds"] == pytest.approx(0.17)
    assert fit["leave_one_out_mape_percent"] is None
    assert fit["leave_one_out_worst_percent"] is None


def test_largest_size_is_held_out_whole() -> None:
    points = [(4, 112), (16, 48), (32, 40), (32, 32)]
    steps = exact(0.17, 0.3, points[:2]) + [step * 1.02 for step in exact(0.17, 0.3, points[2:])]
    fit = fitted(members(points, steps))
    assert fit["largest_held_out_error_percent"] == pytest.approx((1 / 1.02 - 1) * 100)


def test_linear_baseline_keeps_the_throughput_of_the_smallest_size() -> None:
    fit = fitted(members([(4, 112), (8, 56)], [20.0, 12.0]))
    assert fit["linear_baseline_error_percent"] == pytest.approx((10.0 / 12.0 - 1) * 100)


def test_families_do_not_pool() -> None:
    both = pl.concat([members(SIZES, exact(0.17, 0.3)), members(SIZES, exact(0.11, 0.2), family="g")])
    fits = calibration.fit(both.lazy()).collect()
    assert fits["family"].to_list() == ["f", "g"]
    assert fits["micro_batch_seconds"].to_list() == pytest.approx([0.17, 0.11])


def test_logs_without_evaluation_times_stay_out_of_that_fit_only() -> None:
    evals: list[float | None] = [None, *(3.5 + 335 / dp for dp, _ in SIZES[1:])]
    fit = fitted(members(SIZES, exact(0.17, 0.3), evals=evals))
    assert (fit["eval_base_seconds"], fit["eval_per_replica_seconds"]) == pytest.approx((3.5, 335))
    nothing = fitted(members(SIZES, exact(0.17, 0.3)).with_columns(eval_seconds=pl.lit(None, dtype=pl.Float64)))
    assert nothing["eval_base_seconds"] is None
    assert nothing["micro_batch_seconds"] == pytest.approx(0.17)


def test_weights_are_relative() -> None:
    """A one per cent miss counts the same on a long step and on a short one."""
    points = [(4, 112), (39, 32)] * 2
    steps = exact(0.168, 0.27, points)
    frame = members(points, [steps[0] * 1.01, steps[1] * 1.01, steps[2] * 0.99, steps[3] * 0.99])
    fit = fitted(frame)
    errors = frame.with_columns(
        error=(fit["micro_batch_seconds"] * pl.col("pipeline_slots") + fit["fixed_seconds"]) / pl.col("step_seconds")
    )["error"]
    assert errors[0] == pytest.approx(errors[1])
    assert errors[2] == pytest.approx(errors[3])


def test_no_members_give_no_families() -> None:
    empty = members(SIZES, exact(0.17, 0.3)).clear()
    assert calibration.fit(empty.lazy()).collect().is_empty()
    assert calibration.hold_out_pairs(empty.lazy()).collect().is_empty()
