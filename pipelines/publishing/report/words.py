"""How columns and figures are told to people: labels, units, decimals. What a column means is in its schema."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import polars as pl

from pipelines.schemas import TABLES

LABELS = {
    "result_id": "Result",
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
    "system_name": "System",
    "run_count": "Logs",
    "counted_run_count": "Runs counted",
    "no_score_reason": "Why there is no score",
    "no_prediction_reason": "Why there is no prediction",
    "source_address": "Address of the source",
    "explained_by": "What explains it",
    "fixed_seconds": "Fixed part of the steps",
    "rcp_seconds": "Convergence factor",
    "ideal_seconds": "All stages at work",
    "bubble_seconds": "Pipeline bubble",
    "beyond_model_seconds": "Beyond the model",
    "other_runs_seconds": "Other runs",
    "remainder_seconds": "Neither step nor evaluation",
}
"""Where a column's name in words does not say enough."""

_UNIT_ENDINGS = ("_minutes", "_seconds", "_joules", "_bytes", "_percent", "_gigabytes_per_second")
_NOTHING = "–"


@dataclass(frozen=True)
class Column:
    """How one column is shown."""

    name: str
    label: str
    unit: str
    help: str
    is_number: bool
    decimals: int

    def show(self, value: Any) -> str:
        """Return a value as text; a missing one is a dash."""
        if value is None:
            return _NOTHING
        if isinstance(value, bool):
            return "yes" if value else "no"
        return f"{value:,.{self.decimals}f}" if self.is_number else str(value)


def columns(frame: pl.DataFrame) -> list[Column]:
    """Return how each column of a frame is shown; meanings and units come from the schemas, by name."""
    return [_column(frame[name]) for name in frame.columns]


def words(slug: str | None) -> str:
    """Return a slug such as `too_close_to_call` as words, a dash for none."""
    return (slug or _NOTHING).replace("_", " ")


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


def _column(values: pl.Series) -> Column:
    name = values.name
    help_text, unit = _documented().get(name, ("", ""))
    is_number = values.dtype.is_numeric()
    said = label(name)
    told_twice = said.lower().startswith(unit.lower())
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
    return min(4, max(0, 3 - math.floor(math.log10(middle))) if middle < 1000 else 0)


@cache
def _documented() -> dict[str, tuple[str, str]]:
    """Return meaning and unit of each column name, as the first table that has it says."""
    found: dict[str, tuple[str, str]] = {}
    for entry in reversed(TABLES.values()):
        for name, column in entry.schema.columns().items():
            found[name] = (column.description or "", (column.metadata or {}).get("unit") or "")
    return found
