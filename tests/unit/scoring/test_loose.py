from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from pipelines.schemas import core
from pipelines.scoring.loose import LooseTables, score_loose
from pipelines.scoring.rules import load_rules

Row = dict[str, Any]
RunsOf = Callable[..., list[Row]]
ASystem = Callable[..., Row]


def frame(schema: Any, rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=schema.create_empty().schema, orient="row")


def score(
    runs: list[Row],
    systems: list[Row],
    factor: float | None = None,
    ruleset: str = "training-v5.0",
    *,
    is_own: bool = True,
) -> Row:
    factors = [
        {
            "round": runs[0]["round"],
            "result_id": runs[0]["result_id"],
            "rcp_factor": factor,
            "source_path": "scaling.json",
        }
    ]
    tables = LooseTables(
        runs=frame(core.Runs, runs),
        evals=frame(core.Evals, []),
        systems=frame(core.Systems, systems),
        scaling_factors=frame(core.ScalingFactors, factors if factor else []),
        power_readings=frame(core.PowerReadings, []),
    )
    scored = score_loose(tables, load_rules(), ruleset, is_own_ruleset=is_own)
    assert scored.height == 1
    return scored.row(0, named=True)


@pytest.fixture
def three(runs_of: RunsOf) -> Callable[..., list[Row]]:
    """Three runs of llama31_405b at batch 1,152, whose reference mean in v5.0 is 322,560 and minimum 276,480."""

    def build(minutes: tuple[float, ...] = (27.0, 26.0, 28.0), **spoilt: Any) -> list[Row]:
        given = {"samples_to_converge": 300_000.0, "global_batch_size": 1152, "samples_unit": "samples"} | spoilt
        return runs_of(minutes, round_name="training-v5.0", benchmark="llama31_405b", **given)

    return build


@pytest.fixture
def described(a_system: ASystem) -> list[Row]:
    return [a_system(round="training-v5.0", source_path="Org/systems/sys.json")]


def test_the_files_factor_applies_and_stands_beside_the_recomputed_one(three: RunsOf, described: list[Row]) -> None:
    row = score(three(), described, factor=1.0752)
    assert (row["raw_minutes"], row["rcp_factor"], row["rcp_factor_source"]) == (27.0, 1.0752, "file")
    assert row["score_minutes"] == 27.0 * 1.0752
    assert row["rcp_factor_recomputed"] == pytest.approx(322560 / 300000, rel=1e-12)
    assert (row["rcp"], row["would_pass"], row["would_not_pass_because"]) == ("pass", True, [])
    assert row["notes"] == []


def test_a_file_that_says_something_else_is_told(three: RunsOf, described: list[Row]) -> None:
    row = score(three(), described, factor=1.05)
    assert row["score_minutes"] == 27.0 * 1.05
    assert row["notes"] == [
        "scaling.json says 1.05, the reference points of training-v5.0 give 1.0752; the score keeps to the file, the "
        "official check would write the other."
    ]


def test_without_a_file_the_factor_is_recomputed_and_says_so(three: RunsOf, described: list[Row]) -> None:
    row = score(three(), described)
    assert row["rcp_factor_source"] == "recomputed"
    assert row["score_minutes"] == pytest.approx(27.0 * 1.0752, rel=1e-12)
    assert row["notes"] == ["The factor is recomputed from the reference points, not official."]
    slower = score(three(samples_to_converge=330_000.0), described)
    assert (slower["rcp_factor"], slower["rcp_factor_source"], slower["notes"]) == (1.0, "not_needed", [])


def test_under_other_rules_the_files_factor_does_not_apply(three: RunsOf, described: list[Row]) -> None:
    row = score(three(), described, factor=1.0752, ruleset="training-v5.1", is_own=False)
    assert row["ruleset"] == "training-v5.1"
    assert row["rcp_factor_source"] == "recomputed"
    assert row["rcp_factor"] == pytest.approx(313344 / 300000, rel=1e-12)
    assert row["rcp_factor_file"] == 1.0752
    assert row["notes"][0] == "scaling.json says 1.0752; it was made under other rules and does not apply."
    # The result keeps the name that its folder gives it.
    assert row["result_id"] == "training-v5.0/Org/sys/llama31_405b"


def test_states_in_the_words_of_the_rules(three: RunsOf, described: list[Row]) -> None:
    row = score(three(), described)
    assert [run["state"] for run in row["runs"]] == ["kept", "dropped, fastest", "dropped, slowest"]
    runs = three()
    runs[2] |= {"status": "aborted"}
    row = score(runs, described)
    assert [run["state"] for run in row["runs"]] == ["kept", "dropped, fastest", "non-converged"]
    assert row["runs"][2]["reason"] == "run_stop in line 20 has status aborted, not success."
    assert row["would_pass"]
    runs[1] |= {"run_stop_count": 2}
    row = score(runs, described)
    assert [run["state"] for run in row["runs"]][1:] == ["not counted", "non-converged"]
    assert row["score_minutes"] is None
    assert row["would_not_pass_because"] == ["2 of 3 runs do not count, the rule allows 1."]


def test_fewer_runs_than_the_rule_asks_for(three: RunsOf, described: list[Row]) -> None:
    row = score(three((27.0,)), described)
    assert [run["state"] for run in row["runs"]] == ["counted"]
    assert row["samples_to_converge"] == 300_000.0
    assert row["samples_basis"] == "plain mean of 1 counted, the rule asks for 3 runs"
    assert (row["rcp"], row["score_minutes"], row["would_pass"]) == ("pass", None, False)
    assert row["would_not_pass_because"] == ["The rule asks for 3 runs, here are 1."]


def test_too_fast_is_a_failure(three: RunsOf, described: list[Row]) -> None:
    row = score(three(samples_to_converge=270_000.0), described)
    assert (row["rcp"], row["over_minimum_samples"]) == ("fail", -6480.0)
    assert row["would_not_pass_because"] == [
        "The runs converge faster than the reference check allows: 270000 samples, the minimum is 276480."
    ]


def test_a_batch_without_a_point_is_missing(three: RunsOf, described: list[Row]) -> None:
    row = score(three(global_batch_size=20_000), described)
    assert row["rcp"] == "missing"
    assert row["would_not_pass_because"] == [
        "Missing RCP: training-v5.0 has no reference convergence point for batch size 20000; submit one."
    ]


def test_batches_that_differ(three: RunsOf, described: list[Row]) -> None:
    runs = three()
    runs[0] |= {"global_batch_size": 2304}
    row = score(runs, described)
    assert row["would_not_pass_because"] == ["The runs log 2 different global batch sizes."]


def test_without_a_description_the_logs_name_the_division(three: RunsOf) -> None:
    row = score(three(), [])
    assert (row["division"], row["accelerator_count"], row["rcp"]) == ("closed", None, "pass")
    assert "No description of system sys is there" in row["notes"][0]


def test_the_open_division_is_not_compared(three: RunsOf) -> None:
    row = score(three(submission_division="open", samples_to_converge=1.0), [])
    assert (row["rcp"], row["rcp_factor"], row["would_pass"]) == ("not_checked", 1.0, True)
    assert "Open division: convergence is not compared with the reference." in row["notes"]


def test_a_benchmark_that_the_round_does_not_have(three: RunsOf, described: list[Row]) -> None:
    row = score(three(), described, ruleset="training-v4.1", is_own=False)
    assert (row["score_minutes"], row["would_pass"]) == (None, False)
    assert row["would_not_pass_because"] == ["Round training-v4.1 has no rule for strong llama31_405b."]
    assert [run["state"] for run in row["runs"]] == ["no rule"] * 3


def test_an_older_name_of_a_benchmark_is_scored_as_the_newer(runs_of: RunsOf, a_system: ASystem) -> None:
    runs = runs_of(range(10, 15), round_name="training-v4.1", benchmark="ssd", global_batch_size=512)
    row = score(runs, [a_system()], ruleset="training-v5.0", is_own=False)
    assert (row["benchmark"], row["required_run_count"], row["raw_minutes"]) == ("retinanet", 5, 12.0)


def test_weak_scaling_has_models_and_no_score(runs_of: RunsOf) -> None:
    runs = runs_of(
        range(10, 15),
        round_name="hpc-v3.0",
        benchmark="deepcam",
        mode="weak",
        number_of_nodes=1,
        accelerators_per_node=4,
    )
    row = score(runs, [], ruleset="hpc-v3.0")
    assert (row["model_count"], row["score_minutes"], row["would_pass"]) == (5, None, True)
    assert "Weak scaling: no drop, no factor, no convergence check." in row["notes"]
    few = score(runs[:4], [], ruleset="hpc-v3.0")
    assert few["would_not_pass_because"] == ["The rule asks for at least 5 runs, here are 4."]
