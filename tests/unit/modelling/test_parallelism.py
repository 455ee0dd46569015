from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.modelling import parallelism, step_time


def test_accelerators_must_be_the_product_of_the_parallelisms(make_runs: Callable[..., pl.DataFrame]) -> None:
    assert parallelism.require_world(make_runs()).height == 1
    with pytest.raises(parallelism.WorldSizeError, match="2500 accelerators are not tensor 4 x context 2 x pipeline 8"):
        parallelism.require_world(make_runs(accelerator_count=2500))


def test_an_unknown_parallelism_is_an_error_not_one(make_runs: Callable[..., pl.DataFrame]) -> None:
    unknown = make_runs().with_columns(data_parallel=pl.lit(None, dtype=pl.Int64))
    with pytest.raises(parallelism.WorldSizeError):
        parallelism.require_world(unknown)


@given(st.tuples(*[st.integers(1, 32)] * 4), st.integers(-1, 1))
def test_world_holds_only_for_the_product(sizes: tuple[int, int, int, int], off: int) -> None:
    tensor, context, pipeline, data = sizes
    row = pl.DataFrame(
        {
            "tensor_parallel": [tensor],
            "context_parallel": [context],
            "pipeline_parallel": [pipeline],
            "data_parallel": [data],
            "accelerator_count": [tensor * context * pipeline * data + off],
        }
    )
    assert row.select(parallelism.fills_world()).item() is (off == 0)


def test_slots_of_a_step_are_micro_batches_and_bubble(make_runs: Callable[..., pl.DataFrame]) -> None:
    assert make_runs().select(step_time.pipeline_slots()).item() == 32 + 7 / 8
    assert make_runs(virtual_pipeline=None).select(step_time.pipeline_slots()).item() == 32 + 7
    assert make_runs(pipeline_parallel=1, virtual_pipeline=None).select(step_time.pipeline_slots()).item() == 32


def test_shares_of_a_step(make_runs: Callable[..., pl.DataFrame]) -> None:
    seconds = step_time.step_seconds(step_time.pipeline_slots())
    shares = make_runs(data_parallel=[4, 39], global_batch_size=[448, 1248]).select(
        bubble=step_time.bubble_share(), fixed=step_time.fixed_share(seconds)
    )
    assert shares["bubble"].round(3).to_list() == [0.008, 0.027]
    assert shares["fixed"].round(3).to_list() == [0.014, 0.047]


def test_layout_names_the_replica(make_runs: Callable[..., pl.DataFrame]) -> None:
    assert make_runs().select(parallelism.layout()).item() == "tp4-cp2-pp8-vp8-mb1"
    assert make_runs().with_columns(micro_batch=pl.lit(None)).select(parallelism.layout()).item() is None


def test_experts_take_no_accelerators_of_their_own(make_runs: Callable[..., pl.DataFrame]) -> None:
    spread = make_runs(expert_parallel=8)
    assert parallelism.require_world(spread).height == 1
    assert spread.select(parallelism.layout()).item() == "tp4-cp2-pp8-vp8-ep8-mb1"
    with pytest.raises(parallelism.WorldSizeError, match="5 does not divide the 312 accelerators of a pipeline stage"):
        parallelism.require_world(make_runs(expert_parallel=5))
