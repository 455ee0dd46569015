from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from pipelines.modelling import breakdown, step_time


def test_parts_of_a_run_are_its_steps(make_runs: Callable[..., pl.DataFrame]) -> None:
    run = make_runs(step_count=260)
    ideal, bubble, fixed = run.select(
        a=breakdown.ideal_seconds(), b=breakdown.bubble_seconds(), c=breakdown.fixed_seconds()
    ).row(0)
    assert (ideal, bubble, fixed) == pytest.approx((260 * 32 * 0.16836173, 260 * 0.875 * 0.16836173, 260 * 0.27115095))
    step = run.select(step_time.step_seconds(step_time.pipeline_slots())).item()
    assert ideal + bubble + fixed == pytest.approx(260 * step)


@pytest.mark.parametrize(
    ("values", "name"),
    [((1.0, 3.0, 2.0), "fixed"), ((None, None, 2.0), "rcp"), ((None, None, None), None), ((2.0, 2.0, 1.0), "bubble")],
)
def test_the_largest_part_is_named(values: tuple[float | None, ...], name: str | None) -> None:
    names = ["bubble_seconds", "fixed_seconds", "rcp_seconds"]
    row = pl.DataFrame([dict(zip(names, values, strict=True))], schema=dict.fromkeys(names, pl.Float64))
    assert row.select(breakdown.largest_part(names)).item() == name
