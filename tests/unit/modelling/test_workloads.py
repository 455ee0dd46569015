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


@pytest.mark.parametrize(
    ("workload", "total", "active"),
    [
        # arXiv 2412.19437: 671 G parameters, 37 G of them active, without the layer that predicts a further token
        ("deepseekv3_671b", 671.0e9, 37.6e9),
        # model card of gpt-oss-20b: 20.91 G parameters; 3.61 G active without the input embedding
        ("gpt_oss_20b", 20.91e9, 3.61e9 + 201_088 * 2880),
    ],
)
def test_mixtures_have_the_published_parameters(workload: str, total: float, active: float) -> None:
    model = workloads.frame().filter(benchmark=workload).with_columns(prediction_layers=0)
    found = model.select(total=flops.total_parameters(), active=flops.active_parameters()).row(0)
    assert found == pytest.approx((total, active), rel=3e-3)


def test_a_further_prediction_layer_is_a_layer_and_a_projection() -> None:
    model = workloads.frame().filter(benchmark="deepseekv3_671b")
    without = model.with_columns(prediction_layers=0)
    added = model.select(flops.total_parameters()).item() - without.select(flops.total_parameters()).item()
    assert added == pytest.approx(257 * 3 * 7168 * 2048 + 187.1e6 + 2 * 7168**2, rel=1e-3)


def test_every_language_model_benchmark_has_a_workload_or_says_why_not() -> None:
    excused = workloads.without_prediction()
    modelled = {workload.benchmark for workload in workloads.WORKLOADS}
    assert set(excused["benchmark"]) | modelled == set(workloads.LANGUAGE_MODEL_BENCHMARKS)
    assert not set(excused["benchmark"]) & modelled
    assert excused["not_validated_reason"].str.len_chars().min() > 10


def test_workloads_are_one_row_a_benchmark_with_a_source() -> None:
    frame = workloads.frame()
    assert frame["benchmark"].is_unique().all()
    assert frame.filter(pl.col("source") == "").is_empty()
