from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from pipelines.modelling import step_time


def test_step_is_slots_times_micro_batch_and_a_fixed_part(make_runs: Callable[..., pl.DataFrame]) -> None:
    run = make_runs(micro_batch_seconds=0.5, fixed_seconds=0.25, virtual_pipeline=7)
    assert run.select(step_time.step_seconds(step_time.pipeline_slots())).item() == 0.5 * 33 + 0.25


def test_throughput_of_an_accelerator_in_a_small_and_a_large_run(make_runs: Callable[..., pl.DataFrame]) -> None:
    runs = make_runs(
        data_parallel=[8, 39],
        global_batch_size=[896, 1248],
        accelerator_count=[512, 2496],
        step_seconds=[19.27797, 5.8225007],
    )
    rate = step_time.samples_per_second_per_accelerator(pl.col("step_seconds"))
    small, large = runs.select(rate).to_series()
    assert small == pytest.approx(896 / 19.27797 / 512)
    assert large / small == pytest.approx(0.9460, abs=5e-5)
