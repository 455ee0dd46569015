from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pipelines.schemas.core import Evals
from pipelines.scoring.margins import evaluation_intervals, rcp_status, with_margins
from pipelines.scoring.rcp import pruned_points
from pipelines.scoring.rules import load_rules


def intervals(unit: str, rows: list[dict[str, Any]]) -> float | None:
    evals = pl.DataFrame(
        [{"source_path": "a", "sequence": place, **row} for place, row in enumerate(rows)],
        schema=Evals.create_empty().schema,
    )
    runs = pl.DataFrame({"source_path": ["a"], "samples_unit": [unit]})
    found = evaluation_intervals(evals, runs)["evaluation_interval"]
    return found[0] if len(found) else None


def test_the_distance_between_evaluations_in_the_benchmarks_own_unit() -> None:
    samples = [{"samples_count": 276480.0 + 18432 * number, "epoch_number": float(number)} for number in range(3)]
    assert intervals("samples", samples) == 18432
    assert intervals("epochs", samples) == 1
    assert intervals("steps", [{"step_number": 100.0}, {"step_number": 250.0}]) == 150
    # bert counts samples in epoch_num.
    assert intervals("samples", [{"epoch_number": 150000.0}, {"epoch_number": 300000.0}]) == 150000
    assert intervals("tokens", [{"epoch_number": 1e9}, {"epoch_number": 1.5e9}]) == 5e8


def test_of_two_middle_distances_the_shorter_and_none_of_one_evaluation() -> None:
    assert intervals("samples", [{"samples_count": count} for count in (0.0, 10.0, 30.0)]) == 10
    assert intervals("samples", [{"samples_count": 10.0}]) is None
    # Two metrics at one progress are one evaluation.
    assert intervals("samples", [{"samples_count": count} for count in (5.0, 5.0, 12.0, 12.0)]) == 7


def margins(progress: float | None, batch: int = 1152, interval: float | None = 46080.0) -> dict[str, Any]:
    frame = pl.DataFrame(
        {
            "round": ["training-v5.0"],
            "benchmark": ["llama31_405b"],
            "global_batch_size": [batch],
            "samples_to_converge": pl.Series([progress], dtype=pl.Float64),
            "evaluation_interval": pl.Series([interval], dtype=pl.Float64),
        }
    )
    status = rcp_status(is_checked=pl.lit(value=True)).alias("rcp")
    return with_margins(frame, load_rules()).with_columns(status).row(0, named=True)


def test_margins_over_mean_and_minimum() -> None:
    # At 1,152 the reference runs of v5.0 do not vary, so the minimum is the mean less the allowance.
    row = margins(322560.0 - 23040)
    assert (row["rcp_mean_samples"], row["rcp_minimum_samples"]) == (322560.0, 276480.0)
    assert [margins(1e6, batch=size)["rcp_mean_source"] for size in (8, 1152, 1248, 99999)] == [
        "least",
        "exact",
        "interpolated",
        None,
    ]
    assert (row["over_mean_samples"], row["over_minimum_samples"]) == (-23040.0, 23040.0)
    assert row["over_minimum_evaluations"] == 0.5
    assert row["rcp_factor_recomputed"] == pytest.approx(322560 / 299520, rel=1e-12)
    assert row["rcp"] == "pass"


def test_too_fast_is_under_the_minimum() -> None:
    row = margins(276479.0)
    assert (row["rcp"], row["over_minimum_samples"], row["rcp_factor_recomputed"]) == ("fail", -1.0, None)


def test_a_batch_beyond_the_points_is_missing_and_no_progress_is_not_checked() -> None:
    assert margins(1.0, batch=9217)["rcp"] == "missing"
    assert margins(None)["rcp"] == "not_checked"
    assert margins(322560.0, interval=None)["over_minimum_evaluations"] is None


def test_what_is_not_compared_is_not_checked() -> None:
    frame = pl.DataFrame({"rcp_check": ["too_fast"], "samples_to_converge": [1.0]})
    assert frame.select(rcp_status(is_checked=pl.lit(value=False))).item() == "not_checked"


def test_mean_and_minimum_are_those_of_the_official_checker() -> None:
    checker = pytest.importorskip("mlperf_logging.rcp_checker.rcp_checker")
    pytest.importorskip("scipy.stats")
    points = pruned_points().filter(pl.col("round").is_in(["training-v4.1", "training-v5.0", "training-v5.1"]))
    frame = points.select(
        "round",
        "benchmark",
        global_batch_size="batch_size",
        samples_to_converge=pl.lit(1e12),
        evaluation_interval=pl.lit(None, dtype=pl.Float64),
    )
    checked = 0
    for row in with_margins(frame, load_rules()).iter_rows(named=True):
        ruleset = f"{row['round'].removeprefix('training-v')}.0"
        if row["benchmark"] not in set(load_rules().benchmarks.filter(round=row["round"])["benchmark"]):
            continue
        official = checker.RCP_Checker("training", ruleset, row["benchmark"], verbose=False)
        point = official._find_rcp(row["global_batch_size"], "pruned_rcps")
        allowed = 46080 if row["benchmark"] == "llama31_405b" else 0
        assert row["rcp_mean_samples"] == pytest.approx(point["RCP Mean"], rel=1e-12)
        # The checker searches its minimum to within 1e-4.
        assert row["rcp_minimum_samples"] == pytest.approx(point["Min Epochs"] - allowed, abs=1.1e-4, rel=1e-9)
        checked += 1
    assert checked > 50
