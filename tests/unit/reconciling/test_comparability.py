"""What stands in the way of holding one group of scores against another."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pipelines.reconciling.comparability import compare_groups
from pipelines.schemas import core, mart
from pipelines.schemas.audits_mart import Comparability


def result(system: str, **other: Any) -> dict[str, Any]:
    row = {
        "round": "training-v9.0",
        "submitter_folder": "Someone",
        "system": system,
        "division": "closed",
        "benchmark": "llama31_405b",
        "scaling_mode": "strong",
        "accelerator": "GB200 (per GPU)",
        "accelerator_count": 512,
        "score_minutes": 100.0,
        "global_batch_size": 1152,
        "expected_samples": 320_000.0,
        **other,
    }
    row["result_id"] = f"{row['round']}/Someone/{system}/{row['benchmark']}"
    return {"first_result_id": row["result_id"], **row}


def compared(
    *results: dict[str, Any], targets: dict[str, float] | None = None, precisions: dict[str, str] | None = None
) -> pl.DataFrame:
    """Compare; `targets` and `precisions` are by system, fp8 where none is given."""
    frame = pl.DataFrame(list(results), schema=mart.Results.create_empty().schema)
    runs = frame.select(
        "result_id",
        target_quality=pl.col("system").replace_strict(targets or {}, default=5.6, return_dtype=pl.Float64),
    )
    launches = frame.select(
        "result_id",
        precision=pl.col("system").replace_strict(precisions or {}, default="fp8", return_dtype=pl.String),
    )
    return Comparability.validate(compare_groups(frame, runs, launches))


def across(frame: pl.DataFrame) -> dict[str, Any]:
    return frame.filter(pl.col("group_a") != pl.col("group_b")).row(0, named=True)


@pytest.mark.parametrize(
    ("other", "verdict"),
    [
        ({"accelerator": "GB300 (per GPU)"}, "comparable"),
        ({"accelerator": "GB300 (per GPU)", "accelerator_count": 256}, "other_size"),
        ({"round": "training-v9.1"}, "other_round"),
        ({"round": "training-v9.1", "expected_samples": 310_000.0}, "other_reference"),
        ({"round": "training-v9.1", "global_batch_size": 2048, "expected_samples": 400_000.0}, "other_round"),
        ({"division": "open"}, "other_division"),
        ({"scaling_mode": "weak"}, "other_mode"),
        ({"division": "open", "round": "training-v9.1"}, "other_division"),
    ],
)
def test_the_gravest_difference_is_told(other: dict[str, Any], verdict: str) -> None:
    row = across(compared(result("a"), result("b", **other)))
    assert row["verdict"] == verdict
    assert row["is_comparable"] == (verdict == "comparable")
    assert row["explanation"]


def test_precision_and_target() -> None:
    assert across(compared(result("a"), result("b"), precisions={"b": "fp4"}))["verdict"] == "other_precision"
    moved = compared(result("a"), result("b", round="training-v9.1"), targets={"b": 5.5})
    assert across(moved)["verdict"] == "other_target"
    assert (across(moved)["target_quality_a"], across(moved)["target_quality_b"]) == (5.6, 5.5)


def test_the_same_logs_show_what_the_rules_alone_change() -> None:
    first = result("a", score_minutes=124.4959)
    again = result(
        "a",
        round="training-v9.1",
        score_minutes=120.9389,
        expected_samples=310_000.0,
        first_result_id=first["result_id"],
    )
    row = across(compared(first, again))
    assert row["same_log_count"] == 1
    assert row["same_log_score_ratio"] == pytest.approx(120.9389 / 124.4959)
    assert row["reference_ratio"] == pytest.approx(31 / 32)
    assert "needs 3.12 % fewer samples than that of training-v9.0" in row["explanation"]
    assert row["explanation"].endswith("1 results rest on the same logs in both: their scores differ by -2.86 %.")


def test_scores_are_compared_at_common_sizes_alone() -> None:
    part = {"accelerator": "GB300 (per GPU)"}
    row = across(
        compared(
            result("a"),
            result("a2", accelerator_count=1024, score_minutes=60.0),
            result("a3", score_minutes=140.0),
            result("b", **part, score_minutes=80.0),
            result("b2", **part, accelerator_count=72, score_minutes=900.0),
        )
    )
    assert (row["common_count"], row["score_ratio"]) == (1, pytest.approx(0.8))
    assert (row["result_count_a"], row["result_count_b"]) == (3, 2)


def test_each_group_stands_beside_itself_and_what_has_no_score_beside_nothing() -> None:
    frame = compared(result("a"), result("b", score_minutes=None))
    assert frame.select("group_a", "group_b", "verdict").rows() == [
        (
            "training-v9.0/closed/strong/GB200 (per GPU)/fp8",
            "training-v9.0/closed/strong/GB200 (per GPU)/fp8",
            "comparable",
        )
    ]


def test_no_results() -> None:
    empty = compare_groups(mart.Results.create_empty(), core.Runs.create_empty(), core.Launches.create_empty())
    assert empty.is_empty()
