from __future__ import annotations

import polars as pl
import pytest

from pipelines.modelling import flops, workloads


@pytest.mark.parametrize(
    ("workload", "parameters"),
    [
        ("llama31_405b", 405_853_388_800),
        ("llama31_8b", 8_030_261_248),
        ("llama2_70b_lora", 68_976_648_192),
    ],
)
def test_parameters_equal_those_of_the_published_checkpoints(workload: str, parameters: int) -> None:
    total = workloads.frame().filter(benchmark=workload).select(flops.total_parameters()).item()
    assert total == parameters


def test_gpt3_has_175_billion_parameters() -> None:
    total = workloads.frame().filter(benchmark="gpt3").select(flops.total_parameters()).item()
    assert total == pytest.approx(1.746e11, rel=1e-4)


def test_every_language_model_benchmark_is_predicted_or_says_why_not() -> None:
    excused = workloads.without_prediction()
    assert set(excused["benchmark"]) | {"llama31_405b"} == set(workloads.LANGUAGE_MODEL_BENCHMARKS)
    assert excused["not_validated_reason"].str.len_chars().min() > 10
    assert not excused["benchmark"].is_duplicated().any()


def test_workloads_are_one_row_a_benchmark_with_a_source() -> None:
    frame = workloads.frame()
    assert frame["benchmark"].is_unique().all()
    assert frame.filter(pl.col("source") == "").is_empty()
