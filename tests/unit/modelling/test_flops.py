from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.modelling import flops, peaks, workloads


@st.composite
def models(draw: st.DrawFn) -> dict[str, Any]:
    groups = draw(st.sampled_from([1, 2, 4, 8]))
    heads = groups * draw(st.integers(1, 16))
    head_dim = draw(st.sampled_from([64, 128]))
    return {
        "layers": draw(st.integers(1, 160)),
        "hidden": heads * head_dim,
        "heads": heads,
        "kv_heads": groups,
        "head_dim": head_dim,
        "ffn": draw(st.integers(1, 60_000)),
        "ffn_matrices": draw(st.sampled_from([2, 3])),
        "vocabulary": draw(st.integers(1, 300_000)),
        "sequence_length": draw(st.integers(1, 131_072)),
        "vector_parameters": 0,
        "tied_embeddings": True,
        "weight_passes": 6,
    }


@given(models())
def test_full_convention_is_the_formula_of_megatron_core(model: dict[str, Any]) -> None:
    h, s, layers = model["hidden"], model["sequence_length"], model["layers"]
    gated = model["ffn_matrices"] / 2
    expected = (
        12
        * s
        * layers
        * h**2
        * (
            1
            + model["ffn"] / h * gated
            + model["kv_heads"] / model["heads"]
            + s / h
            + model["vocabulary"] / (2 * layers * h)
        )
    )
    assert pl.DataFrame([model]).select(flops.flops_per_sequence("full")).item() == pytest.approx(expected, rel=1e-12)


@given(models())
def test_conventions_differ_by_half_the_attention(model: dict[str, Any]) -> None:
    frame = pl.DataFrame([model])
    causal, full = frame.select(
        flops.flops_per_token("causal").alias("c"), flops.flops_per_token("full").alias("f")
    ).row(0)
    weights = frame.select(6 * flops.matmul_parameters()).item()
    assert full - weights == pytest.approx(2 * (causal - weights), rel=1e-9)
    assert causal > weights


@pytest.mark.parametrize(
    ("workload", "convention", "per_sequence"),
    [
        ("gpt3", "causal", 2.1749e15),
        ("gpt3", "full", 2.2046e15),
        ("llama31_405b", "causal", 2.06762e16),
        ("llama31_405b", "full", 2.15075e16),
        ("llama31_405b", "6n", 1.99485e16),
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


def test_training_time_of_gpt3_on_1024_accelerators(make_runs: Callable[..., pl.DataFrame]) -> None:
    """Narayanan et al. 2021, section 5.1: 300 G tokens, 1,024 A100 at 140 TFLOPS take 34 days with recomputation."""
    run = workloads.frame().filter(benchmark="gpt3").with_columns(accelerator_count=1024, weight_passes=8)
    days = run.select(flops.training_seconds(pl.lit(300e9), pl.lit(140.0)) / 86_400).item()
    assert days == pytest.approx(34, abs=0.5)


def test_work_of_a_step_does_not_overflow(make_runs: Callable[..., pl.DataFrame]) -> None:
    huge = make_runs(global_batch_size=10_000_000, accelerator_count=1)
    assert huge.select(flops.achieved_tflops(pl.lit(1.0))).item() == pytest.approx(2.06762e16 * 1e7 / 1e12, rel=1e-5)


def test_peaks_are_dense_and_double_with_half_the_bits() -> None:
    wide = peaks.frame().pivot("precision", index="accelerator", values="peak_tflops")
    assert (
        wide.filter(pl.col("fp8").is_not_null()).select(pl.col("fp8") / pl.col("bf16")).to_series().round(2) == 2
    ).all()
    assert peaks.frame().select("accelerator", "precision").is_unique().all()
