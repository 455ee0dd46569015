"""How columns and figures are told to people: labels, units, decimals, signs. What a column means is in its schema."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import polars as pl

from pipelines.schemas import TABLES

LABELS = {
    "result_id": "Result",
    "on": "Ran on",
    "score_minutes": "Score",
    "raw_minutes": "Time on the clock",
    "rcp_factor": "Convergence factor",
    "accelerator_count": "Accelerators",
    "racks_stated": "Racks the submitter states",
    "racks_by_division": "Racks by division",
    "racks_by_replica": "Racks by model replica",
    "racks_by_model": "Racks by the model",
    "active_per_rack": "Accelerators used per rack",
    "slots_per_rack": "Slots per rack",
    "idle_slots": "Slots left empty",
    "predicted_minutes": "Predicted score",
    "predicted_low_minutes": "Predicted, low end",
    "predicted_high_minutes": "Predicted, high end",
    "residual_percent": "Predicted against reported",
    "leave_one_out_mape_percent": "Held-out step error",
    "family_size": "Results in the family",
    "model_flops_utilisation": "MFU",
    "flops_convention": "FLOPs convention",
    "nic_available_gigabytes_per_second": "NIC bandwidth there is",
    "nic_needed_gigabytes_per_second_low": "Need, low end",
    "nic_needed_gigabytes_per_second_mid": "Need, central",
    "nic_needed_gigabytes_per_second_high": "Need, high end",
    "nic_verdict": "Is the network enough?",
    "global_batch_size": "Batch size",
    "submitter_folder": "Submitter's folder",
    "system_name": "System as written",
    "accelerator_text": "Accelerator as written",
    "first_result_id": "First published as",
    "required_run_count": "Runs required",
    "run_count": "Logs",
    "counted_run_count": "Runs counted",
    "no_score_reason": "Why there is no score",
    "no_prediction_reason": "Why there is no prediction",
    "source_address": "Address of the source",
    "explained_by": "What explains it",
    "resolved_value": "Figure taken",
    "claim_id": "Claim",
    "finding_id": "Finding",
    "inference_id": "Record",
    "base_result_id": "Smaller result",
    "base_accelerator_count": "Accelerators of the smaller",
    "size_ratio": "Times the size of the smaller",
    "base_precision": "Precision of the smaller",
    "is_mixed_precision": "Precisions differ",
    "is_mixed_software": "Software differs",
    "is_mixed_layout": "Layouts differ",
    "is_other_submitter": "Submitters differ",
    "efficiency_raw": "Efficiency by the clock",
    "efficiency_score": "Efficiency by score",
    "efficiency_throughput": "Efficiency by steps",
    "efficiency_model": "Efficiency by the model",
    "base_bubble_share": "Share of the pipeline bubble, smaller",
    "bubble_share": "Share of the pipeline bubble",
    "base_fixed_share": "Share of the fixed part of a step, smaller",
    "fixed_share": "Share of the fixed part of a step",
    "power_law_exponent": "Exponent of the power law through both",
    "active_explained_by": "What explains that number",
    "remainder_by_slots": "Left over when slots divide",
    "racks_least": "Fewest racks that hold them",
    "fill_fraction": "Share of slots in use",
    "replica_accelerator_count": "Accelerators of a model replica",
    "result_per_accelerator": "Result per accelerator, derived",
    "retrieved_at": "Read",
    "file_count": "Files",
    "checked_count": "Rows checked",
    "failed_count": "Rows that fail",
    "fixed_seconds": "Fixed part of the steps",
    "rcp_seconds": "Convergence factor",
    "ideal_seconds": "Steps with all stages at work",
    "bubble_seconds": "Pipeline bubble",
    "beyond_model_seconds": "Steps beyond the model",
    "steps_not_split_seconds": "Steps, not split",
    "other_runs_seconds": "Other runs than the middle one",
    "remainder_seconds": "Neither step nor evaluation",
}
"""Where a column's name in words does not say enough."""

SIGNS = {
    "error": "✕",
    "warning": "▲",
    "info": "●",
    "enough": "✓",
    "too_close_to_call": "▲",
    "not_enough": "✕",
    "passed": "✓",
    "failed": "▲",
    "errored": "✕",
    "supported": "✓",
    "misplaced": "▲",
    "implausible": "▲",
    "contradicted": "✕",
    "as_predicted": "✓",
    "faster_than_predicted": "▲",
    "slower_than_predicted": "▲",
    "whole": "✓",
    "explained": "✓",
    "ambiguous": "▲",
}
"""What stands before a severity or verdict, so that its colour says nothing alone."""

TONES = {"✕": "bad", "▲": "warn", "●": "info", "✓": "good"}
"""Colour of each sign, as a class of the style sheet."""

_SIGNED = {"severity", "verdict", "nic_verdict", "status"}
_SLUGS = {*_SIGNED, "kind", "metric", "explained_by", "scaling_mode", "largest_loss", "rcp_factor_source", "rcp_check"}
_SLUGS |= {"active_explained_by", "availability"}
_UNIT_ENDINGS = ("_minutes", "_seconds", "_joules", "_bytes", "_percent", "_gigabytes_per_second")
_NOTHING = "–"
_NO_DECIMALS_FROM = 1e6


@dataclass(frozen=True)
class Column:
    """How one column is shown."""

    name: str
    label: str
    unit: str
    help: str
    is_number: bool
    decimals: int

    @property
    def is_slug(self) -> bool:
        """Whether its values are words joined by underscores, which are shown as words."""
        return self.name in _SLUGS

    @property
    def is_signed(self) -> bool:
        """Whether a sign stands before its values."""
        return self.name in _SIGNED

    def show(self, value: Any) -> str:
        """Return a value as text; a missing one is a dash."""
        if value is None:
            return _NOTHING
        if isinstance(value, bool):
            return "yes" if value else "no"
        if self.is_number:
            return f"{value:,.{0 if abs(value) >= _NO_DECIMALS_FROM else self.decimals}f}"
        if self.is_signed and value in SIGNS:
            return f"{SIGNS[value]} {words(value)}"
        return words(str(value)) if self.is_slug else str(value)


def columns(frame: pl.DataFrame) -> list[Column]:
    """Return how each column of a frame is shown; meanings and units come from the schemas, by name."""
    return [_column(frame[name]) for name in frame.columns]


def words(slug: str | None) -> str:
    """Return a slug such as `too_close_to_call` or `racks.explained` as words, a dash for none."""
    return (slug or _NOTHING).replace("_", " ").replace(".", ": ")


def listed(parts: Iterable[str]) -> str:
    """Return parts as a sentence tells them: one, two and three."""
    *first, last = list(parts) or ["none"]
    return f"{', '.join(first)} and {last}" if first else last


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, which takes an s where it is not one."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def label(name: str) -> str:
    """Return the words of a column name."""
    if name in LABELS:
        return LABELS[name]
    for ending in _UNIT_ENDINGS:
        name = name.removesuffix(ending)
    return name.replace("_", " ").capitalize().replace("Nic ", "NIC ").replace("Rcp", "RCP")


@cache
def benchmarks() -> dict[str, str]:
    """Return what each benchmark that is known trains, in words."""
    return tomllib.loads(files("pipelines.publishing.report").joinpath("benchmarks.toml").read_text("utf-8"))


def task(benchmark: str) -> str:
    """Return what a benchmark trains as a sentence before others, empty where it is not known."""
    return f"{benchmarks()[benchmark]}. " if benchmark in benchmarks() else ""


@cache
def _kinds() -> dict[str, str]:
    return tomllib.loads(files("pipelines.publishing.report").joinpath("kinds.toml").read_text("utf-8"))


def kind_of_finding(kind: str) -> str:
    """Return what a kind of finding says, in words beside which its count stands."""
    return _kinds().get(kind, words(kind))


def _column(values: pl.Series) -> Column:
    name = values.name
    help_text, unit = _documented().get(name, ("", ""))
    is_number = values.dtype.is_numeric()
    said = label(name)
    told_twice = len(unit) > 1 and said.lower().startswith(unit.lower())
    decimals = _decimals(values) if is_number else 0
    return Column(name, said, "" if told_twice else unit, help_text, is_number, decimals)


def _decimals(values: pl.Series) -> int:
    """Return how many decimals give the middle value four figures, so that a column aligns at its point."""
    if values.dtype.is_integer():
        return 0
    present = values.drop_nulls().abs()
    finite = present.filter(present.is_finite() & (present > 0))
    middle = finite.median()
    if not isinstance(middle, float):
        return 0
    most = 2 if values.name.endswith("_percent") else 4
    return min(most, max(0, 3 - math.floor(math.log10(middle))) if middle < 1000 else 0)


@cache
def _documented() -> dict[str, tuple[str, str]]:
    """Return meaning and unit of each column name, as the first table that has it says."""
    found: dict[str, tuple[str, str]] = {}
    for entry in reversed(TABLES.values()):
        for name, column in entry.schema.columns().items():
            found[name] = (column.description or "", (column.metadata or {}).get("unit") or "")
    return found
