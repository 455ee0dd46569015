from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from pipelines.modelling import transfer

PEAKS = [8.0, 4.0, 2.0, 1.0]


def runs(efficiency: dict[str, float], fixed: float = 0.5, pool: str = "p") -> pl.DataFrame:
    rows = [
        (pool, part, f"{part}{place}", peak, peak / share + fixed)
        for part, share in efficiency.items()
        for place, peak in enumerate(PEAKS)
    ]
    columns = ["pool", "part", "result_id", "peak_seconds", "step_seconds"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def test_parts_of_one_efficiency_predict_each_other() -> None:
    frame = runs({"a": 0.4, "b": 0.4, "c": 0.4})
    pool = transfer.fit_pools(frame.lazy()).collect().row(0, named=True)
    assert (pool["efficiency"], pool["fixed_seconds"]) == pytest.approx((0.4, 0.5))
    assert (pool["run_count"], pool["part_count"]) == (12, 3)
    others = transfer.leave_each_part_out(frame.lazy()).collect()
    assert others["efficiency"].to_list() == pytest.approx([0.4] * 3)
    assert others["run_count"].to_list() == [8] * 3


def test_a_step_is_its_work_over_the_efficiency_and_what_is_fixed() -> None:
    known = pl.DataFrame({"peak_seconds": [2.0], "efficiency": [0.4], "fixed_seconds": [0.5]})
    assert known.select(transfer.transferred_step_seconds()).item() == 5.5


def test_the_headline_step_at_peak(make_runs: Callable[..., pl.DataFrame]) -> None:
    """32 micro-batches and 7 / 8 of a bubble, each 2.06762e16 FLOPs on 64 accelerators of 5 PFLOPS."""
    run = make_runs(replica_accelerator_count=64, peak_tflops=5_000.0)
    one = 2.06762e16 / (64 * 5e15)
    assert run.select(transfer.peak_seconds()).item() == pytest.approx(one * (32 + 7 / 8), rel=1e-5)


def test_a_part_left_out_is_not_known() -> None:
    slow, fast = runs({"a": 0.4, "b": 0.4, "c": 0.1}), runs({"a": 0.4, "b": 0.4, "c": 0.9})
    found = [
        transfer.leave_each_part_out(frame.lazy()).filter(pl.col("part") == "c").collect().row(0, named=True)
        for frame in (slow, fast)
    ]
    assert found[0]["efficiency"] == pytest.approx(found[1]["efficiency"])
    assert found[0]["efficiency"] == pytest.approx(0.4)
    missed = slow.filter(part="c").with_columns(efficiency=found[0]["efficiency"], fixed_seconds=0.5)
    errors = missed.select(transfer.transferred_step_seconds() / pl.col("step_seconds") - 1).to_series()
    assert (errors < -0.6).all(), "the honest error of a part unlike the others"


def test_left_out_fits_are_those_of_numpy() -> None:
    frame = runs({"a": 0.4, "b": 0.3, "c": 0.5})
    rest = frame.filter(pl.col("part") != "b")
    u, y = rest["peak_seconds"].to_numpy(), rest["step_seconds"].to_numpy()
    slope, fixed = np.linalg.lstsq(np.column_stack([u / y, 1 / y]), np.ones(len(y)), rcond=None)[0]
    found = transfer.leave_each_part_out(frame.lazy()).filter(pl.col("part") == "b").collect().row(0, named=True)
    assert (found["efficiency"], found["fixed_seconds"]) == pytest.approx((1 / slope, fixed))


def test_pools_are_apart_and_a_single_part_is_told_by_nothing() -> None:
    both = pl.concat([runs({"a": 0.4, "b": 0.4}), runs({"a": 0.2}, pool="q")])
    fits = transfer.fit_pools(both.lazy()).collect().sort("pool")
    assert fits["efficiency"].to_list() == pytest.approx([0.4, 0.2])
    alone = transfer.leave_each_part_out(both.lazy()).filter(pl.col("pool") == "q").collect().row(0, named=True)
    assert (alone["efficiency"], alone["run_count"]) == (None, 0)


def test_a_step_that_shrinks_with_the_work_has_no_efficiency() -> None:
    odd = pl.DataFrame(
        {
            "pool": "p",
            "part": ["a", "a"],
            "result_id": ["x", "y"],
            "peak_seconds": [1.0, 2.0],
            "step_seconds": [9.0, 3.0],
        }
    )
    assert transfer.fit_pools(odd.lazy()).collect()["efficiency"].to_list() == [None]
