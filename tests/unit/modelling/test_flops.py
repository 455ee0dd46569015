from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.modelling import flops, workloads
from pipelines.modelling.workloads import Workload


@st.composite
def models(draw: st.DrawFn) -> Workload:
    """Draw a model of Megatron-Core: head width times heads is the hidden width, every layer is of one kind."""
    groups = draw(st.sampled_from([1, 2, 4, 8]))
    heads = groups * draw(st.integers(1, 16))
    head_dim = draw(st.sampled_from([64, 128]))
    layers, ffn = draw(st.integers(1, 160)), draw(st.integers(1, 60_000))
    chosen = draw(st.integers(0, 8))
    return Workload(
        benchmark="any",
        model="any",
        layers=layers,
        hidden=heads * head_dim,
        heads=heads,
        kv_heads=groups,
        head_dim=head_dim,
        ffn=ffn,
        ffn_matrices=draw(st.sampled_from([2, 3])),
        vocabulary=draw(st.integers(1, 300_000)),
        sequence_length=draw(st.integers(1, 131_072)),
        vector_parameters=0,
        tied_embeddings=True,
        moe_layers=layers if chosen else 0,
        experts=chosen * draw(st.integers(1, 16)),
        experts_per_token=chosen,
        expert_ffn=ffn if chosen else 0,
    )


@given(models())
def test_full_convention_is_the_formula_of_megatron_core(model: Workload) -> None:
    """Its formula has no term for the router, h x experts, which is taken off here."""
    h, s, layers = model.hidden, model.sequence_length, model.layers
    blocks = model.ffn / h * model.ffn_matrices / 2 * max(1, model.experts_per_token)
    groups, outputs = model.kv_heads / model.heads, model.vocabulary / (2 * layers * h)
    expected = 12 * s * layers * h**2 * (1 + blocks + groups + s / h + outputs)
    router = 6 * s * model.moe_layers * h * model.experts
    work = workloads.frame([model]).select(flops.flops_per_sequence("full")).item()
    assert work - router == pytest.approx(expected, rel=1e-9)


@given(models())
def test_conventions_differ_by_half_the_attention(model: Workload) -> None:
    frame = workloads.frame([model])
    causal, full = frame.select(
        flops.flops_per_token("causal").alias("c"), flops.flops_per_token("full").alias("f")
    ).row(0)
    weights = frame.select(6 * flops.matmul_parameters()).item()
    assert full - weights == pytest.approx(2 * (causal - weights), rel=1e-9)
    assert causal > weights


@given(models())
def test_a_token_passes_no_more_parameters_than_there_are(model: Workload) -> None:
    total, active = workloads.frame([model]).select(flops.total_parameters(), active=flops.active_parameters()).row(0)
    assert active <= total
    assert (active == total) == (model.experts == model.experts_per_token)


@pytest.mark.parametrize(("is_recomputed", "factor", "head"), [(True, 96, 16), (False, 72, 12)])
def test_recomputation_is_that_of_narayanan(is_recomputed: bool, factor: int, head: int) -> None:
    """Equation 3 of Narayanan et al. 2021 is of plain blocks of four times the width, all the square counted."""
    model = workloads.frame().filter(benchmark="gpt3")
    layers, h, s, vocabulary = 96, 12_288, 2_048, 51_200
    expected = factor * s * layers * h**2 * (1 + s / (6 * h) + vocabulary / (head * layers * h))
    work = model.select(flops.flops_per_token("full", is_recomputed=is_recomputed) * s).item()
    assert work == pytest.approx(expected, rel=1e-12)


TINY = Workload(
    benchmark="tiny",
    model="tiny",
    layers=2,
    hidden=8,
    heads=2,
    kv_heads=1,
    head_dim=4,
    ffn=16,
    ffn_matrices=3,
    vocabulary=10,
    sequence_length=6,
    vector_parameters=7,
)
LATENT = {"query_rank": 5, "kv_rank": 3, "rope_dim": 2, "value_head_dim": 3}
MIXTURE = {"moe_layers": 1, "experts": 4, "experts_per_token": 2, "shared_experts": 1, "expert_ffn": 5}


@pytest.mark.parametrize(
    ("changes", "attention", "matmul", "total", "active", "trained"),
    [
        # queries 8x8, keys and values 8x4 each, outputs 8x8: 192; block 3x8x16 = 384; either embedding 8x10 = 80
        ({}, 192, 2 * 576 + 80, 2 * 576 + 160 + 7, 1319, 1319),
        ({"tied_embeddings": True}, 192, 1232, 2 * 576 + 80 + 7, 1239, 1239),
        # values 8x3, outputs 6x8: 8 + 16 fewer
        ({"value_head_dim": 3}, 168, 1184, 1271, 1271, 1271),
        # queries 8x5 + 5x8, keys and values 8x3 + 3x2x(2 + 3) and 8x2 for positions, outputs 6x8
        (LATENT, 198, 2 * 582 + 80, 2 * 582 + 160 + 7, 1331, 1331),
        # an expert is 3x8x5 = 120; in place of one block one that is shared, a router 8x4, two of four experts
        (MIXTURE, 192, 384 + 384 + 120 + 32 + 240 + 80, 920 + 480 + 160 + 7, 1567 - 240, 1567),
        # a further layer: attention, a shared expert, a router, a projection 16x8, the output matrix again
        (MIXTURE | {"prediction_layers": 1}, 192, 1392 + 480 + 160, 1392 + 960 + 160 + 7, 2519 - 480, 2519),
        # rank 3 beside queries 8 + 8, keys and values 8 + 4 each, outputs 8 + 8, in two layers
        ({"adapter_rank": 3}, 192, 1232, 1319, 1319, 2 * 3 * 56),
        ({"adapter_rank": 3, "value_head_dim": 3}, 168, 1184, 1271, 1271, 2 * 3 * (16 + 12 + 11 + 14)),
    ],
)
def test_parameters_of_a_model_small_enough_to_count(
    changes: dict[str, Any], attention: int, matmul: int, total: int, active: int, trained: int
) -> None:
    counted = workloads.frame([replace(TINY, **changes)]).select(
        flops.attention_parameters().alias("attention"),
        flops.matmul_parameters().alias("matmul"),
        flops.total_parameters().alias("total"),
        flops.active_parameters().alias("active"),
        flops.trained_parameters().alias("trained"),
    )
    assert counted.row(0) == (attention, matmul, total, active, trained)


def test_a_dense_layer_is_attention_and_its_block() -> None:
    assert workloads.frame([TINY]).select(flops.layer_parameters()).item() == 192 + 384


def test_a_window_bounds_what_a_token_attends_to() -> None:
    model = workloads.frame().filter(benchmark="gpt_oss_20b")
    causal, full = (model.select(flops.attention_context(name)).item() for name in ("causal", "full"))
    positions = sum(min(place, 128) for place in range(1, 8193)) / 8192
    assert causal == pytest.approx(12 * 4096 + 12 * positions, rel=1e-4)
    assert full == 12 * 8192 + 12 * 128


@pytest.mark.parametrize(
    ("workload", "convention", "per_sequence"),
    [
        ("gpt3", "causal", 2.1749e15),
        ("gpt3", "full", 2.2046e15),
        ("llama31_405b", "causal", 2.06762e16),
        ("llama31_405b", "full", 2.15075e16),
        ("llama31_405b", "6n", 1.99485e16),
        # the constant that the launch files of training-v6.0 give, in TFLOP a sample
        ("deepseekv3_671b", "causal", 1068e12 * (1 - 4e-4)),
    ],
)
def test_published_work_of_a_sequence(workload: str, convention: flops.Convention, per_sequence: float) -> None:
    work = workloads.frame().filter(benchmark=workload).select(flops.flops_per_sequence(convention)).item()
    assert work == pytest.approx(per_sequence, rel=3e-5)


def test_frozen_weights_cost_two_passes_less() -> None:
    lora = workloads.frame().filter(benchmark="llama2_70b_lora")
    trained = lora.with_columns(weight_passes=6).select(flops.flops_per_token()).item()
    frozen = lora.select(flops.flops_per_token()).item()
    assert trained - frozen == lora.select(2 * flops.matmul_parameters()).item()


def test_training_time_of_gpt3_on_1024_accelerators() -> None:
    """Narayanan et al. 2021, section 5.1: 300 G tokens, 1,024 A100 at 140 TFLOPS take 34 days with recomputation."""
    run = workloads.frame().filter(benchmark="gpt3").with_columns(accelerator_count=1024, weight_passes=8)
    days = run.select(flops.training_seconds(pl.lit(300e9), pl.lit(140.0)) / 86_400).item()
    assert days == pytest.approx(34, abs=0.5)


def test_work_of_a_step_does_not_overflow(make_runs: Callable[..., pl.DataFrame]) -> None:
    huge = make_runs(global_batch_size=10_000_000, accelerator_count=1)
    assert huge.select(flops.achieved_tflops(pl.lit(1.0))).item() == pytest.approx(2.06762e16 * 1e7 / 1e12, rel=1e-5)
