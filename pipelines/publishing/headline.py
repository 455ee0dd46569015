"""The lines that end a refresh: how much there is, one run worked through, what to look at.

Reads the lake; where the lines go is the caller's.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from pipelines.lake.tables import Lake
from pipelines.publishing.wording import counted_part
from pipelines.schemas.core import SEVERITIES

WORKED_EXAMPLE = "training-v5.0/IBM+CoreWeave+NVIDIA/carina_ngpu2496_ngc25.04_nemo/llama31_405b"
"""Shown where the lake holds it; else the largest run of the newest round that has a prediction."""


def headline(lake: Lake) -> list[str]:
    """Return the lines, empty where the lake holds no answers."""
    results, inference = lake.read("mart.results"), lake.read("mart.inference_results")
    return [
        *(_training(lake, results) if results.height else []),
        *(_inference(inference) if inference.height else []),
        *(_audits(lake) if results.height or inference.height else []),
        *_worked_example(lake.read("mart.reconciled_runs"), lake.read("mart.rack_audit")),
    ]


def _training(lake: Lake, results: pl.DataFrame) -> list[str]:
    runs = lake.read("mart.runs")
    scored = results["score_minutes"].is_not_null().sum()
    logs = f"{runs.height:,} result logs of {_rounds(results)}"
    return [f"Results   {scored:,} scored of {results.height:,}, from {logs}"]


def _inference(records: pl.DataFrame) -> list[str]:
    """Count the records, and those that view `inference` shows."""
    shown = records.filter(suite="datacenter", division="closed").height
    return [f"Inference {records.height:,} results of {_rounds(records)} ({shown:,} in the view that compares)"]


def _rounds(frame: pl.DataFrame) -> str:
    return ", ".join(frame["round"].unique().sort().to_list())


def _audits(lake: Lake) -> list[str]:
    findings = dict(lake.read("mart.findings").group_by("severity").len().iter_rows())
    told = ", ".join(f"{findings.get(severity, 0):,} {severity}" for severity in SEVERITIES)
    racks = dict(lake.read("mart.rack_audit").group_by("verdict").len().sort("verdict").iter_rows())
    return [
        f"Racks     {sum(racks.values()):,} rack-scale systems: "
        + (", ".join(f"{count} {verdict.replace('_', ' ')}" for verdict, count in racks.items()) or "none"),
        f"Findings  {told}",
    ]


def worked_example(reconciled: pl.DataFrame) -> dict[str, Any] | None:
    """Return the run of `mart.reconciled_runs` that is worked through, None where none has a prediction."""
    predicted = reconciled.filter(pl.col("predicted_minutes").is_not_null())
    chosen = predicted.filter(pl.col("result_id") == WORKED_EXAMPLE)
    if chosen.is_empty():
        chosen = predicted.sort("round", "accelerator_count", "result_id", nulls_last=False).tail(1)
    return chosen.row(0, named=True) if chosen.height else None


def _worked_example(reconciled: pl.DataFrame, audit: pl.DataFrame) -> list[str]:
    row = worked_example(reconciled)
    if row is None:
        return []
    round_name, folder, system, _ = row["result_id"].split("/", 3)
    rack = audit.filter(round=round_name, submitter_folder=folder, system=system)
    accelerators = counted_part(row["accelerator_count"], row["accelerator"])
    return [
        f"Example   {row['result_id']}",
        f"          {accelerators}, {row['precision'] or 'precision unknown'}",
        _reported(row),
        _predicted(row),
        _racks(row, rack.row(0, named=True) if rack.height else None),
        _network(row),
    ]


def _reported(row: dict[str, Any]) -> str:
    return f"  reported   {row['score_minutes']:.2f} min ({row['raw_minutes']:.2f} on the clock)"


def _predicted(row: dict[str, Any]) -> str:
    interval = "no interval"
    if row["predicted_low_minutes"] is not None:
        interval = f"{row['predicted_low_minutes']:.2f} to {row['predicted_high_minutes']:.2f}"
    error = "an error that cannot be estimated"
    if row["leave_one_out_mape_percent"] is not None:
        error = f"held-out step error {row['leave_one_out_mape_percent']:.2f} %"
    return (
        f"  predicted  {row['predicted_minutes']:.2f} min with this run held out "
        f"({row['residual_percent']:+.1f} %; {interval}); family of {row['family_size']}, {error}"
    )


def _racks(row: dict[str, Any], rack: dict[str, Any] | None) -> str:
    counts = [
        ("stated", row["racks_stated"]),
        ("by division", row["racks_by_division"]),
        ("by replica", row["racks_by_replica"]),
        ("by model", row["racks_by_model"]),
    ]
    told = ", ".join(f"{count:,} {name}" for name, count in counts if count is not None)
    fill = ""
    if rack is not None and rack["active_per_rack"] is not None:
        fill = f"; {rack['active_per_rack']} of {rack['slots_per_rack']} slots of each are used"
    return f"  racks      {told or 'none stated'}{fill}"


def _network(row: dict[str, Any]) -> str:
    if row["nic_needed_gigabytes_per_second_mid"] is None:
        return "  network    need not modelled"
    return (
        f"  network    needs {row['nic_needed_gigabytes_per_second_mid']:.1f} GB/s per accelerator "
        f"({row['nic_needed_gigabytes_per_second_low']:.1f} to {row['nic_needed_gigabytes_per_second_high']:.1f}), "
        f"has {row['nic_available_gigabytes_per_second']:g}: {(row['nic_verdict'] or 'no verdict').replace('_', ' ')}"
    )
