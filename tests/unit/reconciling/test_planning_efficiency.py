"""The efficiency of work that no run is of, in a made-up world with runs of a large and of a small model."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import polars as pl
import pytest

from pipelines.modelling import flops
from pipelines.modelling.workloads import WORKLOADS, Workload, frame
from pipelines.reconciling.planning_efficiency import efficiency_points, estimate
from pipelines.reconciling.planning_facts import Facts
from pipelines.reconciling.planning_grounds import _any_member
from pipelines.reconciling.planning_words import racks_in_words, time_in_words
from pipelines.schemas.facts_mart import Platforms, ResolvedFacts
from tests.unit.reconciling.world import PARTS, A, Result, expected_progress, family, frame_of, world

PART = "GB200 (per GPU)"
LARGE, SMALL = (next(one for one in WORKLOADS if one.benchmark == name) for name in ("llama31_405b", "llama31_8b"))
OF_SMALL = Result(
    "small",
    8,
    2,
    launch={"tensor_parallel": 1, "pipeline_parallel": 1, "virtual_pipeline": 1, "context_parallel": 1},
    result={"benchmark": "llama31_8b", "accelerator_count": 8},
    description={"accelerator_count": 8},
)


@pytest.fixture(scope="module")
def facts() -> Facts:
    tables = world([*family(), OF_SMALL])
    tables["accelerators"] = tables["accelerators"].with_columns(bf16_dense_teraflops=pl.lit(2500.0))
    return Facts.of(
        **tables,
        platforms=frame_of(Platforms, []),
        resolved_facts=frame_of(ResolvedFacts, []),
        expected_progress=expected_progress,
    )


def work_of(model: Workload) -> float:
    return float(frame([model]).select(flops.flops_per_sequence()).item())


def active(model: Workload) -> float:
    return float(frame([model]).select(flops.active_parameters()).item())


def test_points_are_of_a_full_pipeline_where_a_fit_tells_it(facts: Facts) -> None:
    points = {row["benchmark"]: row for row in efficiency_points(facts).iter_rows(named=True)}
    large, small = points["llama31_405b"], points["llama31_8b"]
    assert large["efficiency"] == pytest.approx(work_of(LARGE) / (64 * 5e15 * A))
    assert not large["is_whole"]
    assert small["efficiency"] == pytest.approx(work_of(SMALL) * 16 / (8 * 5e15 * OF_SMALL.step_seconds))
    assert small["is_whole"]


def test_between_two_sizes_efficiency_follows_the_logarithm(facts: Facts) -> None:
    between = replace(LARGE, benchmark="between", layers=30, hidden=8192, heads=64, ffn=28_672)
    points = {row["benchmark"]: row["efficiency"] for row in efficiency_points(facts).iter_rows(named=True)}
    place = math.log(active(between) / active(SMALL)) / math.log(active(LARGE) / active(SMALL))
    expected = points["llama31_8b"] + place * (points["llama31_405b"] - points["llama31_8b"])
    told = estimate(between, PART, "fp8", facts)
    assert told.middle == pytest.approx(expected)
    assert (told.low, told.high) == pytest.approx(tuple(sorted(points.values())))
    assert told.extrapolations == ()


def test_the_same_work_counts_alone_give_or_take_noise(facts: Facts) -> None:
    told = estimate(SMALL, PART, "fp8", facts)
    assert told.is_of_same_work
    assert told.holds_fixed
    assert told.high / told.middle == pytest.approx(1.05)
    assert told.middle / told.low == pytest.approx(1.05)


def test_a_larger_model_than_any_is_no_more_efficient_and_says_so(facts: Facts) -> None:
    larger = replace(LARGE, benchmark="larger", layers=252)
    told = estimate(larger, PART, "fp8", facts)
    assert told.middle == pytest.approx(max(efficiency_points(facts)["efficiency"]))
    assert told.high == pytest.approx(told.middle * 1.05)
    assert any("lies beyond those of the runs" in one for one in told.extrapolations)


def test_without_pairs_of_precisions_half_the_peak_is_told_widely(facts: Facts) -> None:
    """Nothing tells what a doubled peak gains here: half of it in the middle, none or all at the ends."""
    wide, narrow = estimate(LARGE, PART, "bf16", facts), estimate(LARGE, PART, "fp8", facts)
    assert wide.middle == pytest.approx(narrow.middle * 2**0.5)
    assert wide.low < narrow.middle
    assert wide.high > 1.9 * narrow.middle
    assert any("no run here is at bf16" in one for one in wide.extrapolations)


def test_a_part_without_runs_is_told_by_those_with(facts: Facts) -> None:
    assert PARTS[1]["accelerator"] == "GB300 (per GPU)"
    told = estimate(LARGE, "GB300 (per GPU)", "fp8", facts)
    assert told.middle == pytest.approx(efficiency_points(facts).filter(benchmark="llama31_405b")["efficiency"][0])
    assert any("no run here is of GB300" in one for one in told.extrapolations)


def test_counts_and_times_in_words() -> None:
    assert [racks_in_words(count) for count in (1, 2, 1024)] == ["1 rack", "2 racks", "1,024 racks"]
    assert [time_in_words(minutes) for minutes in (27.334, 1439.0, 1440.0, 216_000.0)] == [
        "27.33 min",
        "1,439.00 min",
        "1.00 days",
        "150.00 days",
    ]


AWKWARD = [0.1, 0.2, 0.3, 1e-9, 0.7, 1 / 3, 2 / 7, 1e-3, 0.45]


def shuffled(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    return frame.sample(fraction=1.0, shuffle=True, seed=seed)


def test_the_order_of_runs_changes_no_digit_of_an_efficiency(facts: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    point = efficiency_points(facts).filter(benchmark="llama31_405b").drop("benchmark", "efficiency").head(1)
    several = point.join(
        pl.DataFrame({"benchmark": [f"alike_{place}" for place in range(len(AWKWARD))], "efficiency": AWKWARD}),
        how="cross",
    )
    told = set()
    for seed in range(20):
        monkeypatch.setattr(
            "pipelines.reconciling.planning_efficiency.efficiency_points", lambda _, seed=seed: shuffled(several, seed)
        )
        told.add(estimate(LARGE, PART, "fp8", facts).middle)
    assert len(told) == 1


def test_the_order_of_families_changes_no_digit_of_what_evaluations_take(facts: Facts) -> None:
    names = [f"family_{place}" for place in range(len(AWKWARD))]
    parts = dict.fromkeys(("eval_base_seconds", "eval_per_replica_seconds", "other_seconds"), AWKWARD)
    fits = facts.fits.drop("family", *parts).head(1).join(pl.DataFrame({"family": names, **parts}), how="cross")
    members = facts.members.filter(benchmark="llama31_405b").drop("family").head(1)
    members = members.join(pl.DataFrame({"family": names}), how="cross")
    told = set()
    for seed in range(20):
        one = SimpleNamespace(fits=shuffled(fits, seed), members=shuffled(members, seed + 1))
        _, rest = _any_member("llama31_405b", one)
        told.add(tuple(rest.values()))
    assert len(told) == 1
