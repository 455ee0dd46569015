"""What is told about made-up results besides their prediction: minutes, scaling, networks, equivalents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from pipelines.modelling import calibration
from pipelines.reconciling.breakdowns import strong_scaling, time_breakdown
from pipelines.reconciling.connections import connections
from pipelines.reconciling.equivalents import equivalents
from pipelines.reconciling.fabrics import fabrics
from pipelines.reconciling.members import language_model_results
from pipelines.reconciling.memories import memories
from pipelines.reconciling.networks import bandwidths, natural_experiments
from pipelines.reconciling.transfers import transfers
from pipelines.schemas import modelling_mart as mart
from pipelines.schemas import networks_mart as networks
from tests.unit.reconciling.world import SIZES, A, B, Result, expected_progress, family, world

OTHER_SOFTWARE = "software of different rounds: training-v5.0 and training-v5.1"


class Told:
    """The results and their fits, as the builders of tables take them."""

    def __init__(self, results: list[Result]) -> None:
        self.facts = world(results)
        self.known = language_model_results(**self.facts, expected_progress=expected_progress)
        self.fits = calibration.fit(self.known.filter("is_member").lazy()).collect()


def row_of(frame: pl.DataFrame, system: str, column: str = "result_id") -> dict[str, Any]:
    return frame.filter(pl.col(column).str.contains(f"/{system}/", literal=True)).row(0, named=True)


def test_minutes_of_logs_that_follow_the_model() -> None:
    told = Told(family())
    breakdown = mart.TimeBreakdown.validate(time_breakdown(told.known, told.fits))
    row = row_of(breakdown, "s32")
    steps = row["step_count"]
    assert row["ideal_seconds"] == pytest.approx(steps * 40 * A)
    assert row["bubble_seconds"] == pytest.approx(steps * 7 / 8 * A)
    assert row["fixed_seconds"] == pytest.approx(steps * B)
    assert row["beyond_model_seconds"] == pytest.approx(0, abs=1e-6)
    assert row["remainder_seconds"] == pytest.approx(8)
    assert row["no_split_reason"] is None


def test_what_the_model_does_not_give_is_told_apart() -> None:
    told = Told(family(s32=Result("s32", 32, 40, slower=1.2), s4=Result("s4", 4, 112, samples=276_480)))
    breakdown = time_breakdown(told.known, told.fits)
    assert row_of(breakdown, "s32")["beyond_model_seconds"] > 0
    scaled = row_of(breakdown, "s4")
    assert scaled["rcp_seconds"] == pytest.approx((300_000 / 276_480 - 1) * scaled["middle_run_seconds"], rel=0.05)
    assert scaled["largest_loss"] == "rcp"


def test_steps_of_one_length_are_not_split() -> None:
    told = Told([Result(f"e{place}", 8, 112, slower=1 + place / 1000) for place in range(3)])
    breakdown = time_breakdown(told.known, told.fits)
    assert breakdown["ideal_seconds"].null_count() == 3
    assert breakdown["steps_seconds"].null_count() == 0
    assert set(breakdown["no_split_reason"]) == {
        "all results of its family run the same number of micro-batches: only their step is known"
    }


def test_pairs_are_all_of_one_part_and_benchmark() -> None:
    lora = Result("lora", 4, 112, result={"benchmark": "llama2_70b_lora"})
    other = Result("part", 4, 112, result={"accelerator": "GB300 (per GPU)"})
    told = Told([*family(), lora, other])
    pairs = mart.StrongScaling.validate(strong_scaling(told.known, told.fits))
    assert pairs.height == 10
    assert (pairs["size_ratio"] > 1).all()
    assert (pairs["efficiency_throughput"] - pairs["efficiency_model"]).abs().max() < 1e-9
    assert pairs["no_efficiency_reason"].null_count() == 10


@pytest.mark.parametrize(
    ("change", "flag", "reason"),
    [
        ({"launch": {"precision": "fp4"}}, "is_mixed_precision", "precisions differ or are not known: fp8 and fp4"),
        (
            {"round": "training-v5.1"},
            "is_mixed_software",
            "software of different rounds: training-v5.0 and training-v5.1",
        ),
        ({"launch": {"virtual_pipeline": 4}}, "is_mixed_layout", None),
    ],
)
def test_a_ratio_that_is_no_scaling_is_flagged(change: dict[str, Any], flag: str, reason: str | None) -> None:
    told = Told([Result("s4", 4, 112), replace(Result("s32", 32, 40), **change)])
    pair = strong_scaling(told.known, told.fits).row(0, named=True)
    assert pair[flag]
    assert pair["no_efficiency_reason"] == reason
    assert (pair["efficiency_score"] is None) == (reason is not None)
    assert pair["efficiency_model"] is None


def _with_nic(system: str, size: tuple[int, int], gigabytes: float, slower: float = 1.0, **changes: Any) -> Result:
    description = {"nic_gigabytes_per_second_per_accelerator": gigabytes}
    return Result(system, *size, slower=slower, description=description, **changes)


REFERENCE = [_with_nic(name, size, 50.0) for name, size in SIZES.items()]


def test_a_faster_network_that_gains_nothing_contradicts_the_window_model() -> None:
    """Steps of one micro-batch leave most of the reduction exposed; twice the NIC should take much of it off."""
    fast = _with_nic("fast", (64, 2), 100.0)
    told = Told([*REFERENCE, fast])
    listed = networks.NaturalExperiments.validate(natural_experiments(told.known, told.fits))
    first = listed.row(0, named=True)
    assert (first["place"], first["verdict"]) == (1, "contradicts")
    assert first["result_id"].endswith("fast/llama31_405b")
    assert first["measured_change_percent"] == pytest.approx(0, abs=1e-6)
    assert first["window_change_percent"] < -6
    assert (first["reference_count"], first["reference_nic_gigabytes_per_second"]) == (5, 50.0)
    assert first["is_same_software"]


def test_a_faster_network_that_gains_as_modelled_supports_it() -> None:
    plain = Told([*REFERENCE, _with_nic("fast", (64, 2), 100.0)])
    change = natural_experiments(plain.known, plain.fits)["window_change_percent"][0]
    told = Told([*REFERENCE, _with_nic("fast", (64, 2), 100.0, slower=1 + change / 100)])
    first = natural_experiments(told.known, told.fits).row(0, named=True)
    assert first["verdict"] == "supports"
    assert first["measured_change_percent"] == pytest.approx(first["window_change_percent"], abs=1.0)


def test_contradicting_pairs_come_first_and_other_software_is_told() -> None:
    fast = [
        _with_nic("calm", (32, 40), 100.0),
        _with_nic("fast", (64, 2), 100.0),
        _with_nic("later", (64, 3), 100.0, round="training-v5.1"),
    ]
    told = Told([*REFERENCE, *fast])
    listed = natural_experiments(told.known, told.fits)
    assert listed["verdict"].to_list()[:3] == ["contradicts", "contradicts", "too_close_to_call"]
    assert set(listed["verdict"][2:]) == {"too_close_to_call"}
    assert listed["place"].to_list() == list(range(1, listed.height + 1))
    gaps = (listed["measured_change_percent"] - listed["window_change_percent"]).abs()
    assert gaps[0] > gaps[1]
    later = listed.filter(pl.col("result_id").str.contains("/later/")).row(0, named=True)
    assert not later["is_same_software"]
    assert "Their software is training-v5.0, its own training-v5.1." in later["explanation"]


def test_one_release_of_a_framework_is_one_software_whatever_the_round() -> None:
    fast = _with_nic("fast", (64, 2), 100.0, round="training-v6.0")
    results = [replace(one, description=one.description | {"framework": "Release 25.09"}) for one in (*REFERENCE, fast)]
    told = Told(results)
    first = natural_experiments(told.known, told.fits).row(0, named=True)
    assert (first["verdict"], first["software"], first["is_same_software"]) == ("contradicts", "Release 25.09", True)


def test_equal_networks_and_steps_inside_a_domain_are_no_experiment() -> None:
    inside = _with_nic("one", (1, 112), 100.0)
    told = Told([*REFERENCE, _with_nic("same", (64, 2), 55.0), inside])
    assert natural_experiments(told.known, told.fits).is_empty()


def test_bandwidth_of_a_system_without_a_stated_network() -> None:
    nothing = Result("s32", 32, 40, description={"nic_gigabytes_per_second_per_accelerator": None})
    told = Told(family(s32=nothing))
    table = networks.Bandwidth.validate(bandwidths(told.known, told.fits))
    row = row_of(table, "s32")
    assert (row["verdict"], row["nic_utilisation"], row["binding_tier"]) == (None, None, None)
    assert row["needed_gigabytes_per_second"] > 0
    assert row["explanation"].endswith("what there is, is not stated.")
    assert row_of(table, "s16")["flat_scale_out_bytes"] > row_of(table, "s16")["scale_out_bytes"]


def test_a_step_inside_one_domain_needs_no_network() -> None:
    told = Told([Result("one", 1, 112)])
    row = bandwidths(told.known, told.fits).row(0, named=True)
    assert row["scale_out_bytes"] == 0
    assert row["explanation"] == "Nothing crosses the scale-up domain in a step, so the network does not matter."


@pytest.mark.parametrize(
    ("launch", "description", "verdict"),
    [
        ({}, {}, "pipeline_inside"),
        ({}, {"slots_per_rack": None, "accelerators_per_node": 8, "racks_stated": None}, "holds"),
        ({}, {"slots_per_rack": None, "accelerators_per_node": 2, "racks_stated": None}, "broken"),
        ({"expert_parallel": 64}, {"slots_per_rack": None, "accelerators_per_node": 8, "racks_stated": None}, "broken"),
        ({}, {"slots_per_rack": 4096, "racks_stated": None}, "one_domain"),
        ({"tensor_parallel": None}, {}, None),
    ],
)
def test_rule_of_what_stays_inside(launch: dict[str, Any], description: dict[str, Any], verdict: str | None) -> None:
    told = Told([Result("s32", 32, 40, launch=launch, description=description)])
    table = networks.Connectivity.validate(connections(told.facts["systems"], told.facts["accelerators"], told.known))
    assert table.row(0, named=True)["rule_verdict"] == verdict


def test_the_largest_model_of_a_system_is_told() -> None:
    both = [Result("s32", 32, 40), Result("s32", 32, 40, result={"benchmark": "llama31_8b"})]
    told = Told(both)
    systems = told.facts["systems"].unique()
    row = connections(systems, told.facts["accelerators"], told.known).row(0, named=True)
    assert row["result_id"].endswith("llama31_405b")


def test_a_system_without_accelerators_has_no_row() -> None:
    told = Told([Result("s32", 32, 40, description={"accelerator_count": 0})])
    assert connections(told.facts["systems"], told.facts["accelerators"], told.known).is_empty()


def test_equivalents_of_a_part_twice_as_fast() -> None:
    fast = [
        Result(f"f{name}", *size, slower=0.5, result={"accelerator": "GB300 (per GPU)"}) for name, size in SIZES.items()
    ]
    told = Told([*family(), *fast])
    table = mart.Equivalents.validate(equivalents(told.known, told.fits, told.facts["accelerators"], expected_progress))
    row = row_of(table.filter(accelerator="GB300 (per GPU)"), "s32")
    assert row["basis"] == "family"
    assert row["equivalent_accelerator_count"] < 0.6 * row["accelerator_count"]
    assert row["low_accelerator_count"] <= row["equivalent_accelerator_count"] <= row["high_accelerator_count"]
    assert row["predicted_minutes"] <= row["score_minutes"]
    back = row_of(table.filter(accelerator="GB200 (per GPU)"), "fs8")
    assert back["equivalent_accelerator_count"] > back["accelerator_count"]


def test_a_result_is_not_its_own_equivalent() -> None:
    told = Told(family())
    table = equivalents(told.known, told.fits, told.facts["accelerators"], expected_progress)
    assert set(table["accelerator"]) <= {"GB300 (per GPU)"}
    assert set(table["basis"]) <= {"physical_prior"}


def test_a_part_too_small_for_any_layout_is_not_told() -> None:
    told = Told(family())
    small = told.facts["accelerators"].with_columns(memory_bytes=pl.lit(10**9, pl.Int64))
    assert equivalents(told.known, told.fits, small, expected_progress).is_empty()


def test_a_run_that_cannot_fit_says_so() -> None:
    tight = Told([Result("s32", 32, 40, result={"accelerator": "GB300 (per GPU)"})])
    row = mart.Memory.validate(memories(tight.known)).row(0, named=True)
    assert row["fits_with"] == "selective_recompute"
    for memory_bytes, expected in ((80 * 10**9, "full_recompute"), (10**9, "nothing"), (None, None)):
        known = tight.known.with_columns(memory_bytes=pl.lit(memory_bytes, pl.Int64))
        assert memories(known).row(0, named=True)["fits_with"] == expected


def test_a_pool_of_one_part_transfers_nothing() -> None:
    told = Told(family())
    rows = mart.Transfers.validate(transfers(told.known))
    assert set(rows["pool"]) == {"llama31_405b/all", "llama31_405b/fp8"}
    assert rows["held_out_mape_percent"].null_count() == 2
    assert set(rows["no_estimate_reason"]) == {"no other part has a run in this pool"}


def test_fabrics_of_systems_take_their_nics() -> None:
    nics = {"number_of_nodes": 512, "nic_count_per_node": 4, "nic_gigabits_per_second": 400.0}
    told = Told([Result("s32", 32, 40, description=nics), Result("one", 1, 112, description=nics)])
    connectivity = connections(told.facts["systems"], told.facts["accelerators"], told.known)
    table = networks.Fabrics.validate(fabrics(connectivity, told.facts["systems"]))
    row = table.filter(kind="system").row(0, named=True)
    assert table.filter(kind="system").height == 1
    assert (row["endpoints"], row["radix"], row["rails"], row["verdict"]) == (2048, 64, 4, None)
    assert (row["leaf_switches"], row["racks_per_rail_group"]) == (64, 1)


def test_nothing_gives_nothing() -> None:
    told = Told([])
    parts = told.facts["accelerators"]
    assert time_breakdown(told.known, told.fits).is_empty()
    assert strong_scaling(told.known, told.fits).is_empty()
    assert bandwidths(told.known, told.fits).is_empty()
    assert natural_experiments(told.known, told.fits).is_empty()
    assert connections(told.facts["systems"], parts, told.known).is_empty()
    assert memories(told.known).is_empty()
    assert equivalents(told.known, told.fits, parts, expected_progress).is_empty()
    assert transfers(told.known).is_empty()
