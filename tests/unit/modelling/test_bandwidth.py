from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.modelling import bandwidth, workloads
from pipelines.modelling.bandwidth import CENTRAL, FAVOURABLE, UNFAVOURABLE, Assumptions

a_need_takes_long = settings(max_examples=25)
"""Of expressions over one row planning them costs most, and a need is the largest of all."""


@st.composite
def runs(draw: st.DrawFn) -> pl.DataFrame:
    tensor, data = draw(st.sampled_from([2, 4, 8])), draw(st.integers(1, 128))
    micro_batch_seconds = draw(st.floats(0.02, 2.0))
    micro_batches = draw(st.integers(1, 300))
    row = {
        "tensor_parallel": tensor,
        "context_parallel": 2,
        "pipeline_parallel": 8,
        "virtual_pipeline": draw(st.sampled_from([None, 1, 8])),
        "expert_parallel": 1,
        "data_parallel": data,
        "accelerator_count": tensor * 16 * data,
        "micro_batch": 1,
        "domain_accelerators": draw(st.sampled_from([8, 72, 576])),
        "micro_batch_seconds": micro_batch_seconds,
        "step_seconds": micro_batch_seconds * micro_batches,
        "parameter_bytes": draw(st.sampled_from([1, 2])),
        "nic_available_gigabytes_per_second": draw(st.sampled_from([None, 25.0, 50.0, 100.0])),
    }
    frame = pl.DataFrame(
        [row], schema_overrides={"nic_available_gigabytes_per_second": pl.Float64, "virtual_pipeline": pl.Int64}
    )
    return frame.join(workloads.frame().filter(benchmark="llama31_405b"), how="cross")


@st.composite
def assumptions(draw: st.DrawFn) -> Assumptions:
    return Assumptions(
        exposed_share=draw(st.floats(0.001, 0.2)),
        nic_efficiency=draw(st.floats(0.3, 1.0)),
        gradient_bytes=draw(st.sampled_from([2, 4])),
        window_scale=draw(st.floats(0.5, 1.5)),
    )


def _exposed(frame: pl.DataFrame, given_: Assumptions, rate: float) -> float:
    return float(frame.select(bandwidth.exposed_seconds(given_, pl.lit(rate))).item())


@given(runs(), assumptions(), st.floats(1, 400), st.floats(1, 400))
def test_exposure_never_grows_with_bandwidth(
    frame: pl.DataFrame, given_: Assumptions, one: float, other: float
) -> None:
    slow, fast = sorted((one, other))
    assert _exposed(frame, given_, fast) <= _exposed(frame, given_, slow)


@a_need_takes_long
@given(runs(), assumptions())
def test_need_is_the_least_bandwidth_within_the_budget(frame: pl.DataFrame, given_: Assumptions) -> None:
    need = frame.select(bandwidth.needed_gigabytes_per_second(given_)).item()
    if need == 0:
        assert _exposed(frame, given_, 1e-6) == 0
        return
    available = frame.item(0, "nic_available_gigabytes_per_second")
    already = _exposed(frame, given_, available) if available else 0.0
    budget = given_.exposed_share * max(0.0, frame.item(0, "step_seconds") - already)
    assert _exposed(frame, given_, need * (1 + 1e-9)) <= budget + 1e-9
    assert _exposed(frame, given_, need * 0.99) > budget


@a_need_takes_long
@given(runs())
def test_the_range_holds_the_central_need(frame: pl.DataFrame) -> None:
    low, mid, high = (
        frame.select(bandwidth.needed_gigabytes_per_second(given_)).item()
        for given_ in (FAVOURABLE, CENTRAL, UNFAVOURABLE)
    )
    assert low <= mid <= high


def test_headline_run_is_too_close_to_call(make_runs: Callable[..., pl.DataFrame]) -> None:
    needs = make_runs().select(
        low=bandwidth.needed_gigabytes_per_second(FAVOURABLE),
        mid=bandwidth.needed_gigabytes_per_second(CENTRAL),
        high=bandwidth.needed_gigabytes_per_second(UNFAVOURABLE),
    )
    assert needs.item(0, "mid") == pytest.approx(49.6, abs=0.05)
    assert needs.select(bandwidth.verdict(pl.lit(50.0), pl.col("low"), pl.col("high"))).item() == "too_close_to_call"


@pytest.mark.parametrize(
    ("available", "expected"),
    [(9.9, "not_enough"), (10.0, "too_close_to_call"), (29.9, "too_close_to_call"), (30.0, "enough"), (None, None)],
)
def test_verdict_has_three_states(available: float | None, expected: str | None) -> None:
    row = pl.DataFrame({"available": [available]}, schema={"available": pl.Float64})
    assert row.select(bandwidth.verdict(pl.col("available"), pl.lit(10.0), pl.lit(30.0))).item() == expected


def test_no_verdict_without_a_need() -> None:
    nothing = pl.lit(None, dtype=pl.Float64)
    assert pl.select(bandwidth.verdict(pl.lit(50.0), nothing, nothing)).item() is None


def test_one_domain_needs_no_network(make_runs: Callable[..., pl.DataFrame]) -> None:
    inside = make_runs(domain_accelerators=10_000)
    assert inside.select(bandwidth.needed_gigabytes_per_second(UNFAVOURABLE)).item() == pytest.approx(0, abs=1e-9)


def test_the_need_follows_the_topology(make_runs: Callable[..., pl.DataFrame]) -> None:
    """Two replicas a domain share what crosses the network."""
    needs = make_runs(domain_accelerators=[64, 128]).select(bandwidth.needed_gigabytes_per_second(CENTRAL)).to_series()
    assert needs[1] < 0.6 * needs[0]


@a_need_takes_long
@given(runs(), st.floats(1, 8))
def test_oversubscription_asks_for_as_much_more(frame: pl.DataFrame, ratio: float) -> None:
    free = frame.with_columns(nic_available_gigabytes_per_second=pl.lit(None, dtype=pl.Float64))
    plain, shared = (
        free.select(
            bandwidth.needed_gigabytes_per_second(Assumptions(exposed_share=0.01, oversubscription=given_))
        ).item()
        for given_ in (1.0, ratio)
    )
    assert shared == pytest.approx(ratio * plain)


def test_oversubscription_exposes_more_of_the_headline_run(make_runs: Callable[..., pl.DataFrame]) -> None:
    run = make_runs()
    plain, shared = (
        run.select(
            bandwidth.exposed_seconds(Assumptions(exposed_share=0.01, oversubscription=given_), pl.lit(50.0))
        ).item()
        for given_ in (1.0, 2.0)
    )
    assert plain == pytest.approx(0.055, abs=6e-4)
    assert shared > plain + 0.3


@pytest.mark.parametrize(("rate", "name"), [(50.0, "gradient_reduction"), (1000.0, "none"), (None, None)])
def test_which_collective_is_exposed(
    make_runs: Callable[..., pl.DataFrame], rate: float | None, name: str | None
) -> None:
    exposed = bandwidth.exposed_collective(CENTRAL, pl.lit(rate, dtype=pl.Float64))
    assert make_runs().select(exposed).item() == name


def test_a_gather_of_wide_parameters_is_exposed_longer(make_runs: Callable[..., pl.DataFrame]) -> None:
    wide = make_runs(parameter_bytes=4)
    assert wide.select(bandwidth.exposed_collective(CENTRAL, pl.lit(50.0))).item() == "parameter_gather"


def test_a_link_is_busy_for_its_bytes() -> None:
    assert pl.select(bandwidth.busy_seconds(pl.lit(100e9), pl.lit(50.0))).item() == 2.0
