"""The plausibility gate on small frames: what passes, what fails with its rows, what errs."""

from __future__ import annotations

import json

import polars as pl
import pytest

from pipelines.quality import gate
from pipelines.quality.consistency import score_follows_from_runs
from pipelines.quality.outcomes import MOST_ROWS_KEPT, Check, Outcome, outcomes_frame
from pipelines.quality.suites import CHECKS
from pipelines.schemas import TABLES
from pipelines.schemas.mart import Checks


def rack(system: str, accelerators: int | None, **other: object) -> dict[str, object]:
    slots = 72
    remainder = None if accelerators is None else accelerators % slots
    return {
        "round": "training-v9.0",
        "submitter_folder": "Someone",
        "system": system,
        "system_name": system,
        "rack_product": "GB200 NVL72",
        "accelerator_count": accelerators,
        "slots_per_rack": slots,
        "remainder_by_slots": remainder,
        "verdict": "explained",
        "explanation": "as stated",
        **other,
    }


def rack_audit(*rows: dict[str, object]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=TABLES["mart.rack_audit"].schema.create_empty().schema)


def run(name: str, frame: pl.DataFrame) -> Outcome:
    (check,) = [check for check in CHECKS if check.name == name]
    (outcome,) = gate.run_checks([check], {check.table: frame})
    return outcome


def test_a_count_that_leaves_a_remainder_is_listed_with_its_explanation() -> None:
    frame = rack_audit(
        rack("whole", 144, verdict="whole"),
        rack("carina", 2496, racks_stated=39, active_per_rack=64, explanation="39 x 64"),
        rack("part", 36, verdict="part_rack"),
        rack("unknown", None, verdict="not_stated"),
        rack("large", 5120, explanation="80 x 64"),
    )
    outcome = run("whole_racks", frame)
    assert outcome.status == "failed"
    assert outcome.severity == "warning"
    assert not outcome.is_blocking
    assert outcome.failed_count == 2
    assert outcome.rows.select("system", "remainder_by_slots", "explanation").rows() == [
        ("carina", 48, "39 x 64"),
        ("large", 8, "80 x 64"),
    ]


def test_whole_and_part_racks_pass() -> None:
    outcome = run("whole_racks", rack_audit(rack("whole", 72), rack("part", 8)))
    assert (outcome.status, outcome.failed_count, outcome.checked_count) == ("passed", 0, 2)


def test_no_rows_pass() -> None:
    outcome = run("whole_racks", rack_audit())
    assert (outcome.status, outcome.checked_count) == ("passed", 0)


@pytest.mark.parametrize(
    ("check", "row", "status"),
    [
        ("racks_not_contradicted", rack("a", 100, verdict="contradicted"), "failed"),
        ("racks_not_contradicted", rack("a", 72, verdict="whole"), "passed"),
        ("racks_have_the_slots", rack("a", 100, fill_fraction=1.01), "failed"),
        ("racks_have_the_slots", rack("a", 64, fill_fraction=0.89), "passed"),
        ("racks_have_the_slots", rack("a", 64, fill_fraction=None), "passed"),
    ],
)
def test_rack_checks(check: str, row: dict[str, object], status: str) -> None:
    assert run(check, rack_audit(row)).status == status


def results(**columns: object) -> pl.DataFrame:
    row = {"result_id": "training-v9.0/a/b/c", "run_count": 3, "counted_run_count": 3, **columns}
    return pl.DataFrame([row], schema=TABLES["mart.results"].schema.create_empty().schema)


@pytest.mark.parametrize(
    ("check", "columns", "status"),
    [
        ("score_credible", {"score_minutes": 27.3}, "passed"),
        ("score_credible", {"score_minutes": 0.0}, "failed"),
        ("score_credible", {"score_minutes": None}, "passed"),
        ("score_credible", {"score_minutes": 20_000.0}, "failed"),
        ("score_not_below_clock", {"score_minutes": 2.0, "raw_minutes": 2.0}, "passed"),
        ("score_not_below_clock", {"score_minutes": 1.9, "raw_minutes": 2.0}, "failed"),
        ("score_not_below_clock", {"score_minutes": None, "raw_minutes": 2.0}, "passed"),
        ("rcp_factor_credible", {"rcp_factor": 1.0}, "passed"),
        ("rcp_factor_credible", {"rcp_factor": 0.9}, "failed"),
        ("rcp_factor_credible", {"rcp_factor": 1.3}, "failed"),
        ("counted_runs_within_runs", {"counted_run_count": 4}, "failed"),
        ("counted_runs_within_runs", {"counted_run_count": 3}, "passed"),
        ("accelerators_known", {"accelerator_count": None}, "failed"),
        ("accelerators_known", {"accelerator_count": 8}, "passed"),
    ],
)
def test_result_checks(check: str, columns: dict[str, object], status: str) -> None:
    assert run(check, results(**columns)).status == status


@pytest.mark.parametrize(
    ("check", "columns", "status"),
    [
        ("prediction_inside_interval", {"predicted_minutes": 2.0, "predicted_high_minutes": 2.1}, "passed"),
        ("prediction_inside_interval", {"predicted_minutes": 2.2, "predicted_high_minutes": 2.1}, "failed"),
        ("residual_small", {"residual_percent": -1.8}, "passed"),
        ("residual_small", {"residual_percent": -11.0}, "failed"),
        ("residual_small", {"residual_percent": None}, "passed"),
    ],
)
def test_reconciled_checks(check: str, columns: dict[str, object], status: str) -> None:
    row = {"result_id": "training-v9.0/a/b/c", **columns}
    frame = pl.DataFrame([row], schema=TABLES["mart.reconciled_runs"].schema.create_empty().schema)
    assert run(check, frame).status == status


@pytest.mark.parametrize(("efficiency", "status"), [(0.4, "passed"), (1.0, "passed"), (1.7, "failed"), (0.0, "failed")])
def test_efficiency_above_the_peak_blocks(efficiency: float, status: str) -> None:
    frame = pl.DataFrame(
        [{"family": "f", "efficiency": efficiency}], schema=TABLES["mart.calibrations"].schema.create_empty().schema
    )
    outcome = run("efficiency_possible", frame)
    assert outcome.status == status
    assert outcome.is_blocking == (status == "failed")


def test_a_check_that_raises_is_errored_and_not_failed() -> None:
    frame = rack_audit(rack("a", 72)).drop("verdict")
    outcome = run("racks_not_contradicted", frame)
    assert outcome.status == "errored"
    assert outcome.is_blocking
    assert "verdict" in (outcome.error or "")
    assert "error of this project" in outcome.explanation


def test_a_check_that_cannot_be_built_is_errored() -> None:
    def broken() -> object:
        raise ZeroDivisionError("no such thing")

    check = Check("broken", "mart.rack_audit", "warning", "never", broken, ())
    (outcome,) = gate.run_checks([check], {"mart.rack_audit": rack_audit(rack("a", 72))})
    assert (outcome.status, outcome.error) == ("errored", "ZeroDivisionError: no such thing")


def test_a_table_that_is_not_given_is_errored() -> None:
    outcomes = gate.run_checks(CHECKS, {})
    assert {outcome.status for outcome in outcomes} == {"errored"}
    assert len(outcomes) == len(CHECKS)


def test_names_are_unique_and_columns_exist() -> None:
    assert len({(check.table, check.name) for check in CHECKS}) == len(CHECKS)
    for check in CHECKS:
        assert set(check.shown) <= set(TABLES[check.table].schema.column_names()), check.name


def test_outcomes_become_rows_of_the_table_with_all_counted_and_some_listed() -> None:
    many = pl.DataFrame({"system": [f"s{number}" for number in range(MOST_ROWS_KEPT + 50)]})
    outcome = Outcome("mart.results", "x", "warning", "failed", "is so", 300, 250, rows=many)
    fine = Outcome("mart.rack_audit", "y", "error", "passed", "is so", 3, 0)
    frame = Checks.validate(outcomes_frame([outcome, fine]))
    assert frame["table"].to_list() == ["mart.rack_audit", "mart.results"]
    assert frame["failed_count"].to_list() == [0, 250]
    assert len(json.loads(frame["rows"][1])) == MOST_ROWS_KEPT
    assert frame["rows"][0] is None


def scored(score: float | None, factor: float = 1.1) -> pl.DataFrame:
    return results(score_minutes=score, rcp_factor=factor)


def judged(*minutes: tuple[float, bool]) -> pl.DataFrame:
    rows = [{"result_id": "training-v9.0/a/b/c", "raw_minutes": time, "is_kept": kept} for time, kept in minutes]
    return pl.DataFrame(rows, schema={"result_id": pl.String, "raw_minutes": pl.Float64, "is_kept": pl.Boolean})


@pytest.mark.parametrize(
    ("score", "runs", "status"),
    [
        (22.0, [(10.0, False), (20.0, True), (30.0, False)], "passed"),
        (22.0, [(10.0, False), (21.0, True), (30.0, False)], "failed"),
        (22.0, [(10.0, False)], "failed"),
        (None, [], "passed"),
    ],
)
def test_a_score_must_follow_from_its_kept_runs(
    score: float | None, runs: list[tuple[float, bool]], status: str
) -> None:
    outcome = score_follows_from_runs(scored(score), judged(*runs))
    assert outcome.status == status
    assert outcome.failed_count == (1 if status == "failed" else 0)
