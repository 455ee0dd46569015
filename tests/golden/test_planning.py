"""Plans on two real rounds: the figures that a planner must be able to defend."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import polars as pl
import pytest

from pipelines.modelling.workloads import WORKLOADS, Workload
from pipelines.reconciling.planning import Facts, answer, as_dict, compare, frontier
from pipelines.reconciling.planning_answers import Answer
from pipelines.reconciling.planning_asks import Ask, PlanError
from pipelines.scoring.rcp import expected_progress

LLAMA_405B = next(one for one in WORKLOADS if one.benchmark == "llama31_405b")
DENSE_70B = replace(
    next(one for one in WORKLOADS if one.benchmark == "llama2_70b_lora"),
    benchmark="dense_70b",
    model="a dense model of 70 billion parameters",
    vocabulary=128_256,
    weight_passes=6,
    adapter_rank=0,
)
HEADLINE = Ask(platform="gb200-nvl72", precision="fp8", workload="llama31_405b", target_minutes=27.33)


class Planner:
    """Answers each ask once."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.answer = cache(self._answer)

    def _answer(self, ask: Ask) -> Answer:
        return answer(ask, self.facts)


@pytest.fixture(scope="module")
def planner(language_model_facts: dict[str, pl.DataFrame]) -> Planner:
    return Planner(Facts.of(**language_model_facts, expected_progress=expected_progress))


def test_39_racks_of_gb200_with_38_in_range(planner: Planner) -> None:
    told = planner.answer(HEADLINE)
    assert told.extrapolations == ()
    assert (told.racks.recommended, told.racks.low, told.racks.high) == (39, 38, 39)
    assert (told.racks.by_division, told.racks.by_replica, told.racks.by_model) == (35, 39, 39)
    assert told.racks.by_largest_held_out == 38
    assert (told.racks.accelerators_per_rack, told.racks.active_per_rack) == (72, 64)
    assert told.cluster.layout == "tp4-cp2-pp8-vp8-mb1"
    assert (told.cluster.accelerators, told.cluster.data_parallel) == (2496, 39)
    assert told.time.minutes == pytest.approx(26.76, abs=0.005)
    assert told.time.low_minutes is not None
    assert told.time.high_minutes is not None
    assert told.time.low_minutes < 27.33 < told.time.high_minutes
    assert told.basis.error_percent == pytest.approx(0.48, abs=0.01)
    assert told.nearest is not None
    assert "carina_ngpu2496" in told.nearest.result_id
    assert told.nearest.size_ratio == 1


def test_network_fabric_and_power_of_39_racks(planner: Planner) -> None:
    told = planner.answer(HEADLINE)
    assert told.network.verdict == "too_close_to_call"
    assert told.network.available_gigabytes_per_second == 50
    assert told.network.needed_gigabytes_per_second == pytest.approx(50, abs=1)
    assert told.network.scale_out_bytes / 1e9 == pytest.approx(18.54, abs=0.005)
    assert told.fabric is not None
    assert told.fabric.endpoints == 39 * 72
    assert (told.fabric.tiers, told.fabric.leaf_switches % told.fabric.rails) == (3, 0)
    assert told.power is not None
    assert (told.power.computer_kilowatts_low, told.power.computer_kilowatts_high) == (4680, 5148)
    assert told.power.facility_kilowatts_high is None
    assert told.binding.constraint == "time"
    assert told.time.goodput is None
    assert "ninterrupted" in told.time.goodput_sentence


def test_180_to_188_racks_of_h100(planner: Planner) -> None:
    told = planner.answer(replace(HEADLINE, platform="h100"))
    assert told.inputs.accelerators_per_rack == 32
    assert (told.racks.recommended, told.racks.low, told.racks.high) == (180, 180, 188)
    assert told.racks.by_power_law == pytest.approx(187.4, abs=0.1)
    assert told.cluster.accelerators == 5760
    assert told.time.minutes == pytest.approx(27.09, abs=0.005)


def test_every_way_to_spread_is_looked_at(planner: Planner) -> None:
    """The alternative needs fewer racks by efficiency alone, and no run of its layout is here."""
    told = planner.answer(HEADLINE)
    assert told.searched.layouts > 15_000
    assert told.searched.candidates > 10_000_000
    assert 0 < told.searched.fitting < told.searched.candidates
    assert told.alternative is not None
    assert told.alternative.layout != told.cluster.layout
    assert told.alternative.racks <= told.cluster.racks
    assert told.alternative.minutes <= 27.33


@pytest.mark.parametrize(("precision", "days", "tolerance"), [("bf16", 150, 8), ("fp8", 110, 6)])
def test_70b_on_15t_tokens_over_1024_h100(planner: Planner, precision: str, days: int, tolerance: int) -> None:
    """The published rule of thumb, uninterrupted."""
    told = planner.answer(Ask(platform="h100", precision=precision, model=DENSE_70B, tokens=15e12, accelerators=1024))
    assert told.cluster.accelerators == 1024
    assert told.racks.recommended == 32
    assert told.time.days == pytest.approx(days, abs=tolerance)
    assert told.time.low_minutes is not None
    assert told.time.high_minutes is not None
    assert told.time.low_minutes < days * 1440 < told.time.high_minutes
    assert told.basis.kind == "points"
    assert told.basis.error_percent is None
    assert told.basis.error_reason
    assert any("no benchmark here" in sentence for sentence in told.extrapolations)
    assert any("no run here is at bf16" in sentence for sentence in told.extrapolations) == (precision == "bf16")


def test_rate_of_llama_405b_in_bf16(planner: Planner) -> None:
    """Llama Team 2024, table 4: 400 TFLOPS an accelerator on 16,384 H100; no BF16 run is here."""
    told = planner.answer(Ask(platform="h100", precision="bf16", model=LLAMA_405B, tokens=15.6e12, accelerators=16_384))
    work = 2.52396e12 * 15.6e12 / told.cluster.accelerators
    rates = [work / (minutes * 60) / 1e12 for minutes in (told.time.high_minutes or 0, told.time.low_minutes or 0)]
    assert rates[0] < 400 < rates[1]


def test_an_answer_can_be_asked_again(planner: Planner) -> None:
    told = planner.answer(replace(HEADLINE, workload="llama2_70b_lora", target_minutes=1.0, spare_racks=1))
    assert as_dict(answer(told.ask, planner.facts)) == as_dict(told)
    assert told.racks.ordered == told.racks.recommended + 1


def test_nothing_on_the_frontier_beats_another(planner: Planner) -> None:
    told = frontier(replace(HEADLINE, target_minutes=60.0), planner.facts)
    points = told.points
    assert "layouts other than tp4-cp2-pp8-vp8-mb1" in told.extrapolations[0]
    figures = [(point.cluster.racks, point.cluster.accelerators, point.cluster.minutes) for point in points]
    assert len(figures) > 20
    for one in figures:
        beaten = [other for other in figures if other != one and all(x <= y for x, y in zip(other, one, strict=True))]
        assert beaten == []
    assert all(point.computer_kilowatts == point.cluster.racks * 132 for point in points)


def test_two_nics_side_by_side(planner: Planner) -> None:
    fast = replace(HEADLINE, nic_gigabits_per_second=800.0)
    rows = {row.figure: row for row in compare(HEADLINE, fast, planner.facts).rows}
    assert (rows["nic_available"].first, rows["nic_available"].second) == (50, 100)
    assert rows["nic_available"].ratio == 2
    assert rows["racks_recommended"].first == rows["racks_recommended"].second == 39
    assert (rows["leaf_switches"].first, rows["leaf_switches"].second) == (88, 40)


@pytest.mark.parametrize(
    ("ask", "field", "words"),
    [
        (replace(HEADLINE, platform="nvl7200"), "platform", "name one of DGX B200"),
        (replace(HEADLINE, platform="h200"), "platform", "H200-NVL-141GB, H200-SXM-141GB: name one of them"),
        (replace(HEADLINE, precision="int8"), "precision", "give one of bf16, fp16, fp4, fp8"),
        (replace(HEADLINE, workload="bert"), "workload", "name one of"),
        (replace(HEADLINE, workload="deepseekv3_671b"), "workload", "refresh with a round that has one"),
        (replace(HEADLINE, target_minutes=1.0), "target_minutes", "allow at least that, or a batch above 1,536"),
        (replace(HEADLINE, active_per_rack=80), "active_per_rack", "a rack has 72 slots"),
        (replace(HEADLINE, batch_most=100), "batch_most", "used 448 to 1536; give 448 or more"),
        (
            Ask(platform="h100", precision="fp8", workload="llama31_405b", accelerators=16),
            "accelerators",
            "the family's runs spread a replica over 128",
        ),
        (
            Ask(platform="h100", precision="bf16", model=LLAMA_405B, tokens=1e12, accelerators=8),
            "model",
            "does not fit in the 85.5 GB of each H100-SXM5-80GB",
        ),
    ],
)
def test_wrong_input_says_what_to_change(planner: Planner, ask: Ask, field: str, words: str) -> None:
    with pytest.raises(PlanError) as raised:
        answer(ask, planner.facts)
    assert raised.value.field == field
    assert words in str(raised.value)


def test_mixtures_need_runs_of_mixtures(planner: Planner) -> None:
    mixture: Workload = next(one for one in WORKLOADS if one.benchmark == "deepseekv3_671b")
    with pytest.raises(PlanError, match="no run here trains a mixture of experts"):
        answer(replace(HEADLINE, workload=None, model=mixture, tokens=1e12), planner.facts)
