"""What the files of a submission must state: the keys of a log, the target of a benchmark, the fields of a description.

The tables beside this module hold the facts with their source; what hyper-parameters may be is not among them.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources

import polars as pl

# fmt: off
REQUIRED_FIELDS = (
    "submitter", "division", "status", "system_name", "number_of_nodes", "host_processors_per_node",
    "host_processor_model_name", "host_processor_core_count", "host_processor_vcpu_count", "host_processor_frequency",
    "host_processor_caches", "host_processor_interconnect", "host_memory_capacity", "host_storage_type",
    "host_storage_capacity", "host_networking", "host_networking_topology", "host_memory_configuration",
    "accelerators_per_node", "accelerator_model_name", "accelerator_host_interconnect", "accelerator_frequency",
    "accelerator_on-chip_memories", "accelerator_memory_configuration", "accelerator_memory_capacity",
    "accelerator_interconnect", "accelerator_interconnect_topology", "cooling", "hw_notes", "framework",
    "other_software_stack", "operating_system", "sw_notes",
)
# fmt: on
"""Fields that a system description must have, blank or not (system_desc_checker.py of mlperf-logging 4.1.68)."""

STATUSES = ("Available on-premise", "Available cloud", "Research, Development, or Internal (RDI)", "Preview")
"""What the status of a training system may be, to the letter, from version 4.0 on (same source)."""

_RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


@dataclass(frozen=True, slots=True)
class Target:
    """What one evaluation of a closed run must reach."""

    metric: str | None
    """Member of the result that counts, where the result is a dictionary."""
    relation: str
    value: float | None
    """None where the target that the log states applies."""

    def is_met(self, quality: float, logged_target: float | None) -> bool:
        """Say whether an evaluation result reaches the target; one that is not known is reached."""
        target = logged_target if self.value is None else self.value
        return target is None or _RELATIONS[self.relation](quality, target)

    def __str__(self) -> str:
        value = "the target that the log states" if self.value is None else f"{self.value:g}"
        return " ".join(filter(None, (self.metric, self.relation, value)))


def required_keys(round_name: str, benchmark: str, division: str) -> dict[tuple[str, ...], str]:
    """Return the keys that a log must state, and how often: `exactly_one` or `at_least_one`.

    Args:
        round_name: the round of the rules; nothing is known of a round without a ruleset.
        benchmark: as the round names it.
        division: closed or open.

    Returns:
        Each key, or the keys of which one must be there, with how often.
    """
    table = _key_table()
    found: dict[tuple[str, ...], str] = {}
    for row_benchmark, row_division in (("", ""), (benchmark, division)):
        found |= table.get((round_name, row_benchmark, row_division), {})
    return {keys: occurrence for keys, occurrence in found.items() if occurrence != "optional"}


def asks_for_seeds(round_name: str) -> bool:
    """Say whether each run of a closed result must log a seed of its own.

    The package checker looks at seeds from ruleset 1.0.0 on (package_checker.py of mlperf-logging 4.1.68).

    Args:
        round_name: the round of the rules; one whose version cannot be told is taken for a newer one.
    """
    version = re.search(r"v(\d+)\.\d+$", round_name)
    return version is None or int(version[1]) >= 1


def quality_targets(round_name: str, benchmark: str) -> tuple[Target, ...]:
    """Return what one evaluation of a closed run must reach, nothing where that is not one figure."""
    return _target_table().get((round_name, benchmark), ())


@cache
def _key_table() -> dict[tuple[str, str, str], dict[tuple[str, ...], str]]:
    table: dict[tuple[str, str, str], dict[tuple[str, ...], str]] = {}
    for round_name, benchmark, division, occurrence, keys in _read("required_keys.csv").iter_rows():
        own = table.setdefault((round_name, benchmark or "", division or ""), {})
        own.update({tuple(key.split("|")): occurrence for key in keys.split()})
    return table


@cache
def _target_table() -> dict[tuple[str, str], tuple[Target, ...]]:
    table: dict[tuple[str, str], tuple[Target, ...]] = {}
    for round_name, benchmark, metric, relation, value in _read("quality_targets.csv").iter_rows():
        target = Target(metric, relation, float(value) if value else None)
        table[round_name, benchmark] = (*table.get((round_name, benchmark), ()), target)
    return table


def _read(name: str) -> pl.DataFrame:
    content = resources.files("pipelines.scoring").joinpath(name).read_bytes()
    return pl.read_csv(content, comment_prefix="#", infer_schema=False)
