from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.scoring.rcp import (
    expected_progress,
    load_points,
    pruned_points,
    recompute_factors,
    reference_points,
    t_quantile,
)
from pipelines.scoring.rules import load_rules


def expected(rows: list[tuple[str | None, str, int | None]]) -> pl.DataFrame:
    frame = pl.DataFrame(
        rows, schema={"round": pl.String, "benchmark": pl.String, "global_batch_size": pl.Int64}, orient="row"
    )
    return expected_progress(frame)


def test_expected_progress_is_exact_linear_or_flat_and_keeps_the_order() -> None:
    v50, v51, task = "training-v5.0", "training-v5.1", "llama31_405b"
    rows: list[tuple[Any, Any, Any, Any, Any]] = [
        (v50, task, 9216, 691200.0, "exact"),
        (v50, task, 1152, 322560.0, "exact"),
        (v50, task, 1248, 327360.0, "interpolated"),
        (v51, task, 1280, 319488.0, "interpolated"),
        (v50, task, 896, 322560.0, "least"),
        # A point of 1,008 was published, but it converges slower than 1,152 and is pruned.
        (v50, task, 1008, 322560.0, "least"),
        (v50, task, 9217, None, None),
        (v50, task, None, None, None),
        (None, task, 1152, None, None),
        ("training-v9.9", task, 1152, None, None),
        (v50, "nothing", 1152, None, None),
    ]
    assert expected([row[:3] for row in rows]).rows() == rows


def test_points_of_the_specification() -> None:
    kept = reference_points().filter(benchmark="llama31_405b").select("round", "batch_size", "mean_progress")
    by_round = {name: [row[1:] for row in kept.rows() if row[0] == name] for name in kept["round"].unique()}
    assert by_round["training-v5.0"] == [
        (1152, 322560.0),
        (2304, 380160.0),
        (4608, 495360.0),
        (6912, 604800.0),
        (9216, 691200.0),
    ]
    pruned = pruned_points().filter(round="training-v5.0", benchmark="llama31_405b")["batch_size"]
    assert pruned.to_list() == [1152, 2304, 9216]
    assert by_round["training-v5.1"] == [(1152, 313344.0), (2304, 368640.0), (4608, 493056.0)]


def test_other_columns_stay_and_an_empty_frame_stays_empty() -> None:
    frame = pl.DataFrame({"round": ["x"], "benchmark": ["y"], "global_batch_size": [1], "other": ["z"]})
    assert expected_progress(frame)["other"].to_list() == ["z"]
    assert expected_progress(frame.clear()).columns == [*frame.columns, "expected_samples", "expected_samples_source"]


@given(probability=st.floats(0.51, 0.999), freedom=st.integers(1, 300))
@settings(max_examples=60, deadline=None)
def test_the_t_quantile_is_that_of_scipy(probability: float, freedom: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    assert t_quantile(probability, freedom) == pytest.approx(float(stats.t.ppf(probability, freedom)), rel=1e-9)


def test_the_t_quantile_of_one_degree_is_that_of_cauchy() -> None:
    assert t_quantile(0.95, 1) == pytest.approx(math.tan(math.pi * 0.45), rel=1e-12)


def recompute(batch: int, progress: float | None, task: str = "llama31_405b") -> tuple[float | None, str]:
    frame = pl.DataFrame(
        {
            "round": ["training-v5.0"],
            "benchmark": [task],
            "global_batch_size": [batch],
            "samples_to_converge": pl.Series([progress], dtype=pl.Float64),
        }
    )
    factor, check = recompute_factors(frame, load_rules()).select("rcp_factor_recomputed", "rcp_check").row(0)
    return factor, check


def test_a_faster_result_within_the_limit_is_normalised() -> None:
    assert recompute(1248, 323232.0) == (327360 / 323232, "normalised")


def test_a_result_that_is_not_faster_passes() -> None:
    assert recompute(1248, 327360.0) == (1.0, "passed")
    assert recompute(1248, 400000.0) == (1.0, "passed")


def test_llama_may_be_faster_by_46080_samples_where_the_reference_does_not_vary() -> None:
    assert recompute(1152, 322560.0 - 46080) == (322560 / 276480, "normalised")
    assert recompute(1152, 322560.0 - 46081) == (None, "too_fast")


def test_beyond_the_points_nothing_is_compared() -> None:
    assert recompute(9217, 1.0) == (None, "no_point")
    assert recompute(1152, None) == (None, "no_point")
    # Below the least batch size a slower result passes, a faster one would need a point of its own.
    assert recompute(512, 322560.0) == (1.0, "passed")
    assert recompute(512, 1.0) == (None, "no_point")


def test_the_points_are_those_of_the_official_package() -> None:
    checker = pytest.importorskip("mlperf_logging.rcp_checker.rcp_checker")
    points = load_points()
    for (round_name, task), group in points.group_by("round", "benchmark"):
        usage, _, version = str(round_name).partition("-v")
        if task not in checker.submission_runs[usage]:
            continue
        official = checker.RCP_Checker(usage, f"{version}.0", str(task), verbose=False)
        records = {
            record["BS"]: (len(record["Epochs to converge"]), record["RCP Mean"], record["RCP Stdev"])
            for record in official.rcp_data.values()
        }
        ours = {row["batch_size"]: row for row in group.to_dicts()}
        assert set(ours) == set(records)
        for batch, (count, mean, deviation) in records.items():
            assert ours[batch]["run_count"] == count
            assert ours[batch]["mean_progress"] == pytest.approx(mean, rel=1e-15)
            assert ours[batch]["deviation_progress"] == pytest.approx(deviation, rel=1e-12)
        kept = pruned_points().filter(round=round_name, benchmark=task)
        assert sorted(kept["batch_size"]) == sorted(one["BS"] for one in official.pruned_rcp_data.values())


@given(
    case=st.sampled_from(
        [
            ("training-v5.0", "rgat"),
            ("training-v5.1", "llama31_405b"),
            ("training-v4.1", "llama2_70b_lora"),
            ("training-v3.0", "unet3d"),
            ("training-v2.1", "resnet"),
            ("hpc-v3.0", "openfold"),
        ]
    ),
    place=st.floats(-0.2, 1.0),
    pace=st.floats(0.6, 1.1),
)
@settings(max_examples=80, deadline=None)
def test_a_factor_is_that_of_the_official_checker(case: tuple[str, str], place: float, pace: float) -> None:
    checker = pytest.importorskip("mlperf_logging.rcp_checker.rcp_checker")
    round_name, task = case
    usage, _, version = round_name.partition("-v")
    batches = load_points().filter(round=round_name, benchmark=task)["batch_size"]
    least, most = int(batches.min()), int(batches.max())  # type: ignore[arg-type]
    batch = max(1, round(least + place * (most - least)))
    (reference,) = expected([(round_name, task, batch)])["expected_samples"]
    progress = round(pace * reference, 3)

    official = checker.RCP_Checker(usage, f"{version}.0", task, verbose=False)
    record = official._find_rcp(batch, "pruned_rcps")
    if record is None:
        low, high = (
            official._find_top_min_rcp(batch, "pruned_rcps"),
            official._find_bottom_max_rcp(batch, "pruned_rcps"),
        )
        record = official._create_interp_rcp(batch, low, high)[1] if low else official._find_min_rcp("pruned_rcps")
    passed, factor = official._eval_submission_record(record, [progress] * 9, "")
    limit = record["RCP Mean"] / record["Max Speedup"]
    if abs(limit - progress) < 2 * official.tolerance:
        return  # The checker finds its limit by bisection to that tolerance.

    frame = pl.DataFrame(
        {"round": [round_name], "benchmark": [task], "global_batch_size": [batch], "samples_to_converge": [progress]}
    )
    ours = recompute_factors(frame, load_rules()).to_dicts()[0]
    assert ours["rcp_factor_recomputed"] == (pytest.approx(factor, rel=1e-12) if passed else None)


@pytest.mark.parametrize(
    ("task", "batch", "progress", "factor"),
    [
        # As GigaComputing and Inventec published them with training v6.0 (summary.json in their folders, Apache-2.0).
        ("gpt_oss_20b", 24, 208_896.0, 1.0163398693),
        ("gpt_oss_20b", 24, 205_824.0, 1.0315091211),
        ("llama2_70b_lora", 8, 3_072.0, 1.0347222222),
        ("dlrm_dcnv2", 65_536, 0.775, 1.0073711123),
        ("llama31_8b", 16, 172_032.0, 1.0),
    ],
)
def test_factors_that_submitters_published_with_training_v60(
    task: str, batch: int, progress: float, factor: float
) -> None:
    frame = pl.DataFrame(
        {"round": "training-v6.0", "benchmark": task, "global_batch_size": batch, "samples_to_converge": progress}
    )
    assert recompute_factors(frame, load_rules())["rcp_factor_recomputed"][0] == pytest.approx(factor, abs=5e-11)
