"""What a score rests on, as a tree: its runs with the lines they were read from, its factor, its system, its model.

The words and figures of one result; where they are printed is the caller's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any

import polars as pl

from pipelines.lake.tables import Lake

NAMES_SUGGESTED = 3


class NoSuchResultError(Exception):
    """No result has that name; the message names those that come near."""


@dataclass
class Link:
    """One statement of the chain and what it rests on."""

    text: str
    below: list[Link] = field(default_factory=list)

    def add(self, text: str) -> Link:
        """Add a statement below this one and return it."""
        self.below.append(Link(text))
        return self.below[-1]

    def lines(self, depth: int = 0) -> list[str]:
        """Return the tree as indented lines."""
        own = "  " * depth + self.text
        return [own, *(line for link in self.below for line in link.lines(depth + 1))]


def chain_of_result(lake: Lake, result_id: str) -> Link:
    """Return what the score of a result rests on.

    Raises:
        NoSuchResultError: there is no such result.
    """
    results = lake.read("mart.results")
    found = results.filter(pl.col("result_id") == result_id)
    if found.is_empty():
        raise NoSuchResultError(_no_such(result_id, results["result_id"].to_list()))
    result = found.row(0, named=True)
    runs = _runs(lake, result_id)
    root = Link(result_id)
    _add_score(root, result, runs)
    _add_system(root, lake, result)
    _add_source(root, lake, result)
    _add_model(root, lake, result_id)
    return root


def _runs(lake: Lake, result_id: str) -> pl.DataFrame:
    logged = lake.scan("core.runs").select(
        "round",
        "source_path",
        "run_start_ms",
        "run_start_line",
        "run_stop_ms",
        "run_stop_line",
    )
    judged = lake.scan("mart.runs").filter(pl.col("result_id") == result_id)
    runs = judged.join(logged, on=["round", "source_path"], how="left")
    return runs.sort("rank", "source_path", nulls_last=True).collect()


def _add_score(root: Link, result: dict[str, Any], runs: pl.DataFrame) -> None:
    if result["score_minutes"] is None:
        score = root.add(f"no score: {result['no_score_reason']}")
    else:
        score = root.add(
            f"score {result['score_minutes']:.12g} min = {result['raw_minutes']:.12g} min on the clock "
            f"x {result['rcp_factor']:.12g}"
        )
        kept = runs.filter(pl.col("is_kept"))
        clock = score.add(
            f"{result['raw_minutes']:.12g} min: mean of {kept.height} kept of {result['counted_run_count']} counted "
            f"of {result['run_count']} runs"
        )
        score.add(_factor(result))
        score = clock
    for run in runs.iter_rows(named=True):
        _add_run(score, run)


def _factor(result: dict[str, Any]) -> str:
    if result["rcp_factor_source"] == "file":
        return f"{result['rcp_factor']:.12g}: convergence factor as published in {result['rcp_factor_path']}"
    return f"{result['rcp_factor']:.12g}: no convergence factor is published ({result['rcp_factor_source']})"


def _add_run(above: Link, run: dict[str, Any]) -> None:
    minutes = "no time" if run["raw_minutes"] is None else f"{run['raw_minutes']:.12g} min"
    role = "kept" if run["is_kept"] else "dropped as fastest or slowest" if run["is_counted"] else "not counted"
    link = above.add(f"{minutes}, {role}: {run['source_path']}")
    if run["not_counted_reason"]:
        link.add(run["not_counted_reason"])
    for event in ("start", "stop"):
        if run[f"run_{event}_line"] is not None:
            link.add(f"line {run[f'run_{event}_line']}: run_{event} at {_time(run[f'run_{event}_ms'])}")
    link.add(f"sha256 {run['source_sha256']}")
    if run["same_log_result_ids"]:
        link.add(f"the same bytes are published in {run['same_log_result_ids']}")


def _time(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
    return f"{milliseconds} ms ({moment})"


def _add_system(root: Link, lake: Lake, result: dict[str, Any]) -> None:
    keys = {name: result[name] for name in ("round", "submitter_folder", "system")}
    found = lake.read("core.systems").filter(**keys)
    if found.is_empty():
        root.add("system: no description published")
        return
    system = found.row(0, named=True)
    link = root.add(f"system {system['system_name']} of {system['submitter']}: {system['source_path']}")
    link.add(
        f"{system['accelerator_count']} accelerators: {system['number_of_nodes_text']} nodes x "
        f"{system['accelerators_per_node_text']} of {system['accelerator_text']}"
    )
    audited = lake.read("mart.rack_audit").filter(**keys)
    if audited.height:
        link.add(f"racks, {audited['verdict'][0]}: {audited['explanation'][0]}")


def _add_source(root: Link, lake: Lake, result: dict[str, Any]) -> None:
    for source in lake.read("core.sources").filter(round=result["round"]).iter_rows(named=True):
        root.add(
            f"read {source['retrieved_at']} from {source['source']} at {source['commit']}, "
            f"licence {source['licence'] or 'not stated'}"
        )


def _add_model(root: Link, lake: Lake, result_id: str) -> None:
    found = lake.read("mart.reconciled_runs").filter(pl.col("result_id") == result_id)
    if found.is_empty():
        return
    run = found.row(0, named=True)
    link = root.add(f"model, {run['verdict']}: {run['explanation']}")
    if run["family"]:
        error = run["leave_one_out_mape_percent"]
        told = "not estimable" if error is None else f"{error:.2f} %"
        link.add(f"family {run['family']}, {run['family_size']} results, held-out step error {told}")
    if run["interval_basis"]:
        link.add(f"interval: {run['interval_basis']}")


def _no_such(result_id: str, known: list[str]) -> str:
    near = get_close_matches(result_id, known, n=NAMES_SUGGESTED, cutoff=0.5)
    hint = f"; did you mean {', '.join(near)}" if near else "; `rackrecon query 'FROM mart.results'` lists them"
    return f"no result {result_id!r}{hint}"
