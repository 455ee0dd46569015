"""A plan for programs: names that stay, in the order in which a plan is told; `docs/planning.md` describes each.

The counts of racks stand at the top under their full names, such as `racks_by_model`; all else is grouped.
"""

from __future__ import annotations

from dataclasses import asdict, fields, is_dataclass
from types import UnionType
from typing import Any, get_args, get_type_hints

from pipelines.publishing.plan_provenance import Provenance
from pipelines.publishing.plan_words import DERIVED
from pipelines.reconciling.planning_answers import Answer, Comparison

_GROUPS = (
    "cluster",
    "time",
    "network",
    "fabric",
    "fabric_reason",
    "power",
    "power_reason",
    "binding",
    "nearest",
    "nearest_reason",
    "assumptions",
    "break_even",
    "cost",
    "alternative",
    "basis",
    "inputs",
    "searched",
)


def plan_as_json(answer: Answer, provenance: Provenance) -> dict[str, Any]:
    """Return the plan with what it was made from."""
    return {"command": provenance.command, **answer_as_json(answer), "derived": DERIVED, **provenance.as_json()}


def answer_as_json(answer: Answer) -> dict[str, Any]:
    """Return the plan alone."""
    racks = {f"racks_{name}": value for name, value in asdict(answer.racks).items()}
    groups = {name: _plain(getattr(answer, name)) for name in _GROUPS}
    return {"extrapolations": list(answer.extrapolations), **racks, **groups}


def comparison_as_json(comparison: Comparison, provenance: Provenance) -> dict[str, Any]:
    """Return two plans, and their figures side by side."""
    return {
        "command": provenance.command,
        "a": answer_as_json(comparison.first),
        "b": answer_as_json(comparison.second),
        "figures": comparison_figures(comparison),
        "derived": DERIVED,
        **provenance.as_json(),
    }


def comparison_figures(comparison: Comparison) -> list[dict[str, Any]]:
    """Return a row for each figure of two plans."""
    return [
        {"figure": row.figure, "unit": row.unit, "a": row.first, "b": row.second, "b_over_a": row.ratio}
        for row in comparison.rows
    ]


def field_names() -> list[str]:
    """Return the name of every field that a plan can have, with that of its group before it: `time.minutes`."""
    named = _names_of(Answer)
    own = [name for name in named if name.startswith(_GROUPS)]
    racks = [name.replace("racks.", "racks_", 1) for name in named if name.startswith("racks.")]
    about = ["command", "extrapolations", "derived", "sources", "files", "tables", "age", "version", "trademark"]
    return [*about, *racks, *own]


def _names_of(kind: type, above: str = "") -> list[str]:
    hints = get_type_hints(kind)
    names: list[str] = []
    for entry in fields(kind):
        below = next((one for one in _kinds(hints[entry.name]) if is_dataclass(one)), None)
        name = above + entry.name
        # `below` is a dataclass wherever it is not None, which mypy cannot tell.
        names += [name] if below is None else _names_of(below, f"{name}.")  # type: ignore[arg-type]
    return names


def _kinds(hint: Any) -> tuple[Any, ...]:
    is_nested = isinstance(hint, UnionType) or get_args(hint)
    return get_args(hint) if is_nested else (hint,)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
