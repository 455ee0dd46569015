"""Plans in a made-up world whose logs follow the model exactly: what is answered, told apart, varied and refused."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import polars as pl
import pytest

from pipelines.modelling.workloads import Workload
from pipelines.reconciling.planning import (
    Facts,
    answer,
    as_dict,
    compare,
    frontier,
    list_platforms,
    list_precisions,
    list_workloads,
)
from pipelines.reconciling.planning_answers import Answer
from pipelines.reconciling.planning_asks import Ask, PlanError, Prices
from pipelines.reconciling.planning_efficiency import gains_per_doubling
from pipelines.reconciling.planning_words import at_work_in_words
from pipelines.schemas.facts_mart import Accelerators, Platforms, ResolvedFacts
from tests.unit.reconciling.world import (
    C0,
    C1,
    INTERVAL,
    NEEDED,
    REST,
    A,
    B,
    expected_progress,
    family,
    frame_of,
    world,
)

PARTS = [
    {
        "accelerator": "GB200 (per GPU)",
        "bf16_dense_teraflops": 2500.0,
        "fp8_dense_teraflops": 5000.0,
        "fp4_dense_teraflops": 10_000.0,
        "memory_bytes": 190 * 10**9,
        "scale_up_gigabytes_per_second_per_direction": 900.0,
        "scale_up_domain_accelerators": 72,
        "nic_gigabits_per_second": 400.0,
    },
    {
        "accelerator": "H100-SXM5-80GB",
        "bf16_dense_teraflops": 989.4,
        "fp8_dense_teraflops": 1978.9,
        "memory_bytes": 85 * 10**9,
        "scale_up_gigabytes_per_second_per_direction": 450.0,
        "scale_up_domain_accelerators": 8,
        "power_watts": 700.0,
    },
    {"accelerator": "H100-NVL-94GB", "fp8_dense_teraflops": 1671.0, "memory_bytes": 100 * 10**9},
]
PLATFORMS = [
    {
        "platform": "GB200 NVL72",
        "accelerator": "GB200 (per GPU)",
        "accelerator_count": 72,
        "active_accelerator_count": 64,
        "accelerators_per_node": 4,
        "rack_count": 1.0,
        "nic_gigabits_per_second": 400.0,
    },
    {
        "platform": "DGX H100",
        "accelerator": "H100-SXM5-80GB",
        "accelerator_count": 8,
        "accelerators_per_node": 8,
    },
]
DRAWN = [
    {"subject": "GB200 NVL72", "metric": "power_kilowatts", "value": 126.0, "value_low": 120.0, "value_high": 132.0}
]
SMALL = Workload(
    benchmark="small",
    model="Small 1B",
    layers=4,
    hidden=2048,
    heads=8,
    kv_heads=8,
    head_dim=256,
    ffn=8192,
    ffn_matrices=3,
    vocabulary=32_000,
    sequence_length=8192,
    vector_parameters=18_432,
)
BENCHMARK = Ask(platform="gb200-nvl72", precision="fp8", workload="llama31_405b", target_minutes=30.0)
MODEL = Ask(platform="gb200-nvl72", precision="fp8", model=SMALL, tokens=1e12, days=10, batch_most=256)


@pytest.fixture(scope="module")
def facts() -> Facts:
    tables = world(family()) | {
        "accelerators": frame_of(Accelerators, PARTS),
        "platforms": frame_of(Platforms, PLATFORMS),
        "resolved_facts": frame_of(ResolvedFacts, DRAWN),
    }
    return Facts.of(**tables, expected_progress=expected_progress)


@pytest.fixture(scope="module")
def plan(facts: Facts) -> Any:
    @cache
    def told(ask: Ask) -> Answer:
        return answer(ask, facts)

    return told


def minutes(data_parallel: int, micro_batches: int) -> float:
    batch = data_parallel * micro_batches
    steps = NEEDED / batch * (A * (micro_batches + 7 / 8) + B)
    return (steps + NEEDED / INTERVAL * (C0 + C1 / data_parallel) + REST) / 60


def fewest_replicas(target: float) -> tuple[int, float]:
    """Return the fewest replicas that meet a target at the best batch of the round, and the time; by trying all."""
    for data_parallel in range(1, 200):
        batches = [m for m in range(8, 2000) if 448 <= data_parallel * m <= 1280]
        best = min((minutes(data_parallel, m) for m in batches), default=float("inf"))
        if best <= target:
            return data_parallel, best
    raise AssertionError(target)


def test_a_deadline_is_met_by_the_fewest_racks_that_meet_it(plan: Any) -> None:
    told = plan(BENCHMARK)
    data_parallel, best = fewest_replicas(30.0)
    assert told.racks.recommended == told.cluster.data_parallel == data_parallel
    assert told.time.minutes == pytest.approx(best, rel=1e-6)
    assert told.basis.kind == "calibrated"
    assert told.basis.micro_batch_seconds == pytest.approx(A)
    assert told.racks.low <= told.racks.recommended <= told.racks.high
    assert told.cluster.memory_needed_bytes < told.cluster.memory_available_bytes
    assert told.nearest is not None
    assert told.nearest.is_same_layout


def test_goodput_shortens_what_can_be_trained(plan: Any) -> None:
    told = plan(replace(BENCHMARK, goodput=0.8, spare_racks=2))
    data_parallel, best = fewest_replicas(24.0)
    assert told.racks.recommended == data_parallel
    assert told.racks.ordered == data_parallel + 2
    assert told.time.on_the_calendar_minutes == pytest.approx(best / 0.8, rel=1e-3), "a little more traffic is exposed"
    assert "0.8 of the time trains" in told.time.goodput_sentence
    assert told.fabric is not None
    assert told.fabric.host_cables == (data_parallel + 2) * 72


def test_a_size_is_given_its_shortest_time(plan: Any) -> None:
    told = plan(replace(BENCHMARK, target_minutes=None, racks=20, spare_racks=4))
    assert told.racks.recommended == 16
    best = min(minutes(16, m) for m in range(28, 81))
    assert told.time.minutes == pytest.approx(best, rel=1e-6)
    assert told.binding.constraint == "racks"
    assert (told.racks.low, told.racks.high) == (16, 16)


def test_power_feeds_whole_racks(plan: Any) -> None:
    """2.5 MW at the meter with PUE 1.25 are 2,000 kW at the computers: 15 racks of 132 kW."""
    told = plan(replace(BENCHMARK, target_minutes=None, megawatts=2.5, pue=1.25))
    assert told.racks.recommended == 15
    assert told.binding.constraint == "power"
    assert told.power is not None
    assert (told.power.computer_kilowatts_low, told.power.computer_kilowatts_high) == (1800, 1980)
    assert told.power.facility_kilowatts_high == pytest.approx(2475)


def test_prices_make_a_cost(plan: Any) -> None:
    prices = Prices(currency="EUR", accelerator=100.0, nic=10.0, switch=50.0, cable=1.0, rack=20.0, kilowatt_hour=0.5)
    told = plan(replace(MODEL, days=None, racks=3, prices=prices))
    assert told.cost is not None
    assert told.fabric is not None
    assert told.cost.accelerators == 3 * 72 * 100
    switches = told.fabric.leaf_switches + told.fabric.spine_switches + told.fabric.core_switches
    cables = told.fabric.host_cables + told.fabric.leaf_spine_cables + told.fabric.spine_core_cables
    assert told.cost.network == 3 * 72 * 10 + switches * 50 + cables
    assert told.cost.total == told.cost.accelerators + told.cost.network + 3 * 20
    assert told.cost.energy_bound == pytest.approx(3 * 132 * told.time.minutes / 60 * 0.5)
    assert plan(BENCHMARK).cost is None
    assert "of what the accelerators cost" in plan(BENCHMARK).break_even.sentence


def test_what_lies_outside_the_runs_is_said_first(plan: Any) -> None:
    assert plan(BENCHMARK).extrapolations == ()
    larger = plan(replace(BENCHMARK, target_minutes=None, racks=64))
    assert any("2.00 times the largest run of the family" in one for one in larger.extrapolations)
    faster = plan(replace(BENCHMARK, nic_gigabits_per_second=800.0))
    assert any("the plan has 100" in one for one in faster.extrapolations)
    model = plan(MODEL)
    assert any("Small 1B is no benchmark here" in one for one in model.extrapolations)
    assert any("lies beyond those of the runs" in one for one in model.extrapolations)
    assert model.basis.error_percent is None
    assert model.basis.error_reason


def test_each_assumption_is_varied_alone(plan: Any) -> None:
    told = {one.name: one for one in plan(BENCHMARK).assumptions}
    goodput = told["goodput"]
    assert (goodput.from_value, goodput.moves) == (plan(BENCHMARK).racks.recommended, "racks")
    assert goodput.to_value == fewest_replicas(27.0)[0]
    assert told["width of gradients on the wire"].to_value > told["width of gradients on the wire"].from_value
    assert told["rated power of a rack"].change_percent == pytest.approx(100 * (120 / 132 - 1))
    figures = [one.moves for one in plan(BENCHMARK).assumptions]
    assert figures == sorted(figures, key=("racks", "needed_gigabytes_per_second", "kilowatts").index)


def test_a_model_is_planned_by_efficiency_in_a_range(plan: Any) -> None:
    told = plan(MODEL)
    assert told.basis.kind == "points"
    assert told.time.minutes <= 10 * 1440
    assert told.time.low_minutes <= told.time.minutes <= told.time.high_minutes
    assert told.time.steps == pytest.approx(1e12 / 8192 / told.cluster.global_batch_size)
    assert told.cluster.global_batch_size <= 256
    assert told.alternative is None
    assert told.inputs.samples == pytest.approx(1e12 / 8192)


def test_another_precision_is_told_by_what_a_doubled_peak_gains(plan: Any) -> None:
    told = plan(replace(MODEL, precision="bf16"))
    assert any("no run here is at bf16" in one for one in told.extrapolations)
    assert told.basis.efficiency_low < told.basis.efficiency < told.basis.efficiency_high
    assert told.basis.efficiency > plan(MODEL).basis.efficiency


def test_another_part_is_told_by_the_others(plan: Any) -> None:
    told = plan(replace(MODEL, platform="dgx h100", nic_gigabits_per_second=400.0, accelerators_per_rack=16))
    assert any("no run here is of H100-SXM5-80GB" in one for one in told.extrapolations)
    assert told.inputs.accelerators_per_rack == told.inputs.active_per_rack == 16
    assert told.power is not None
    assert told.power.basis == "part"
    assert told.power.kilowatts_per_rack_high == pytest.approx(16 * 0.7)
    assert told.inputs.nic_basis == "as asked"


def test_an_answer_is_plain_data_and_can_be_asked_again(facts: Facts, plan: Any) -> None:
    told = plan(MODEL)
    assert json.loads(json.dumps(as_dict(told)))["racks"]["recommended"] == told.racks.recommended
    assert answer(told.ask, facts) == told


def test_frontier_holds_the_plan(facts: Facts, plan: Any) -> None:
    told, whole = plan(MODEL), frontier(MODEL, facts)
    points = whole.points
    assert (whole.inputs, whole.basis) == (told.inputs, told.basis)
    same = [point.cluster for point in points if point.cluster.racks == told.cluster.racks]
    fastest = min(same, key=lambda one: one.minutes)
    assert (fastest.layout, fastest.data_parallel) == (told.cluster.layout, told.cluster.data_parallel)
    assert fastest.minutes == pytest.approx(told.time.minutes)
    racks = [point.cluster.racks for point in points]
    assert racks == sorted(racks)
    assert all(point.computer_kilowatts == 132 * point.cluster.racks for point in points)


def test_two_asks_side_by_side(facts: Facts) -> None:
    rows = {row.figure: row for row in compare(MODEL, replace(MODEL, days=5), facts).rows}
    assert rows["racks_recommended"].second >= rows["racks_recommended"].first
    assert rows["layout"].ratio is None
    assert rows["minutes"].ratio == pytest.approx(rows["minutes"].second / rows["minutes"].first)


def test_what_can_be_named(facts: Facts) -> None:
    assert list_workloads(facts) == ["llama31_405b"]
    assert list_platforms(facts) == [
        "DGX H100", "GB200 NVL72", "GB200 (per GPU)", "H100-NVL-94GB", "H100-SXM5-80GB",
    ]  # fmt: skip
    assert list_precisions("gb200-nvl72", facts) == ["bf16", "fp4", "fp8"]


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ("sxm5-80gb", "H100-SXM5-80GB"),
        ("SXM5 80GB", "H100-SXM5-80GB"),
        ("nvl72", "GB200 (per GPU)"),
        ("per gpu", "GB200 (per GPU)"),
    ],
)
def test_a_platform_is_found_without_the_first_word_of_its_name(plan: Any, asked: str, part: str) -> None:
    told = plan(replace(MODEL, days=None, racks=2, platform=asked, nic_gigabits_per_second=400.0))
    assert told.inputs.accelerator == part


def test_racks_hold_whole_replicas_however_many_may_be_at_work(plan: Any) -> None:
    told = plan(replace(BENCHMARK, active_per_rack=72))
    assert (told.racks.active_per_rack, told.inputs.active_per_rack) == (64, 72)
    assert told.cluster.accelerators == told.racks.recommended * 64
    assert "64 of 72 accelerators at work in each: whole replicas of 64 leave 8 idle" in told.racks.sentence
    (other,) = (one for one in plan(BENCHMARK).assumptions if one.name == "accelerators at work per rack")
    assert other.sentence.endswith("were it 72, then still 32 racks: whole replicas of 64 leave 8 idle.")


@pytest.mark.parametrize(
    ("size", "told"),
    [
        ((1000, 32, 8, 32, 32), "32 of 32 accelerators at work in each but one, filled in part with 8"),
        ((160, 3, 32, 72, 72), "64 of 72 accelerators at work in each but one, filled in part with 32: whole "
         "replicas of 32 leave 8 idle"),
        ((1024, 32, 8, 32, 32), "32 of 32 accelerators at work in each"),
        ((8, 1, 8, 32, 32), "8 of 32 accelerators at work"),
        ((256, 4, 128, 72, 72), "64 of 72 accelerators at work in each: whole replicas of 128 leave 8 idle"),
        ((200, 4, 100, 64, 72), "50 of 72 accelerators at work in each: whole replicas of 100 leave 14 idle"),
        ((270, 6, 135, 64, 72), "45 of 72 accelerators at work in each: whole replicas of 135 leave 19 idle"),
        ((260, 6, 130, 64, 72), "up to 44 of 72 accelerators at work in each: whole replicas of 130 leave 20 idle"),
    ],
)  # fmt: skip
def test_how_racks_are_filled(size: tuple[int, int, int, int, int], told: str) -> None:
    assert at_work_in_words(*size) == told


def test_racks_that_shorten_nothing_are_told_by_the_batch(plan: Any) -> None:
    """1,280 samples are 8 micro-batches of 160 replicas; 161 would have 7 each, and are slower."""
    told = plan(replace(BENCHMARK, target_minutes=None, racks=161))
    assert told.racks.recommended == 160
    assert told.binding.constraint == "batch"
    assert "cannot keep more than 10,240 of 10,304 accelerators busy" in told.binding.sentence
    part = plan(replace(BENCHMARK, target_minutes=None, racks=20, active_per_rack=70))
    assert part.binding.constraint == "racks", "6 of 70 are idle for want of a whole replica"


def test_the_interval_says_which_runs_are_missing(plan: Any) -> None:
    told = plan(replace(MODEL, precision="bf16"))
    assert told.time.interval_basis == f"the range of the efficiency; its error is not known: {told.basis.error_reason}"
    assert "no run of this work on this part at this precision" in told.time.interval_basis


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"workload": None}, "workload", "name a benchmark, or give a model's config.json"),
        ({"model": SMALL}, "workload", "one of the two"),
        ({"tokens": 1e12}, "tokens", "leave tokens and samples out"),
        ({"target_minutes": None}, "target_minutes", "found none"),
        ({"racks": 3}, "racks", "found target minutes and racks"),
        ({"target_minutes": 0.0}, "target_minutes", "expected more than zero, found 0.0"),
        ({"target_minutes": float("nan")}, "target_minutes", "expected more than zero"),
        ({"target_minutes": None, "racks": 0}, "racks", "expected 1 to 10,000,000, found 0"),
        ({"spare_racks": -1}, "spare_racks", "expected zero or more"),
        ({"goodput": -0.5}, "goodput", "expected a share above 0 and up to 1, found -0.5"),
        ({"goodput": 1.2}, "goodput", "up to 1, found 1.2"),
        ({"oversubscription": 0.5}, "oversubscription", "expected 1 (none) or more"),
        ({"pue": 0.9}, "pue", "expected 1 or more"),
        ({"nic_gigabits_per_second": 0.0}, "nic_gigabits_per_second", "expected more than zero"),
    ],
)
def test_an_ask_that_cannot_be_is_refused_at_once(changes: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(PlanError) as raised:
        replace(BENCHMARK, **changes)
    assert (raised.value.field, words in str(raised.value)) == (field, True), str(raised.value)


@pytest.mark.parametrize("price", [{"accelerator": 0.0}, {"accelerator": 1.0, "nic": -1.0}])
def test_prices_are_prices(price: dict[str, float]) -> None:
    with pytest.raises(PlanError, match="price of"):
        Prices(currency="EUR", **price)


@pytest.mark.parametrize(
    ("ask", "field", "words"),
    [
        (replace(BENCHMARK, platform="abacus"), "platform", "name one of DGX H100, GB200 NVL72"),
        (replace(BENCHMARK, platform="h"), "platform", "'h' is not known"),
        (replace(BENCHMARK, platform=" - "), "platform", "name one, such as"),
        (replace(MODEL, platform="dgx h100"), "nic_gigabits_per_second", "give the Gb/s of one accelerator"),
        (replace(MODEL, platform="H100-NVL-94GB"), "nic_gigabits_per_second", "none is known for H100-NVL-94GB"),
        (replace(BENCHMARK, precision="fp2"), "precision", "give one of bf16, fp4, fp8"),
        (replace(MODEL, batch_most=8193), "batch_most", "give at most 8,192 samples of 8,192 tokens"),
        (replace(BENCHMARK, accelerators_per_rack=36), "accelerators_per_rack", "set active per rack"),
        (replace(BENCHMARK, active_per_rack=73), "active_per_rack", "72 slots"),
        (replace(BENCHMARK, workload="llama31_8b"), "workload", "refresh with a round that has one"),
        (replace(BENCHMARK, workload="chess"), "workload", "name one of gpt3"),
        (replace(BENCHMARK, target_minutes=0.5), "target_minutes", "allow at least that"),
        (replace(BENCHMARK, target_minutes=None, accelerators=32), "accelerators", "a replica over 64 accelerators"),
        (replace(BENCHMARK, target_minutes=None, megawatts=0.1), "megawatts", "feed no rack of 132 kW"),
        (replace(BENCHMARK, target_minutes=None, racks=2, spare_racks=2), "racks", "leave none at work"),
        (
            replace(MODEL, days=None, megawatts=1.0, platform="h100-nvl", nic_gigabits_per_second=400.0),
            "platform",
            "memory or scale-up bandwidth of H100-NVL-94GB is in no fact here",
        ),
        (
            replace(MODEL, model=replace(SMALL, layers=126, hidden=16_384, ffn=53_248), days=None, accelerators=2),
            "model",
            "Small 1B does not fit in the 190.0 GB of each GB200 (per GPU) at fp8",
        ),
    ],
)
def test_an_ask_that_nothing_supports_says_what_to_change(facts: Facts, ask: Ask, field: str, words: str) -> None:
    with pytest.raises(PlanError) as raised:
        answer(ask, facts)
    assert (raised.value.field, words in str(raised.value)) == (field, True), str(raised.value)


def test_a_mixture_needs_runs_of_mixtures(facts: Facts) -> None:
    mixture = replace(SMALL, moe_layers=8, experts=8, experts_per_token=2, expert_ffn=2048)
    with pytest.raises(PlanError, match="no run here trains a mixture of experts"):
        answer(replace(MODEL, model=mixture), facts)


def test_no_runs_support_nothing(facts: Facts) -> None:
    empty = replace(facts, known=facts.known.clear(), fits=facts.fits.clear())
    with pytest.raises(PlanError, match="no run of it is in the tables"):
        answer(BENCHMARK, empty)
    with pytest.raises(PlanError, match="no run here trains a dense language model"):
        answer(MODEL, empty)


def test_logs_that_are_slower_by_turns_widen_the_range() -> None:
    noisy = [replace(one, slower=1 + 0.05 * (-1) ** place) for place, one in enumerate(family())]
    tables = world(noisy) | {
        "accelerators": frame_of(Accelerators, PARTS),
        "platforms": frame_of(Platforms, PLATFORMS),
        "resolved_facts": frame_of(ResolvedFacts, DRAWN),
    }
    told = answer(BENCHMARK, Facts.of(**tables, expected_progress=expected_progress))
    assert told.racks.low < told.racks.high
    assert told.basis.error_percent is not None
    assert told.basis.error_percent > 3
    assert told.racks.noise_low is not None
    assert told.racks.noise_high is not None
    assert told.racks.noise_low < told.racks.recommended < told.racks.noise_high


def test_what_a_doubled_peak_gains() -> None:
    points = pl.DataFrame(
        {
            "accelerator": ["X", "X", "X"],
            "benchmark": ["a", "a", "b"],
            "peak_tflops": [1000.0, 2000.0, 1000.0],
            "teraflops": [400.0, 400.0 * 2**0.5, 300.0],
        }
    )
    assert gains_per_doubling(points) == pytest.approx((0.5, 0.5, 0.5))
    assert gains_per_doubling(points.clear()) == (0.0, 0.5, 1.0)


def test_twice_the_tokens_take_twice_the_time(plan: Any) -> None:
    once = plan(replace(MODEL, days=None, racks=4))
    twice = plan(replace(MODEL, days=None, racks=4, tokens=2e12))
    assert twice.cluster.layout == once.cluster.layout
    assert twice.time.minutes == pytest.approx(2 * once.time.minutes)


def test_more_time_takes_fewer_racks(plan: Any) -> None:
    long = replace(MODEL, tokens=2e13, batch_most=1024)
    short, whole = plan(replace(long, days=10)), plan(replace(long, days=40))
    assert whole.racks.recommended < short.racks.recommended
    assert short.time.minutes <= 14_400 < whole.time.minutes <= 4 * 14_400


def test_tokens_and_samples_say_the_same(plan: Any) -> None:
    by_samples = plan(replace(MODEL, tokens=None, samples=1e12 / SMALL.sequence_length))
    assert by_samples.cluster == plan(MODEL).cluster


def test_days_and_minutes_say_the_same(plan: Any) -> None:
    in_minutes = plan(replace(MODEL, days=None, target_minutes=10 * 1440.0))
    assert in_minutes.cluster == plan(MODEL).cluster


def test_a_slow_network_is_told_not_enough_and_costs_time(plan: Any) -> None:
    size = replace(BENCHMARK, target_minutes=None, racks=32)
    usual, slow = plan(size), plan(replace(size, nic_gigabits_per_second=50.0))
    assert slow.network.verdict == "not_enough"
    assert slow.network.exposed_seconds > usual.network.exposed_seconds
    assert slow.time.minutes > usual.time.minutes
    assert slow.break_even.modelled_percent > usual.break_even.modelled_percent


@pytest.mark.parametrize(("allowed", "at_work"), [(36, 32), (48, 32), (63, 32), (64, None), (71, None), (72, None)])
def test_other_domains_than_the_runs_had_are_said(plan: Any, allowed: int, at_work: int | None) -> None:
    """A domain has at work what the rack's sentence says: whole replicas, not all that may be."""
    told = plan(replace(BENCHMARK, target_minutes=None, racks=40, active_per_rack=allowed))
    assert told.cluster.replica_accelerators == 64
    assert f"{at_work or 64} of 72 accelerators at work in each" in told.racks.sentence
    said = [one for one in told.extrapolations if "at work in a domain" in one]
    expected = f"the family's runs had 64 accelerators at work in a domain, the plan has {at_work}"
    assert said == ([] if at_work is None else [expected])


def test_nodes_are_domains_whatever_is_at_work_in_a_rack(plan: Any) -> None:
    asked = replace(
        BENCHMARK, platform="dgx h100", target_minutes=None, accelerators=512, nic_gigabits_per_second=400.0
    )
    said = [one for one in plan(asked).extrapolations if "at work in a domain" in one]
    assert said == []


def test_tensor_groups_fill_a_node_evenly(plan: Any) -> None:
    """Six heads on nodes of eight: groups of 1 or 2, never of 3 or 6, which would straddle nodes."""
    six = replace(SMALL, heads=6, kv_heads=6, hidden=1536)
    asked = replace(MODEL, model=six, platform="dgx h100", nic_gigabits_per_second=400.0, days=None, accelerators=8)
    assert plan(asked).cluster.tensor_parallel in (1, 2)
