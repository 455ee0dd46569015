from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.modelling import time_to_train


def evaluations(
    samples: int, first: int | None, interval: int | None, count: int | None = None, own: float | None = None
) -> float:
    columns = {
        "samples": samples,
        "first_eval_samples": first,
        "eval_interval_samples": interval,
        "eval_count": count,
        "samples_to_converge": own,
    }
    row = pl.DataFrame({name: [value] for name, value in columns.items()}, schema=dict.fromkeys(columns, pl.Float64))
    return float(row.select(time_to_train.evaluation_count(pl.col("samples"))).item())


@pytest.mark.parametrize(
    ("samples", "first", "interval", "count"),
    [
        (323_232, 46_176, 46_176, 7),
        (331_776, 276_480, 18_432, 4),
        (327_360, 46_176, 46_176, pytest.approx(7.0894, abs=1e-4)),
        (100, 276_480, 18_432, 1),
        (300_000, 288_000, None, 1),
    ],
)
def test_evaluations_on_the_way(samples: int, first: int, interval: int | None, count: float) -> None:
    assert evaluations(samples, first, interval) == count


def test_evaluations_without_their_progress_are_as_dense_as_in_the_run() -> None:
    assert evaluations(300_000, None, None, count=12, own=600_000) == 6
    assert evaluations(10, None, None, count=12, own=600_000) == 1
    assert evaluations(10, None, None) == 1


@given(st.integers(1, 10**7), st.integers(1, 10**6), st.integers(1, 10**6))
def test_at_least_one_evaluation_and_never_fewer_for_more_samples(samples: int, first: int, interval: int) -> None:
    assert 1 <= evaluations(samples, first, interval) <= evaluations(samples + interval, first, interval)


@pytest.mark.parametrize(
    ("expected", "own", "used"),
    [(327_360.0, 323_232.0, 327_360.0), (319_488.0, 326_400.0, 326_400.0), (None, 5.0, 5.0), (7.0, None, 7.0)],
)
def test_a_score_rests_on_the_reference_or_on_more_samples(
    expected: float | None, own: float | None, used: float
) -> None:
    row = pl.DataFrame(
        {"expected_samples": [expected], "samples_to_converge": [own]},
        schema={"expected_samples": pl.Float64, "samples_to_converge": pl.Float64},
    )
    assert row.select(time_to_train.converging_samples()).item() == used


def test_minutes_are_steps_evaluations_and_rest(make_runs: Callable[..., pl.DataFrame]) -> None:
    run = make_runs(
        micro_batch_seconds=0.2,
        fixed_seconds=0.225,
        samples_to_converge=374_400,
        eval_base_seconds=3.0,
        eval_per_replica_seconds=390.0,
        other_seconds=6.0,
        first_eval_samples=124_800,
        eval_interval_samples=124_800,
        expected_samples=249_600,
        converging_samples=374_400,
        step_count=100,
        eval_count=1,
    ).with_columns(even_slots=pl.lit(None, dtype=pl.Float64), even_step_seconds=pl.lit(None, dtype=pl.Float64))
    row = time_to_train.predict(run).row(0, named=True)
    assert row["predicted_step_seconds"] == pytest.approx(6.8)
    assert row["predicted_raw_minutes"] == pytest.approx((100 * 6.8 + 13 + 6) / 60)
    assert row["predicted_at_reference_minutes"] == pytest.approx((200 * 6.8 + 2 * 13 + 6) / 60)
    assert row["predicted_minutes"] == pytest.approx((300 * 6.8 + 3 * 13 + 6) / 60)


def _target(**changes: Any) -> pl.LazyFrame:
    return pl.LazyFrame([{"target": "t", "micro_batch": 1, "batch_least": 10, "batch_most": 24} | changes])


@given(st.integers(1, 4), st.integers(1, 60), st.integers(0, 60))
def test_candidates_are_all_whole_batches_in_range(micro_batch: int, least: int, width: int) -> None:
    most = least + width
    found = time_to_train.batch_candidates(
        _target(micro_batch=micro_batch, batch_least=least, batch_most=most)
    ).collect()
    expected = {
        (dp, m, dp * m * micro_batch)
        for dp in range(1, most + 1)
        for m in range(1, most + 1)
        if least <= dp * m * micro_batch <= most
    }
    assert set(found.select("data_parallel", "micro_batches", "global_batch_size").rows()) == expected
    assert found.height == len(expected)


def test_least_data_parallel_takes_the_fewest_that_meet_the_target() -> None:
    candidates = pl.LazyFrame(
        [
            ("a", 1, 8, 30.0, 20.0),
            ("a", 2, 8, 21.0, 20.0),
            ("a", 3, 9, 19.5, 20.0),
            ("a", 3, 12, 18.0, 20.0),
            ("a", 4, 8, 15.0, 20.0),
            ("b", 1, 8, 30.0, 20.0),
        ],
        schema=["target", "data_parallel", "global_batch_size", "predicted_minutes", "target_minutes"],
        orient="row",
    )
    assert time_to_train.least_data_parallel(candidates).collect().rows() == [("a", 3, 12, 18.0)]
