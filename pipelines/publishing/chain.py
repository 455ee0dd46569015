"""What a score rests on, as a tree: its runs with the lines they were read from, its factor, its system, its model.

The words and figures of one result; where they are printed is the caller's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any

import polars as pl

from pipelines.lake.tables import Lake

NAMES_SUGGESTED = 3


class NoSuchResultError(Exception):
    """No result has that name; the message names those that come near."""

    def __init__(self, result_id: str, near: list[str]) -> None:
        self.near = near
        hint = f"did you mean {', '.join(near)}" if near else "`rackrecon query 'FROM mart.results'` lists them"
        super().__init__(f"no result {result_id!r}; {hint}")


@dataclass
class Link:
    """One statement of the chain and what it rests on."""

    text: str
    below: list[Link] = field(default_factory=list)
    row: Mapping[str, Any] = field(default_factory=dict)
    """The row that the statement tells, for programs."""

    def add(self, text: str, row: Mapping[str, Any] | None = None) -> Link:
        """Add a statement below this one and return it."""
        self.below.append(Link(text, row=row or {}))
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
        raise NoSuchResultError(result_id, _near(result_id, results["result_id"].to_list()))
    result = found.row(0, named=True)
    runs = _runs(lake, result_id)
    root = Link(result_id)
    _add_score(root, result, runs)
    _add_system(root, lake, result)
    _add_source(root, lake, result)
    _add_model(root, lake, result_id)
    return root


def chain_of_run(lake: Lake, run_id: str) -> Link | None:
    """Return what the time of a run rests on and whether it counts, None where there is no such run."""
    found = lake.read("mart.runs").filter(pl.col("run_id") == run_id)
    if found.is_empty():
        return None
    runs = _runs(lake, found["result_id"][0]).filter(pl.col("run_id") == run_id)
    root = Link(run_id)
    _add_run(root, runs.row(0, named=True))
    root.add(f"of result {found['result_id'][0]}")
    return root


def _runs(lake: Lake, result_id: str) -> pl.DataFrame:
    judged = lake.read("mart.runs").filter(pl.col("result_id") == result_id)
    logged = _of_rounds(lake, "core.runs", judged["round"]).select(
        "round",
        "source_path",
        "run_start_ms",
        "run_start_line",
        "run_stop_ms",
        "run_stop_line",
    )
    runs = judged.join(logged, on=["round", "source_path"], how="left")
    return runs.sort("rank", "source_path", nulls_last=True)


def _of_rounds(lake: Lake, name: str, rounds: Iterable[str]) -> pl.DataFrame:
    return lake.read(name, sorted(set(rounds) & set(lake.partitions(name))))


def _add_score(root: Link, result: dict[str, Any], runs: pl.DataFrame) -> None:
    if result["score_minutes"] is None:
        score = root.add(f"no score: {result['no_score_reason']}")
    else:
        score = root.add(
            f"score {result['score_minutes']:.12g} min = {result['raw_minutes']:.12g} min on the clock "
            f"x {result['rcp_factor']:.12g}",
            result,
        )
        kept = runs.filter(pl.col("is_kept"))
        is_middle = (kept.height, result["counted_run_count"]) == (1, 3)
        clock = score.add(
            f"{result['raw_minutes']:.12g} min: mean of {kept.height} kept of {result['counted_run_count']} counted "
            f"of {result['run_count']} runs{', the middle one' if is_middle else ''}"
        )
        factor = score.add(_factor(result))
        if result["expected_samples"] is not None:
            factor.add(
                f"the runs needed {result['samples_to_converge']:.12g}, the reference "
                f"{result['expected_samples']:.12g} at batch size {result['global_batch_size']} "
                f"({result['expected_samples_source']})"
            )
        if result["rcp_factor_recomputed"] is not None:
            factor.add(f"recomputed from the reference points as a check: {result['rcp_factor_recomputed']:.12g}")
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
    link = above.add(f"{minutes}, {role}: {run['source_path']}", run)
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
    found = _of_rounds(lake, "core.systems", [result["round"]]).filter(**keys)
    if found.is_empty():
        root.add("system: no description published")
        return
    system = found.row(0, named=True)
    link = root.add(
        f"system {system['system_name']} of {system['submitter']}, {system['division']}, "
        f"{system['availability']}: {system['source_path']}",
        system,
    )
    link.add(
        f"{system['accelerator_count']} accelerators: {system['number_of_nodes_text']} nodes x "
        f"{system['accelerators_per_node_text']} of {system['accelerator_text']}"
    )
    audited = lake.read("mart.rack_audit").filter(**keys)
    if audited.height:
        link.add(f"racks, {audited['verdict'][0]}: {audited['explanation'][0]}", audited.row(0, named=True))


def _add_source(root: Link, lake: Lake, result: dict[str, Any]) -> None:
    for source in _of_rounds(lake, "core.sources", [result["round"]]).iter_rows(named=True):
        read = root.add(
            f"read {source['retrieved_at']} from {source['source']} at {source['commit']}, "
            f"licence {source['licence'] or 'not stated'}",
            source,
        )
        read.add("published result ID: none published")


def _add_model(root: Link, lake: Lake, result_id: str) -> None:
    reconciled = lake.read("mart.reconciled_runs")
    found = reconciled.filter(pl.col("result_id") == result_id)
    if found.is_empty():
        return
    run = found.row(0, named=True)
    link = root.add(f"model, {run['verdict']}: {run['explanation']}", run)
    if run["predicted_minutes"] is not None:
        _add_prediction(link, run)
    elif run["no_prediction_reason"]:
        link.add(f"no prediction: {run['no_prediction_reason']}")
    if run["family"]:
        _add_family(link, lake, run, reconciled)
    _add_launch(link, lake, run)
    if run["interval_basis"]:
        link.add(f"interval: {run['interval_basis']}")


def _add_prediction(above: Link, run: dict[str, Any]) -> None:
    link = above.add(f"predicted {run['predicted_minutes']:.6g} min, derived, with this result held out")
    if run["predicted_step_seconds"] is not None:
        took = "" if run["step_seconds"] is None else f"; it took {run['step_seconds']:.6g} s ({run['step_basis']})"
        link.add(f"step: {run['predicted_step_seconds']:.6g} s predicted{took}")
    if run["expected_samples"] is not None and run["global_batch_size"]:
        steps = run["expected_samples"] / run["global_batch_size"]
        link.add(
            f"{run['expected_samples']:.12g} samples that the reference needs, {run['global_batch_size']:,} a step: "
            f"{steps:.6g} steps; it took {run['samples_to_converge'] or float('nan'):.12g} samples"
        )


def _add_family(above: Link, lake: Lake, run: dict[str, Any], reconciled: pl.DataFrame) -> None:
    error = run["leave_one_out_mape_percent"]
    told = "not estimable" if error is None else f"{error:.2f} %"
    link = above.add(f"family {run['family']}, {run['family_size']} results, held-out step error {told}")
    for fit in lake.read("mart.calibrations").filter(family=run["family"]).iter_rows(named=True):
        link.row = fit
        if fit["micro_batch_seconds"] is not None and fit["fixed_seconds"] is not None:
            link.add(
                f"fit over all: {fit['micro_batch_seconds']:.6g} s a micro-batch, {fit['fixed_seconds']:.6g} s fixed"
            )
        if fit["no_estimate_reason"]:
            link.add(f"no error told: {fit['no_estimate_reason']}")
        if fit["peak_basis"]:
            link.add(f"efficiency against {fit['peak_basis']}")
    members = reconciled.filter((pl.col("family") == run["family"]) & (pl.col("result_id") != run["result_id"]))
    for member in members.sort("accelerator_count", "result_id").iter_rows(named=True):
        seconds = "no step time" if member["step_seconds"] is None else f"step {member['step_seconds']:.6g} s"
        link.add(f"rests on {member['result_id']}: {member['accelerator_count']:,} accelerators, {seconds}")


def _add_launch(above: Link, lake: Lake, run: dict[str, Any]) -> None:
    launches = _of_rounds(lake, "core.launches", [run["round"]])
    for launch in launches.filter(pl.col("result_id") == run["result_id"]).iter_rows(named=True):
        link = above.add(
            f"layout {run['layout'] or 'not known'}, {launch['precision'] or 'precision not known'}: "
            f"{launch['config_path'] or launch['source_path']}",
            launch,
        )
        for name, source in launch.items():
            value = launch.get(name.removesuffix("_source"))
            if name.endswith("_source") and value is not None:
                link.add(f"{name.removesuffix('_source').replace('_', ' ')} {value}: {source}")


def _near(result_id: str, known: list[str]) -> list[str]:
    """Return the results below that name, or with a part of just that name, else those named much alike."""
    below = sorted(name for name in known if name.startswith(f"{result_id.rstrip('/')}/"))
    holding = below or sorted(name for name in known if result_id in name.split("/"))
    return (holding or get_close_matches(result_id, known, n=NAMES_SUGGESTED, cutoff=0.5))[:NAMES_SUGGESTED]
