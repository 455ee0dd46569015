"""Which file of a results repository is what, told from its path alone.

The folder rules of training, HPC and inference repositories belong here; opening a file does not.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Kind = Literal[
    "result_log",
    "system_description",
    "launch_config",
    "launch_note",
    "scaling_factor",
    "power_log",
    "inference_summary",
]

_DIVISIONS = ("closed", "open", "network")
_SCALING_FOLDERS = ("strong", "weak")
_BENCHMARK_FOLDERS = ("benchmark", "benchmarks")
_SUMMARY_NAMES = ("summary_results.json", "summary.json")


class Placed(NamedTuple):
    """What a path says about a file; a part that the path does not name is None.

    The submitter folder of an inference description is its submitter's, without the division above it.
    A launch file has no system: its folders name implementations, which only sometimes are systems.
    """

    kind: Kind
    name: str
    """File name."""
    submitter_folder: str | None = None
    system: str | None = None
    benchmark: str | None = None
    scaling_mode: Literal["strong", "weak"] = "strong"
    division: str | None = None
    """Division folder of an inference repository; training repositories have none."""
    run_name: str | None = None
    """Run that a power log belongs to, such as result_0."""


def classify(path: str) -> Placed | None:
    """Return what the file at `path` is, or None when no parser reads it.

    Args:
        path: Path inside the repository with `/` between folders, without an archive's top folder.
    """
    parts = path.split("/")
    if "" in parts or "." in parts or ".." in parts:
        return None
    match parts:
        case [submitter, "results", system, *below]:
            return _result_file(submitter, system, below)
        case [submitter, "systems", name] if name.endswith(".json"):
            return _description(submitter, name)
        case [submitter, folder, benchmark, *_, name] if folder in _BENCHMARK_FOLDERS:
            return _launch_file(submitter, benchmark, name)
        case [division, submitter, "systems", name] if division in _DIVISIONS and name.endswith(".json"):
            return _description(submitter, name, division)
        case [name] if name in _SUMMARY_NAMES:
            return Placed("inference_summary", name)
        case _:
            return None


STRAY = "stray_file"
"""Kind of a file that lies or is called nearly as one that a parser reads."""

_PUT_ASIDE = "pruned_results"
"""Folder of instances that a weak-scaling result leaves out, as the HPC rules let it."""
_PACKED = re.compile(r"\.(?:gz|bz2|xz|zst|zip)$")
_LOG_NAME = re.compile(r"result[-_ ]?(.*)\.(?:txt|log|out)")


def nearly(path: str) -> Placed | None:
    """Return what a file that no parser reads would be under a sound name: letters small, not packed, a log `.txt`.

    A log that lies deeper than those of its system is one of a benchmark too, unless it was put aside.

    Args:
        path: As `classify` takes it.
    """
    if classify(path) is not None:
        return None
    match path.split("/"):
        case [submitter, "results", system, *deeper, name] if _is_log(name) and not {"", _PUT_ASIDE} & {*deeper}:
            return Placed("result_log", name, submitter, system, deeper[-1]) if len(deeper) > 1 else None
    *folders, name = path.split("/")
    name = _LOG_NAME.sub(r"result_\1.txt", _PACKED.sub("", name.lower()))
    fixed = {"results", "systems", *_SCALING_FOLDERS, *_DIVISIONS}
    placed = classify("/".join([folder.lower() if folder.lower() in fixed else folder for folder in folders] + [name]))
    return placed if placed is not None and placed.kind in ("result_log", "system_description") else None


def result_id(round_name: str, placed: Placed) -> str:
    """Return the readable name of the result that a file belongs to.

    Returns:
        `round/submitter folder/system/benchmark`, and `/weak` behind it for a weak-scaling result.

    Raises:
        ValueError: the file belongs to no single result.
    """
    if placed.submitter_folder is None or placed.system is None or placed.benchmark is None:
        raise ValueError(f"{placed.name} ({placed.kind}) belongs to no single result")
    name = f"{round_name}/{placed.submitter_folder}/{placed.system}/{placed.benchmark}"
    return f"{name}/weak" if placed.scaling_mode == "weak" else name


def _description(submitter: str, name: str, division: str | None = None) -> Placed:
    return Placed("system_description", name, submitter, system=name.removesuffix(".json"), division=division)


def _result_file(submitter: str, system: str, below: list[str]) -> Placed | None:
    mode: Literal["strong", "weak"] = "strong"
    if below and below[0] in _SCALING_FOLDERS:
        mode = "weak" if below[0] == "weak" else "strong"
        below = below[1:]
    match below:
        case [benchmark, name] if _is_log(name):
            return Placed("result_log", name, submitter, system, benchmark, mode)
        case [benchmark, "scaling.json" as name]:
            return Placed("scaling_factor", name, submitter, system, benchmark, mode)
        case [benchmark, "power", run, name] if name.startswith(("node_", "sw_")) and name.endswith(".txt"):
            return Placed("power_log", name, submitter, system, benchmark, mode, run_name=run)
        case _:
            return None


def _is_log(name: str) -> bool:
    return name.startswith("result_") and name.endswith(".txt")


def _launch_file(submitter: str, benchmark: str, name: str) -> Placed | None:
    if name.endswith(".sh"):
        return Placed("launch_config", name, submitter, benchmark=benchmark)
    if name.lower().startswith("readme") and name.lower().endswith(".md"):
        return Placed("launch_note", name, submitter, benchmark=benchmark)
    return None
