"""The glossary: each word of the report, and which column headers lead to it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

TERMS_OF_COLUMNS = {
    "result_id": "result",
    "round": "round",
    "submitter": "submitter",
    "benchmark": "benchmark",
    "division": "division",
    "score_minutes": "score",
    "raw_minutes": "time-on-the-clock",
    "rcp_factor": "convergence-factor",
    "rcp_seconds": "convergence-factor",
    "accelerator": "accelerator",
    "accelerator_count": "accelerator",
    "racks_stated": "racks-the-submitter-states",
    "active_per_rack": "accelerators-used-per-rack",
    "slots_per_rack": "slots-per-rack",
    "idle_slots": "slots-per-rack",
    "racks_by_division": "racks-by-division",
    "racks_by_replica": "racks-by-model-replica",
    "racks_by_model": "racks-by-the-model",
    "layout": "parallelism",
    "family": "calibration-family",
    "predicted_minutes": "held-out",
    "predicted_low_minutes": "interval",
    "predicted_high_minutes": "interval",
    "residual_percent": "predicted-against-reported",
    "model_flops_utilisation": "mfu",
    "flops_convention": "flops-convention",
    "nic_available_gigabytes_per_second": "nic",
    "nic_needed_gigabytes_per_second_low": "nic-need",
    "nic_needed_gigabytes_per_second_mid": "nic-need",
    "nic_needed_gigabytes_per_second_high": "nic-need",
    "nic_verdict": "nic-need",
    "bubble_seconds": "pipeline-bubble",
    "efficiency_score": "scaling-efficiency",
    "efficiency_throughput": "scaling-efficiency",
    "efficiency_model": "scaling-efficiency",
    "scenario": "scenario",
    "result_per_accelerator": "derived",
    "severity": "finding",
    "claim_id": "claim",
    "explained_by": "conflict",
}
"""Column name to anchor of the term behind it."""


@dataclass(frozen=True)
class Term:
    """One word with its meaning."""

    anchor: str
    term: str
    meaning: str


@cache
def terms() -> tuple[Term, ...]:
    """Return every term, by its words."""
    content = tomllib.loads(files("pipelines.publishing.report").joinpath("glossary.toml").read_text("utf-8"))
    found = [Term(anchor, entry["term"], entry["meaning"]) for anchor, entry in content.items()]
    return tuple(sorted(found, key=lambda entry: entry.term.casefold()))
