"""The lines that end a refresh."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines.lake.tables import Lake
from pipelines.publishing.headline import WORKED_EXAMPLE, headline
from pipelines.schemas import TABLES

OTHER = "training-v9.0/Acme/acme_rack/llama31_405b"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.at(str(tmp_path))


def put(lake: Lake, name: str, *rows: dict[str, Any]) -> None:
    frame = pl.DataFrame(list(rows), schema=TABLES[name].schema.create_empty().schema)
    manifest = lake.write(name, frame, inputs={}, code_version="1")
    assert manifest.quarantined_rows == 0, lake.read_quarantine(name)


def result(result_id: str, score: float | None) -> dict[str, Any]:
    round_name, folder, system, benchmark = result_id.split("/")
    return {
        "result_id": result_id,
        "round": round_name,
        "submitter_folder": folder,
        "system": system,
        "benchmark": benchmark,
        "scaling_mode": "strong",
        "rcp_factor_source": "file",
        "score_minutes": score,
        "run_count": 3,
        "counted_run_count": 3,
        "first_result_id": result_id,
        "source_path": "x",
    }


def reconciled(result_id: str, **other: Any) -> dict[str, Any]:
    return {
        "result_id": result_id,
        "round": result_id.partition("/")[0],
        "benchmark": "llama31_405b",
        "accelerator": "GB200",
        "accelerator_count": 2496,
        "precision": "fp8",
        "score_minutes": 27.3347,
        "raw_minutes": 26.99,
        "predicted_minutes": 26.85,
        "predicted_low_minutes": 25.34,
        "predicted_high_minutes": 28.36,
        "residual_percent": -1.77,
        "family": "f",
        "family_size": 7,
        "leave_one_out_mape_percent": 0.48,
        "racks_stated": 39,
        "racks_by_division": 35,
        "racks_by_replica": 39,
        "racks_by_model": 38,
        "nic_needed_gigabytes_per_second_low": 42.0,
        "nic_needed_gigabytes_per_second_mid": 49.6,
        "nic_needed_gigabytes_per_second_high": 60.0,
        "nic_available_gigabytes_per_second": 50.0,
        "nic_verdict": "too_close_to_call",
        "verdict": "as_predicted",
        "explanation": "words",
        **other,
    }


def test_an_empty_lake_has_no_headline(lake: Lake) -> None:
    assert headline(lake) == []


def test_counts_without_any_language_model(lake: Lake) -> None:
    put(lake, "mart.results", result(OTHER, 1.0), result("training-v8.0/Acme/acme_rack/bert", None))
    assert headline(lake) == [
        "Results   1 scored of 2, from 0 result logs of training-v8.0, training-v9.0",
        "Racks     0 rack-scale systems: none",
        "Findings  0 error, 0 warning, 0 info",
    ]


def record(number: int, suite: str, division: str) -> dict[str, Any]:
    location = f"{division}/Acme/results/{number}"
    return {
        "inference_id": f"inference-v9.0/{location}",
        "round": "inference-v9.0",
        "location": location,
        "suite": suite,
        "division": division,
    }


def test_records_of_inference_are_counted_and_those_that_compare(lake: Lake) -> None:
    records = [record(1, "datacenter", "closed"), record(2, "datacenter", "open"), record(3, "edge", "closed")]
    put(lake, "mart.inference_results", *records)
    assert headline(lake) == [
        "Inference 3 results of inference-v9.0 (1 in the view that compares)",
        "Racks     0 rack-scale systems: none",
        "Findings  0 error, 0 warning, 0 info",
    ]
    put(lake, "mart.results", result(OTHER, 1.0))
    assert [line.split()[0] for line in headline(lake)] == ["Results", "Inference", "Racks", "Findings"]


def test_one_run_is_worked_through(lake: Lake) -> None:
    put(lake, "mart.results", result(WORKED_EXAMPLE, 27.3347))
    put(lake, "mart.reconciled_runs", reconciled(WORKED_EXAMPLE), reconciled(OTHER))
    assert headline(lake)[3:] == [
        f"Example   {WORKED_EXAMPLE}",
        "          2,496 GB200, fp8",
        "  reported   27.33 min (26.99 on the clock)",
        "  predicted  26.85 min with this run held out (-1.8 %; 25.34 to 28.36); "
        "family of 7, held-out step error 0.48 %",
        "  racks      39 stated, 35 by division, 39 by replica, 38 by model",
        "  network    needs 49.6 GB/s per accelerator (42.0 to 60.0), has 50: too close to call",
    ]


def test_without_the_known_example_the_largest_of_the_newest_round_is_shown(lake: Lake) -> None:
    put(lake, "mart.results", result(OTHER, 27.3347))
    older = "training-v8.0/Acme/big/llama31_405b"
    smaller = "training-v9.0/Acme/small/llama31_405b"
    unpredicted = "training-v9.0/Acme/unknown/llama31_405b"
    put(
        lake,
        "mart.reconciled_runs",
        reconciled(older, accelerator_count=9000),
        reconciled(smaller, accelerator_count=8),
        reconciled(OTHER, leave_one_out_mape_percent=None, predicted_low_minutes=None),
        reconciled(unpredicted, accelerator_count=9000, predicted_minutes=None),
    )
    lines = headline(lake)
    assert lines[3] == f"Example   {OTHER}"
    assert "no interval" in lines[6]
    assert "an error that cannot be estimated" in lines[6]
