from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.modelling import traffic, workloads
from pipelines.modelling.parallelism import WorldSizeError

WIDTHS = traffic.LOW_PRECISION_GATHER
H100 = {
    "tensor_parallel": 8,
    "data_parallel": 4,
    "global_batch_size": 1152,
    "accelerator_count": 512,
    "domain_accelerators": 8,
}


def test_bytes_of_a_micro_batch(make_runs: Callable[..., pl.DataFrame]) -> None:
    one = make_runs(global_batch_size=39)
    assert one.select(traffic.activation_bytes(WIDTHS)).item() == 134_217_728
    assert one.select(traffic.pipeline_bytes(WIDTHS)).item() == 536_870_912
    one_layer = one.with_columns(layers=8)
    assert one_layer.select(traffic.tensor_bytes(WIDTHS)).item() == 805_306_368
    assert one_layer.select(traffic.context_bytes(WIDTHS)).item() == 12_582_912


def test_pipeline_inside_the_rack_leaves_the_network_to_data(make_runs: Callable[..., pl.DataFrame]) -> None:
    row = traffic.traffic(make_runs()).row(0, named=True)
    assert (row["is_tensor_scale_up"], row["is_context_scale_up"], row["is_pipeline_scale_up"]) == (True, True, True)
    assert row["scale_out_bytes"] / 1e9 == pytest.approx(18.54, abs=0.005)
    assert row["pipeline_bytes"] / 1e9 == pytest.approx(17.2, abs=0.05)


def test_small_domains_send_pipeline_and_context_over_the_network(make_runs: Callable[..., pl.DataFrame]) -> None:
    row = traffic.traffic(make_runs(**H100)).row(0, named=True)
    assert (row["is_tensor_scale_up"], row["is_context_scale_up"], row["is_pipeline_scale_up"]) == (True, False, False)
    data = row["gradient_scale_out_bytes"] + row["gather_scale_out_bytes"]
    assert [round(value / 1e9, 2) for value in (data, row["pipeline_bytes"], row["context_bytes"])] == [
        16.65,
        77.31,
        28.54,
    ]
    assert row["scale_out_bytes"] == data + row["pipeline_bytes"] + row["context_bytes"]
    assert row["scale_up_bytes"] == row["tensor_bytes"] + row["data_scale_up_bytes"]


@pytest.mark.parametrize(
    ("changes", "ranks"),
    [
        ({}, 2),
        ({"tensor_parallel": 2, "data_parallel": 78}, 4),
        ({"domain_accelerators": 64}, 2),
        ({"domain_accelerators": 8}, 2),
        ({"domain_accelerators": 4}, 1),
        ({"domain_accelerators": 576}, 18),
        ({"domain_accelerators": 10_000}, 78),
    ],
)
def test_ranks_of_a_data_group_in_one_domain(
    make_runs: Callable[..., pl.DataFrame], changes: dict[str, int], ranks: int
) -> None:
    assert make_runs(**changes).select(traffic.data_ranks_in_domain()).item() == ranks


def test_world_size_is_checked(make_runs: Callable[..., pl.DataFrame]) -> None:
    with pytest.raises(WorldSizeError):
        traffic.traffic(make_runs(accelerator_count=2560))


def test_without_interleaving_a_stage_sends_once(make_runs: Callable[..., pl.DataFrame]) -> None:
    plain, interleaved = (
        make_runs(virtual_pipeline=stages).select(traffic.pipeline_bytes(WIDTHS)).item() for stages in (None, 8)
    )
    assert interleaved == 8 * plain
    assert make_runs(pipeline_parallel=1).select(traffic.pipeline_bytes(WIDTHS)).item() == 0


@st.composite
def topologies(draw: st.DrawFn) -> dict[str, int]:
    tensor, context, pipeline = (draw(st.sampled_from([1, 2, 4, 8])) for _ in range(3))
    data = draw(st.integers(2, 64))
    return {
        "tensor_parallel": tensor,
        "context_parallel": context,
        "pipeline_parallel": pipeline,
        "virtual_pipeline": 2,
        "data_parallel": data,
        "micro_batch": 1,
        "global_batch_size": data * draw(st.integers(1, 32)),
        "accelerator_count": tensor * context * pipeline * data,
    }


def _traffic(topology: dict[str, int], domain: int) -> dict[str, float]:
    model = workloads.frame().filter(benchmark="llama31_405b")
    row = pl.DataFrame([topology | {"domain_accelerators": domain}]).join(model, how="cross")
    return traffic.traffic(row).row(0, named=True)


@given(topologies())
def test_a_result_changes_with_the_topology(topology: dict[str, int]) -> None:
    """One domain holds everything, domains of one nothing: what crosses the network is then all or none."""
    whole, none = _traffic(topology, topology["accelerator_count"]), _traffic(topology, 1)
    assert whole["scale_out_bytes"] == pytest.approx(0, abs=1)
    assert none["scale_up_bytes"] == 0
    assert none["scale_out_bytes"] > 0


@given(topologies(), st.integers(1, 2048), st.integers(1, 2048))
def test_a_larger_domain_never_sends_more_over_the_network(topology: dict[str, int], one: int, other: int) -> None:
    small, large = sorted((one, other))
    assert _traffic(topology, large)["scale_out_bytes"] <= _traffic(topology, small)["scale_out_bytes"] * (1 + 1e-12)


@given(topologies())
def test_shorter_numbers_send_less(topology: dict[str, int]) -> None:
    model = workloads.frame().filter(benchmark="llama31_405b")
    row = pl.DataFrame([topology | {"domain_accelerators": 1}]).join(model, how="cross")
    low = traffic.traffic(row).item(0, "scale_out_bytes")
    high = traffic.traffic(row, traffic.ByteWidths(gradient=4)).item(0, "scale_out_bytes")
    assert low < high
