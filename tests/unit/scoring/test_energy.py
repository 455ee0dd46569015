from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from pipelines.scoring.energy import run_energy

Row = dict[str, Any]
MakeRun = Callable[..., Row]
MakeRuns = Callable[..., list[Row]]
Score = Callable[..., tuple[pl.DataFrame, pl.DataFrame]]

RESULT = "training-v4.1/Org/sys/llama2_70b_lora"
THREE = [1.0, 2.0, 3.0]


def node(number: int, joules: float | None, **changed: Any) -> Row:
    """Return a meter that ran for 100 s."""
    return {
        "round": "training-v4.1",
        "source_path": f"Org/results/sys/llama2_70b_lora/power/result_{number}/node_0.txt",
        "source_sha256": f"sha {number}",
        "result_id": RESULT,
        "run_name": f"result_{number}",
        "device": "node",
        "device_name": "node_0",
        "start_ms": 1_000,
        "stop_ms": 101_000,
        "conversion_efficiency": 1.0,
        "integral_joules": joules,
        **changed,
    }


def switch(number: int, watts: float, **changed: Any) -> Row:
    changed = {"device": "switch", "device_name": "sw_0", "interconnect_power_watts": watts, **changed}
    path = f"Org/results/sys/llama2_70b_lora/power/result_{number}/sw_0.txt"
    return node(number, None, source_path=path, start_ms=None, stop_ms=None, **changed)


def energy(score: Score, runs: list[Row], power: list[Row], **given: Any) -> float | None:
    results, _ = score(runs, power=power, **given)
    value = results["energy_joules"][0]
    return None if value is None else float(value)


def test_energy_is_scaled_to_the_run_and_kept_for_the_runs_of_the_score(score: Score, runs_of: MakeRuns) -> None:
    power = [node(0, 10.0), node(1, 5_000.0), node(2, 90_000.0)]
    # The middle run is kept: 120 s of a meter that read 5,000 J in 100 s.
    assert energy(score, runs_of(THREE), power) == pytest.approx(6_000.0)


def test_conversion_and_switches_and_the_factor_count(score: Score, runs_of: MakeRuns) -> None:
    power = [
        node(1, 5_000.0, conversion_efficiency=0.5),
        node(1, 1_000.0, device_name="node_1", conversion_efficiency=None),
        switch(1, 10.0, conversion_efficiency=2.0),
    ]
    factor = {
        "round": "training-v4.1",
        "result_id": RESULT,
        "rcp_factor": 1.1,
        "source_path": "Org/results/sys/llama2_70b_lora/scaling.json",
        "source_sha256": "sha",
    }
    expected = (0.5 * 5_000 * 1.2 + 1_000 * 1.2 + 2 * 10 * 120) * 1.1
    assert energy(score, runs_of(THREE), power, factors=[factor]) == pytest.approx(expected)


def test_devices_add_up_in_the_order_of_their_names_whatever_the_order_of_rows() -> None:
    joules = [1e16, 0.1, -1e16, 0.2, 7e8, 0.3, 1e-3, 3.25]
    power = pl.DataFrame([node(0, value, device_name=f"node_{place}") for place, value in enumerate(joules)])
    power = power.with_columns(interconnect_power_watts=pl.lit(None, dtype=pl.Float64))
    runs = pl.DataFrame({"result_id": RESULT, "source_path": f"{RESULT}/result_0.txt", "raw_minutes": 100 / 60})
    expected = 0.0
    for value in joules:
        expected += value * (100 / 60 * 60) / 100
    found = {
        run_energy(runs, power.sample(fraction=1.0, shuffle=True, seed=seed))["energy_joules"][0] for seed in range(20)
    }
    assert found == {expected}


def test_a_run_s_power_folder_has_its_name_up_to_the_first_dot(score: Score, runs_of: MakeRuns) -> None:
    runs = runs_of(THREE)
    runs[1]["source_path"] = "Org/results/sys/llama2_70b_lora/result_1.raw.txt"
    assert energy(score, runs, [node(1, 5_000.0)]) == pytest.approx(6_000.0)


@pytest.mark.parametrize(
    ("power", "explanation"),
    [
        (
            [node(0, 1.0), node(2, 1.0)],
            "Power was logged, but only for 0 of the 1 runs that the score rests on.",
        ),
        ([node(1, 5.0, stop_ms=1_000)], "Power was logged, but node_0 stops measuring when it starts."),
        ([node(1, 5.0, start_ms=None)], "Power was logged, but node_0 has no start, no stop or no reading."),
        ([node(1, None)], "Power was logged, but node_0 has no start, no stop or no reading."),
        ([switch(1, 5.0)], "Power was logged, but no node was metered."),
    ],
)
def test_energy_that_cannot_be_computed_is_null_and_said(
    score: Score, runs_of: MakeRuns, power: list[Row], explanation: str
) -> None:
    results, findings = score(runs_of(THREE), power=power)
    assert results["energy_joules"].to_list() == [None]
    assert results["score_minutes"].to_list() == [2.0]
    assert findings.filter(kind="energy.none")["explanation"].to_list() == [explanation]


def test_a_result_without_power_logs_has_no_energy_and_no_finding(score: Score, runs_of: MakeRuns) -> None:
    results, findings = score(runs_of(THREE))
    assert results["energy_joules"].to_list() == [None]
    assert findings.filter(kind="energy.none").height == 0


def test_no_rule_gives_a_weak_result_an_energy(score: Score, runs_of: MakeRuns, a_system: MakeRun) -> None:
    weak = {"round_name": "hpc-v3.0", "benchmark": "deepcam", "mode": "weak"}
    power = [node(number, 5.0, result_id="hpc-v3.0/Org/sys/deepcam/weak") for number in range(5)]
    results, findings = score(runs_of([1.0] * 5, **weak), [a_system(round="hpc-v3.0")], power=power)
    assert results["energy_joules"].to_list() == [None]
    assert "no rule gives the energy" in findings.filter(kind="energy.none")["explanation"][0]
