"""The suites in another process: the same outcomes, and a process that breaks is an error of ours."""

from __future__ import annotations

import polars as pl
import pytest

from pipelines.quality import apart
from pipelines.quality.apart import SuitesProcess
from pipelines.quality.gate import run_checks
from pipelines.quality.outcomes import outcomes_frame
from pipelines.quality.suites import CHECKS
from pipelines.schemas import TABLES


def frames() -> dict[str, pl.DataFrame]:
    empty = {name: TABLES[name].schema.create_empty() for name in {check.table for check in CHECKS}}
    rack = {
        "round": "training-v9.0",
        "submitter_folder": "A",
        "system": "s",
        "rack_product": "GB200 NVL72",
        "accelerator_count": 2496,
        "slots_per_rack": 72,
        "remainder_by_slots": 48,
        "verdict": "explained",
        "explanation": "39 x 64",
    }
    racks = pl.DataFrame([rack], schema=empty["mart.rack_audit"].schema)
    return {**empty, "mart.rack_audit": racks, "core.runs": pl.DataFrame({"not": ["asked for"]})}


def test_it_gives_what_the_suites_give_here() -> None:
    process = SuitesProcess()
    process.start()
    found = process.run(frames())
    assert found.equals(outcomes_frame(run_checks(CHECKS, frames())))
    assert found.filter(name="whole_racks")["failed_count"].to_list() == [1]


def test_a_process_that_breaks_errors_every_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart.sys, "executable", "/bin/false")
    found = SuitesProcess().run(frames())
    assert found.height == len(CHECKS)
    assert set(found["status"]) == {"errored"}
    assert found["is_blocking"].all()
    assert "the process ended with 1" in found["explanation"][0]


def test_a_process_that_is_not_needed_is_ended() -> None:
    process = SuitesProcess()
    process.start()
    waiting = process._waiting
    assert waiting is not None
    process.start()
    assert process._waiting is waiting
    process.stop()
    assert waiting.returncode not in (0, None)
    process.stop()


def test_a_process_whose_parent_is_gone_ends_by_itself() -> None:
    process = SuitesProcess()
    process.start()
    waiting = process._waiting
    assert waiting is not None
    answer, complaint = waiting.communicate()
    assert (waiting.returncode, answer) == (0, b""), complaint
