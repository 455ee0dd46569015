"""What a score rests on, told from the lake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines.lake.tables import Lake
from pipelines.publishing.chain import NoSuchResultError, chain_of_result
from pipelines.schemas import TABLES, table

RESULT = "training-v9.0/Acme/rack/bert"


def put(lake: Lake, name: str, *rows: dict[str, Any]) -> None:
    frame = pl.DataFrame(list(rows), schema=TABLES[name].schema.create_empty().schema)
    partition = "training-v9.0" if table(name).by_round else None
    manifest = lake.write(name, frame, partition, inputs={}, code_version="1")
    assert manifest.quarantined_rows == 0, lake.read_quarantine(name, partition)


def run(number: int, minutes: float | None, **other: Any) -> dict[str, Any]:
    return {
        "round": "training-v9.0",
        "source_path": f"Acme/results/rack/bert/result_{number}.txt",
        "source_sha256": f"{number}" * 64,
        "run_id": f"{RESULT}/result_{number}",
        "result_id": RESULT,
        "raw_minutes": minutes,
        "is_counted": minutes is not None,
        "is_kept": number == 1,
        "rank": number + 1 if minutes is not None else None,
        "first_result_id": RESULT,
        "is_first_publication": True,
        **other,
    }


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake.at(str(tmp_path))
    put(
        lake,
        "mart.results",
        {
            "result_id": RESULT,
            "round": "training-v9.0",
            "submitter_folder": "Acme",
            "system": "rack",
            "benchmark": "bert",
            "scaling_mode": "strong",
            "raw_minutes": 20.0,
            "rcp_factor": 1.1,
            "rcp_factor_source": "file",
            "rcp_factor_path": "Acme/results/rack/bert/scaling.json",
            "score_minutes": 22.0,
            "run_count": 3,
            "counted_run_count": 2,
            "first_result_id": RESULT,
            "source_path": "Acme/results/rack/bert",
        },
    )
    put(
        lake,
        "mart.runs",
        run(0, 10.0),
        run(1, 20.0, same_log_result_ids="training-v9.1/Acme/rack/bert"),
        run(2, None, not_counted_rule="status", not_counted_reason="run_stop says aborted."),
    )
    return lake


def test_the_chain_names_runs_factor_and_what_was_left_out(lake: Lake) -> None:
    lines = chain_of_result(lake, RESULT).lines()
    assert lines[:5] == [
        RESULT,
        "  score 22 min = 20 min on the clock x 1.1",
        "    20 min: mean of 1 kept of 2 counted of 3 runs",
        "      10 min, dropped as fastest or slowest: Acme/results/rack/bert/result_0.txt",
        "        sha256 " + "0" * 64,
    ]
    assert "      20 min, kept: Acme/results/rack/bert/result_1.txt" in lines
    assert "        the same bytes are published in training-v9.1/Acme/rack/bert" in lines
    assert "      no time, not counted: Acme/results/rack/bert/result_2.txt" in lines
    assert "        run_stop says aborted." in lines
    assert "    1.1: convergence factor as published in Acme/results/rack/bert/scaling.json" in lines
    assert "  system: no description published" in lines


def test_a_near_miss_is_told_what_was_meant(lake: Lake) -> None:
    with pytest.raises(NoSuchResultError, match=r"did you mean training-v9\.0/Acme/rack/bert"):
        chain_of_result(lake, "training-v9.0/Acme/rack/brt")
    with pytest.raises(NoSuchResultError, match="lists them"):
        chain_of_result(lake, "?")


def test_the_name_of_a_system_is_answered_with_its_results(lake: Lake) -> None:
    with pytest.raises(NoSuchResultError) as told:
        chain_of_result(lake, "rack")
    assert told.value.near == [RESULT]
