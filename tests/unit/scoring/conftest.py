"""Builds small core frames: a run that counts, to be spoilt by the test."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import dataframely as dy
import polars as pl
import pytest

from pipelines.schemas import core
from pipelines.scoring.results import score_results
from pipelines.scoring.rules import load_rules
from pipelines.scoring.runs import judge_runs

Row = dict[str, Any]
START_MS = 1_700_000_000_000


def _frame(schema: type[dy.Schema], rows: Iterable[Row]) -> pl.DataFrame:
    """Return rows as a frame of the schema; a column that no row names is null."""
    types = {name: column.dtype for name, column in schema.columns().items()}
    return pl.DataFrame(list(rows), schema=types, orient="row")


def _a_run(
    number: int = 0,
    run_ms: int = 600_000,
    *,
    round_name: str = "training-v4.1",
    submitter: str = "Org",
    system: str = "sys",
    benchmark: str = "llama2_70b_lora",
    mode: str = "strong",
    **spoilt: Any,
) -> Row:
    """Return a run of `core.runs` that every condition of the rule accepts."""
    weak = "/weak" if mode == "weak" else ""
    result_id = f"{round_name}/{submitter}/{system}/{benchmark}{weak}"
    folder = f"{submitter}/results/{system}/{benchmark}"
    if round_name.startswith("hpc"):
        folder = f"{submitter}/results/{system}/{mode}/{benchmark}"
    return {
        "round": round_name,
        "source_path": f"{folder}/result_{number}.txt",
        "source_sha256": f"sha of {result_id} {number}",
        "run_id": f"{result_id}/result_{number}",
        "result_id": result_id,
        "submitter_folder": submitter,
        "system": system,
        "benchmark": benchmark,
        "scaling_mode": mode,
        "event_count": 20,
        "broken_line_count": 0,
        "submission_division": "closed",
        "run_start_count": 1,
        "run_start_ms": START_MS,
        "run_start_line": 10,
        "run_stop_count": 1,
        "run_stop_ms": START_MS + run_ms,
        "run_stop_line": 20,
        "status": "success",
        "init_start_ms": START_MS - 60_000,
        "init_stop_ms": START_MS - 1_000,
        "init_stop_line": 9,
        "global_batch_size": 8,
        "samples_to_converge": 4000.0,
        **spoilt,
    }


def _runs_of(minutes: Iterable[float], **spoilt: Any) -> list[Row]:
    """Return one run a figure, that many minutes long."""
    return [_a_run(number, round(one * 60_000), **spoilt) for number, one in enumerate(minutes)]


def _a_system(**changed: Any) -> Row:
    """Return the description of the system that `_a_run` ran on."""
    return {
        "round": "training-v4.1",
        "submitter_folder": "Org",
        "system": "sys",
        "submitter": "Org Inc.",
        "division": "closed",
        "system_name": "System",
        "accelerator_count": 64,
        **changed,
    }


def _judge(rows: Iterable[Row], systems: Iterable[Row] | None = None) -> pl.DataFrame:
    """Return `mart.runs` of core rows, by file name."""
    described = [_a_system()] if systems is None else systems
    judged = judge_runs(_frame(core.Runs, rows), _frame(core.Systems, described), load_rules())
    return judged.sort("source_path")


def _score(
    rows: Iterable[Row],
    systems: Iterable[Row] | None = None,
    factors: Iterable[Row] = (),
    power: Iterable[Row] = (),
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return `mart.results` and the findings of core rows."""
    runs = _frame(core.Runs, rows)
    described = _frame(core.Systems, [_a_system()] if systems is None else systems)
    judged = judge_runs(runs, described, load_rules())
    return score_results(
        runs,
        judged,
        described,
        _frame(core.ScalingFactors, factors),
        _frame(core.PowerReadings, power),
        load_rules(),
    )


# A test module cannot import its conftest, so each builder is handed out by a fixture of its name.


@pytest.fixture(scope="session")
def a_run() -> Callable[..., Row]:
    return _a_run


@pytest.fixture(scope="session")
def runs_of() -> Callable[..., list[Row]]:
    return _runs_of


@pytest.fixture(scope="session")
def a_system() -> Callable[..., Row]:
    return _a_system


@pytest.fixture(scope="session")
def judge() -> Callable[..., pl.DataFrame]:
    return _judge


@pytest.fixture(scope="session")
def score() -> Callable[..., tuple[pl.DataFrame, pl.DataFrame]]:
    return _score
