"""Memory against published machines, and against the formulas of the papers."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.modelling import memory, workloads
from pipelines.modelling.memory import Recompute, Sharding, Storage
from tests.unit.modelling.conftest import LAYOUT

# TP, DP, batch, gigabytes needed, gigabytes that software can use; Llama 3.1 405B with CP 2 and PP 8 of VP 8
MACHINES = {
    "GB200": (4, 39, 1248, 127.5, 198.7, True),
    "H100, TP 8": (8, 64, 1536, 63.4, 85.5, True),
    "H200": (4, 8, 1152, 135.1, 150.8, True),
    "GB300": (2, 16, 1152, 260.6, 298.0, True),
    "H100, TP 4": (4, 128, 1536, 126.2, 85.5, False),
}


def _run(benchmark: str = "llama31_405b", **columns: int) -> pl.DataFrame:
    return pl.DataFrame([LAYOUT | columns]).join(workloads.frame().filter(benchmark=benchmark), how="cross")


@pytest.mark.parametrize("machine", list(MACHINES))
def test_which_layouts_fit_which_part(machine: str) -> None:
    tensor, data, batch, needed, usable, fits = MACHINES[machine]
    run = _run(tensor_parallel=tensor, data_parallel=data, global_batch_size=batch)
    gigabytes = run.select(memory.training_bytes() / 1e9).item()
    assert gigabytes == pytest.approx(needed, abs=0.06)
    assert (gigabytes <= usable) is fits


@pytest.mark.parametrize(
    ("sharding", "expected"),
    [("none", 16), ("optimizer", 4 + 12 / 64), ("gradients", 2 + 14 / 64), ("parameters", 16 / 64)],
)
def test_states_of_the_stages_of_zero(sharding: Sharding, expected: float) -> None:
    """Rajbhandari et al. 2020, figure 1: 16 bits weights and gradients, 12 bytes of optimizer states, 64 ranks."""
    alone = {"tensor_parallel": 1, "context_parallel": 1, "pipeline_parallel": 1, "virtual_pipeline": 1}
    run = _run("llama31_8b", **alone, data_parallel=64)
    storage = Storage(gradient=2.0)
    states = (
        memory.weight_bytes(storage, sharding)
        + memory.gradient_bytes(storage, sharding)
        + memory.optimizer_bytes(storage, sharding)
    )
    assert run.select(states).item() == pytest.approx(8_030_261_248 * expected)


@pytest.mark.parametrize(
    ("recompute", "per_channel"),
    [("none", 34 + 5 * 96 * 2048 / 12_288), ("selective", 34.0), ("full", 2.0)],
)
def test_activations_are_those_of_korthikanti(recompute: Recompute, per_channel: float) -> None:
    """Equation 4 and table 2: s b h / t times the bytes a channel, times the layers that a first stage holds."""
    run = _run("gpt3", tensor_parallel=8, context_parallel=1, pipeline_parallel=8, virtual_pipeline=1, data_parallel=1)
    one_layer = per_channel * 2048 * 12_288 / 8
    assert run.select(memory.activation_bytes(Storage(), recompute)).item() == pytest.approx(one_layer * 96 / 8 * 15)


def test_a_short_step_holds_fewer_micro_batches() -> None:
    assert _run().select(memory.micro_batches_in_flight()).item() == 8.875
    assert _run(global_batch_size=39 * 4).select(memory.micro_batches_in_flight()).item() == 4


def test_a_larger_micro_batch_holds_as_many_more_tokens() -> None:
    alone, three = (
        _run(micro_batch=size, global_batch_size=1248 * size).select(memory.activation_bytes(Storage())).item()
        for size in (1, 3)
    )
    assert three == pytest.approx(3 * alone)


def test_frozen_weights_need_no_gradients() -> None:
    run = _run("llama2_70b_lora", context_parallel=1, pipeline_parallel=1, virtual_pipeline=1, data_parallel=8)
    trained = run.with_columns(adapter_rank=0)
    for bytes_of in (memory.gradient_bytes, memory.optimizer_bytes):
        frozen, whole = (frame.select(bytes_of(memory.LOW_PRECISION)).item() for frame in (run, trained))
        assert frozen / whole == pytest.approx(65_536_000 / 68_976_648_192)
    assert run.select(memory.weight_bytes(memory.LOW_PRECISION)).item() == pytest.approx(68_976_648_192 / 4)


def test_experts_are_spread_over_their_own_group() -> None:
    run = _run(
        "deepseekv3_671b",
        tensor_parallel=2,
        context_parallel=1,
        pipeline_parallel=4,
        virtual_pipeline=4,
        expert_parallel=32,
        data_parallel=64,
    )
    experts = 59 * 256 * 3 * 7168 * 2048
    dense = run.select(memory.total_parameters()).item() - experts
    assert run.select(memory.weight_bytes(memory.LOW_PRECISION)).item() == pytest.approx(experts / 128 + dense / 8)
    shards = experts / 128 / 4 + dense / 8 / 64
    assert run.select(memory.optimizer_bytes(memory.LOW_PRECISION)).item() == pytest.approx(12 * shards)


@pytest.mark.parametrize(
    ("workload", "bytes_per_value", "expected"),
    [
        ("llama31_8b", 2, 131_072),
        ("llama2_70b_lora", 1, 163_840),
        ("llama31_405b", 1, 258_048),
        ("llama31_405b", 2, 516_096),
        # one latent of 512 and a key of 64 a layer, in place of 128 heads of 320
        ("deepseekv3_671b", 2, 61 * 576 * 2),
    ],
)
def test_cache_of_a_token(workload: str, bytes_per_value: float, expected: float) -> None:
    assert _run(workload).select(memory.cache_bytes_per_token(bytes_per_value)).item() == expected


def test_serving_needs_weights_and_cache() -> None:
    tokens = pl.lit(128 * 16_384)
    need, of_two_bytes = (
        _run().select(memory.serving_bytes(1, 1, tokens) / 1e9, in_two=memory.serving_bytes(2, 1, tokens) / 1e9).row(0)
    )
    assert need == pytest.approx(946.165879 + 0.853389, abs=1e-5), "405 G parameters are 405.853 G"
    assert of_two_bytes - need == pytest.approx(405.853389, abs=1e-5)


@given(st.integers(1, 64), st.integers(1, 8), st.integers(1, 8))
def test_more_ranks_never_need_more(data: int, context: int, pipeline: int) -> None:
    small = _run(data_parallel=data, context_parallel=context, pipeline_parallel=pipeline, global_batch_size=64 * data)
    more = _run(
        data_parallel=2 * data, context_parallel=context, pipeline_parallel=pipeline, global_batch_size=128 * data
    )
    assert more.select(memory.training_bytes()).item() <= small.select(memory.training_bytes()).item()
