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
MIXTURE = {
    "tensor_parallel": 2,
    "context_parallel": 1,
    "pipeline_parallel": 4,
    "virtual_pipeline": 4,
    "expert_parallel": 32,
    "data_parallel": 64,
    "micro_batch": 1,
    "global_batch_size": 15360,
    "accelerator_count": 512,
}


def test_bytes_of_a_micro_batch(make_runs: Callable[..., pl.DataFrame]) -> None:
    one = make_runs(global_batch_size=39)
    assert one.select(traffic.activation_bytes(WIDTHS)).item() == 134_217_728
    assert one.select(traffic.pipeline_bytes(WIDTHS)).item() == 536_870_912
    one_layer = one.with_columns(layers=8)
    assert one_layer.select(traffic.tensor_bytes(WIDTHS)).item() == 805_306_368
    assert one_layer.select(traffic.context_bytes(WIDTHS)).item() == 12_582_912
    assert one_layer.select(traffic.expert_bytes(WIDTHS)).item() == 0


def test_pipeline_inside_the_rack_leaves_the_network_to_data(make_runs: Callable[..., pl.DataFrame]) -> None:
    row = traffic.traffic(make_runs()).row(0, named=True)
    assert [row[f"{name}_scale_up_share"] for name in traffic.DIMENSIONS] == [1.0] * 4
    assert row["scale_out_bytes"] / 1e9 == pytest.approx(18.54, abs=0.005)
    assert row["pipeline_bytes"] / 1e9 == pytest.approx(17.2, abs=0.05)


def test_small_domains_send_pipeline_and_context_over_the_network(make_runs: Callable[..., pl.DataFrame]) -> None:
    row = traffic.traffic(make_runs(**H100)).row(0, named=True)
    assert [row[f"{name}_scale_up_share"] for name in ("tensor", "context", "pipeline")] == [1.0, 0.0, 0.0]
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


def test_a_flat_ring_crosses_domains_with_all_it_moves(make_runs: Callable[..., pl.DataFrame]) -> None:
    run = make_runs()
    shard = 405_853_388_800 / 32
    flat = traffic.traffic(run, algorithm="flat").row(0, named=True)
    assert flat["gradient_scale_out_bytes"] == pytest.approx(shard * 2 * 77 / 78)
    assert flat["data_scale_up_bytes"] == 0
    tiered = traffic.traffic(run).row(0, named=True)
    assert tiered["gradient_scale_out_bytes"] == pytest.approx(shard * 2 * 38 / 39 / 2)
    assert tiered["data_scale_up_bytes"] == pytest.approx(shard * 3 / 2)
    one_domain = traffic.traffic(make_runs(domain_accelerators=4096), algorithm="flat").row(0, named=True)
    assert one_domain["scale_out_bytes"] == 0
    assert one_domain["data_scale_up_bytes"] == pytest.approx(shard * 3 * 77 / 78)


def test_fully_sharded_weights_are_gathered_for_both_passes(make_runs: Callable[..., pl.DataFrame]) -> None:
    """Three buffers a step where parameters are as wide as gradients: two gathers and a reduce-scatter."""
    alone = {"tensor_parallel": 1, "context_parallel": 1, "pipeline_parallel": 1, "virtual_pipeline": 1}
    run = make_runs(
        **alone, data_parallel=64, accelerator_count=64, global_batch_size=128, domain_accelerators=1, layers=2
    )
    parameters = run.select(traffic.total_parameters()).item()
    widths = traffic.ByteWidths()
    sharded = traffic.traffic(run, widths, sharding=traffic.FULLY_SHARDED).item(0, "scale_out_bytes")
    assert sharded == pytest.approx(3 * parameters * 63 / 64 * 2)
    held = traffic.traffic(run, widths, sharding=traffic.Sharding(True, True)).item(0, "scale_out_bytes")
    assert held == pytest.approx((1 + 2 * 2) * parameters * 63 / 64 * 2)
    usual = traffic.traffic(run, widths).item(0, "scale_out_bytes")
    assert usual == pytest.approx(2 * parameters * 63 / 64 * 2)


def _mixture(domain: int, **changes: int) -> pl.DataFrame:
    model = workloads.frame().filter(benchmark="deepseekv3_671b")
    return pl.DataFrame([MIXTURE | {"domain_accelerators": domain} | changes]).join(model, how="cross")


def test_tokens_go_to_their_experts_and_back() -> None:
    row = traffic.traffic(_mixture(72)).row(0, named=True)
    micro_batches, layers = 15360 / 64, 58 / 4
    tokens, chosen = 4096 / 2, 8
    assert row["expert_bytes"] == pytest.approx(micro_batches * layers * tokens * 7168 * chosen * (2 + 4) * 31 / 32)
    assert (row["expert_scale_up_share"], row["pipeline_scale_up_share"]) == (1.0, 0.0)
    small = traffic.traffic(_mixture(8)).row(0, named=True)
    assert small["expert_scale_up_share"] == pytest.approx(7 / 31)
    assert small["scale_out_bytes"] > 3 * row["scale_out_bytes"]


def test_experts_are_reduced_over_their_own_group() -> None:
    """512 accelerators of 4 stages: 128 in a stage hold each of 32 expert shards four times."""
    run = _mixture(1)
    assert run.select(traffic.expert_data_group()).item() == 4
    experts = run.select(traffic.expert_shard_parameters()).item()
    assert experts == 59 * 256 * 3 * 7168 * 2048 / (32 * 4)
    dense = run.select(traffic.shard_parameters()).item()
    sent = run.select(traffic.data_scale_out_bytes(2)).item()
    assert sent == pytest.approx(2 * (experts * 3 / 4 + dense * 63 / 64))


def test_experts_must_spread_over_a_stage() -> None:
    with pytest.raises(WorldSizeError, match="expert parallelism 48 does not divide the 128"):
        traffic.traffic(_mixture(72, expert_parallel=48))


def test_adapters_alone_are_reduced() -> None:
    model = workloads.frame().filter(benchmark="llama2_70b_lora")
    run = pl.DataFrame([MIXTURE | {"domain_accelerators": 1, "expert_parallel": 1}]).join(model, how="cross")
    assert run.select(traffic.shard_parameters()).item() == 65_536_000 / 8
    assert run.select(traffic.expert_shard_parameters()).item() == 0


@st.composite
def topologies(draw: st.DrawFn) -> dict[str, int]:
    tensor, context, pipeline = (draw(st.sampled_from([1, 2, 4, 8])) for _ in range(3))
    data = draw(st.integers(2, 64))
    stage = tensor * context * data
    return {
        "tensor_parallel": tensor,
        "context_parallel": context,
        "pipeline_parallel": pipeline,
        "virtual_pipeline": 2,
        "expert_parallel": draw(st.sampled_from([size for size in range(1, stage + 1) if stage % size == 0])),
        "data_parallel": data,
        "micro_batch": 1,
        "global_batch_size": data * draw(st.integers(1, 32)),
        "accelerator_count": stage * pipeline,
    }


def _traffic(topology: dict[str, int], domain: int, algorithm: traffic.Algorithm = "hierarchical") -> dict[str, float]:
    model = workloads.frame().filter(benchmark="deepseekv3_671b")
    row = pl.DataFrame([topology | {"domain_accelerators": domain}]).join(model, how="cross")
    return traffic.traffic(row, algorithm=algorithm).row(0, named=True)


@given(topologies(), st.integers(1, 2048))
def test_all_that_is_sent_goes_inside_a_domain_or_between_domains(topology: dict[str, int], domain: int) -> None:
    row = _traffic(topology, domain)
    activations = sum(row[f"{name}_bytes"] for name in traffic.DIMENSIONS)
    data = row["gradient_scale_out_bytes"] + row["gather_scale_out_bytes"] + row["data_scale_up_bytes"]
    assert row["scale_up_bytes"] + row["scale_out_bytes"] == pytest.approx(activations + data)


@pytest.mark.parametrize(("stages", "times"), [(1, 0), (2, 1), (4, 1)])
def test_one_stage_alone_sends_nothing_on(stages: int, times: int, make_runs: Callable[..., pl.DataFrame]) -> None:
    run = make_runs(pipeline_parallel=stages, virtual_pipeline=1, global_batch_size=39)
    assert run.select(traffic.pipeline_bytes(WIDTHS)).item() == times * 2 * 134_217_728 / 4


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


@given(topologies(), st.integers(1, 2048))
def test_reducing_inside_the_domain_first_never_sends_more_out(topology: dict[str, int], domain: int) -> None:
    tiered, flat = _traffic(topology, domain), _traffic(topology, domain, "flat")
    assert tiered["scale_out_bytes"] <= flat["scale_out_bytes"] * (1 + 1e-12)


@given(topologies())
def test_shorter_numbers_send_less(topology: dict[str, int]) -> None:
    model = workloads.frame().filter(benchmark="deepseekv3_671b")
    row = pl.DataFrame([topology | {"domain_accelerators": 1}]).join(model, how="cross")
    low = traffic.traffic(row).item(0, "scale_out_bytes")
    high = traffic.traffic(row, traffic.ByteWidths(gradient=4)).item(0, "scale_out_bytes")
    assert low < high
