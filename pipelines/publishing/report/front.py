"""The first page: how new, what the newest round says, what is wrong, one run worked through, which networks do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from pipelines.publishing.age import newest
from pipelines.publishing.headline import worked_example
from pipelines.publishing.report.parts import Plain
from pipelines.publishing.report.tables import Tables
from pipelines.publishing.report.words import words
from pipelines.schemas.core import SEVERITIES

_MEANINGS = {
    "error": "a published figure cannot be right or used",
    "warning": "something does not fit and may matter",
    "info": "worth knowing",
}
_NETWORK = ("enough", "too_close_to_call", "not_enough")
_KINDS_TOLD = 4
_SIGNS = {"error": "✖", "warning": "▲", "info": "●"}


@dataclass(frozen=True)
class Tile:
    """One figure with its unit and its round."""

    value: str
    label: str
    note: str


@dataclass(frozen=True)
class Bar:
    """One line of a small bar chart, which is a list to who does not see it."""

    name: str
    sign: str
    count: int
    share_percent: float
    note: str
    address: str


@dataclass(frozen=True)
class Example:
    """One run worked through: the answer, then what it rests on."""

    result_id: str
    which: str
    answer: str
    tiles: list[Tile]
    time: str
    network: str
    address: str


def newest_round(tables: Tables) -> str | None:
    """Return the newest round that has results: of training where there is one, else the last by name."""
    rounds = tables.need("mart.results")["round"].unique().sort().to_list()
    return newest(rounds, "training") or (rounds[-1] if rounds else None)


def round_tiles(tables: Tables, round_name: str) -> list[Tile]:
    """Return what the newest round amounts to."""
    results = tables.need("mart.results").filter(pl.col("round") == round_name)
    runs = tables.want("mart.runs")
    logs = 0 if runs is None else runs.filter(pl.col("round") == round_name).height
    scored = results["score_minutes"].is_not_null().sum()
    largest = results.filter(pl.col("accelerator_count").is_not_null()).sort("accelerator_count", "result_id")
    tiles = [
        Tile(f"{scored:,} of {results.height:,}", "results with a score", round_name),
        Tile(f"{logs:,}", "result logs read", round_name),
        Tile(f"{results['submitter_folder'].n_unique()}", "submitters", round_name),
    ]
    if largest.height:
        row = largest.row(-1, named=True)
        tiles.append(
            Tile(
                f"{row['accelerator_count']:,}",
                "accelerators in the largest system",
                f"{round_name}, {row['submitter'] or row['submitter_folder']}, {row['benchmark']}",
            )
        )
    return tiles


def fastest(tables: Tables, round_name: str) -> Plain:
    """Return the fastest closed score of each benchmark of a round."""
    found = (
        tables.need("mart.results")
        .filter(pl.col("round") == round_name, pl.col("division") == "closed", pl.col("score_minutes").is_not_null())
        .sort("benchmark", "score_minutes", "result_id")
        .unique("benchmark", keep="first", maintain_order=True)
        .select("benchmark", "score_minutes", "accelerator_count", "accelerator", "submitter")
    )
    return Plain(f"Fastest score of each benchmark, closed division, {round_name}, recomputed from the logs", found)


def severities(tables: Tables) -> list[Bar]:
    """Return findings by severity, with the kinds that are most frequent."""
    findings = tables.want("mart.findings")
    if findings is None:
        return []
    counts = dict(findings.group_by("severity").len().iter_rows())
    most = max(counts.values())
    return [
        Bar(
            severity,
            _SIGNS[severity],
            counts.get(severity, 0),
            100 * counts.get(severity, 0) / most,
            _kinds(findings, severity) or _MEANINGS[severity],
            f"findings.html#severity={severity}",
        )
        for severity in SEVERITIES
    ]


def network_bars(tables: Tables) -> tuple[str, list[Bar]]:
    """Return the verdicts on NIC bandwidth and what they are counted over."""
    bandwidth = tables.want("mart.bandwidth")
    if bandwidth is not None:
        verdicts = bandwidth["verdict"].drop_nulls()
    else:
        runs = tables.want("mart.reconciled_runs")
        verdicts = pl.Series([], dtype=pl.String) if runs is None else runs["nic_verdict"].drop_nulls()
    counts = dict(verdicts.value_counts().iter_rows()) if verdicts.len() else {}
    most = max(counts.values(), default=1)
    signs = dict(zip(_NETWORK, ("●", "▲", "✖"), strict=True))
    bars = [
        Bar(words(name), signs[name], counts.get(name, 0), 100 * counts.get(name, 0) / most, "", "nic.html")
        for name in _NETWORK
    ]
    return f"{verdicts.len()} language-model results of all rounds here whose NIC bandwidth is known", bars


def example(tables: Tables) -> Example | None:
    """Return the run that `headline` works through, its racks first."""
    runs = tables.want("mart.reconciled_runs")
    row = worked_example(runs) if runs is not None else None
    if row is None:
        return None
    round_name, folder, system, _ = row["result_id"].split("/", 3)
    audit = tables.want("mart.rack_audit")
    rack = None if audit is None else audit.filter(round=round_name, submitter_folder=folder, system=system)
    found = rack.row(0, named=True) if rack is not None and rack.height else None
    return Example(
        row["result_id"],
        f"{row['submitter']}, {row['system_name']}, {row['benchmark']} in {row['round']}",
        _answer(row, found),
        _rack_tiles(row, found, round_name),
        row["explanation"].partition(". Racks:")[0] + ".",
        _network(row),
        f"results.html#row={row['result_id']}",
    )


def _answer(row: dict[str, Any], rack: dict[str, Any] | None) -> str:
    stated, counted = row["racks_stated"], f"{row['accelerator_count']:,} accelerators"
    if stated is None:
        return f"{counted}; the submitter states no racks."
    if rack is None or rack["active_per_rack"] is None:
        return f"{stated} racks, as the submitter states, for {counted}; how full each is cannot be told."
    used, slots = rack["active_per_rack"], rack["slots_per_rack"]
    full = f"all {slots} slots" if used == slots else f"{used} of {slots} slots"
    return f"{stated} racks, as the submitter states: {counted}, {full} of each rack in use."


def _rack_tiles(row: dict[str, Any], rack: dict[str, Any] | None, round_name: str) -> list[Tile]:
    slots = f", {rack['slots_per_rack']} slots per rack" if rack else ""
    named = [
        ("racks_by_division", "racks by division", f"accelerators over slots, rounded up{slots}"),
        ("racks_by_replica", "racks by model replica", f"whole replicas of {row['replica_accelerator_count']} a rack"),
        ("racks_by_model", "racks by the model", "fewest whose predicted time meets the score"),
    ]
    return [
        Tile(f"{row[name]:,}", label, f"{note}; {round_name}") for name, label, note in named if row[name] is not None
    ]


def _network(row: dict[str, Any]) -> str:
    if not row["nic_needed_gigabytes_per_second_mid"] or row["nic_available_gigabytes_per_second"] is None:
        return "Its need for NIC bandwidth is not modelled, or it keeps all traffic inside the domain."
    return (
        f"Network: it needs {row['nic_needed_gigabytes_per_second_mid']:.1f} GB/s per accelerator "
        f"({row['nic_needed_gigabytes_per_second_low']:.1f} to {row['nic_needed_gigabytes_per_second_high']:.1f}) "
        f"and has {row['nic_available_gigabytes_per_second']:g} GB/s: {words(row['nic_verdict'])}."
    )


def _kinds(findings: pl.DataFrame, severity: str) -> str:
    kinds = (
        findings.filter(pl.col("severity") == severity)
        .group_by("kind")
        .len()
        .sort("len", "kind", descending=[True, False])
    )
    told = [f"{count} {kind.replace('.', ': ').replace('_', ' ')}" for kind, count in kinds.head(_KINDS_TOLD).rows()]
    more = kinds.height - _KINDS_TOLD
    return ", ".join(told) + (f" and {more} more kinds" if more > 0 else "")
