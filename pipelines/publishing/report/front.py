"""The first page: how new, what the newest round says, what is wrong, one run worked through, which networks do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from pipelines.publishing.age import newest
from pipelines.publishing.headline import worked_example
from pipelines.publishing.report.parts import Plain
from pipelines.publishing.report.tables import Tables, nic_needs
from pipelines.publishing.report.words import SIGNS, TONES, benchmarks, counted, kind_of_finding, task, words
from pipelines.publishing.wording import counted_part
from pipelines.schemas.core import SEVERITIES

_NETWORK = ("enough", "too_close_to_call", "not_enough")
_CLAIMS = ("supported", "misplaced", "implausible", "contradicted")
_KINDS_TOLD = 6
_ON_NETWORK = "Language-model results of all rounds here: NIC bandwidth, where it is known, against the need; derived"


@dataclass(frozen=True)
class Tile:
    """One figure with its unit and its round."""

    value: str
    label: str
    note: str
    term: str = ""
    """Anchor of the term behind the label."""


@dataclass(frozen=True)
class Bar:
    """One line of a small bar chart, which is a list to who does not see it."""

    name: str
    sign: str
    tone: str
    count: int
    share_percent: float
    address: str
    kinds: Sequence[Bar] = ()


@dataclass(frozen=True)
class Question:
    """One question that the first page answers: the answer in a sentence, then what it counts."""

    answer: str
    counted_over: str
    bars: Sequence[Bar]


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
    """Return the newest training round that has results, None where none was read."""
    results = tables.want("mart.results")
    rounds = [] if results is None else results["round"].unique().sort().to_list()
    return newest(rounds, "training") or (rounds[-1] if rounds else None)


def headline(tables: Tables, round_name: str) -> str:
    """Return the fastest score on the largest system of a round as a sentence, empty where none has a score."""
    scored = tables.need("mart.results").filter(
        pl.col("round") == round_name, pl.col("score_minutes").is_not_null(), pl.col("accelerator_count").is_not_null()
    )
    if scored.is_empty():
        return ""
    largest = scored.sort("accelerator_count", "score_minutes", "result_id", descending=[True, False, False])
    row = largest.row(0, named=True)
    trained = task(row["benchmark"]).removesuffix(". ")
    division = f", {row['division']} division" if row["division"] else ""
    return (
        f"On its largest system, {counted_part(row['accelerator_count'], row['accelerator'])}, "
        f"{row['submitter'] or row['submitter_folder']} ran {row['benchmark']}"
        f"{f' ({trained})' if trained else ''} in {row['score_minutes']:.2f} minutes{division}."
    )


def round_tiles(tables: Tables, round_name: str) -> list[Tile]:
    """Return what the newest round amounts to."""
    results = tables.need("mart.results").filter(pl.col("round") == round_name)
    scored = results["score_minutes"].is_not_null().sum()
    tiles = [
        Tile(f"{scored:,} of {results.height:,}", "results with a score", round_name, "score"),
        Tile(f"{results['submitter_folder'].n_unique()}", "submitters", round_name, "submitter"),
    ]
    runs = tables.want("mart.runs")
    logs = 0 if runs is None else runs.filter(pl.col("round") == round_name).height
    if logs:
        tiles.append(Tile(f"{logs:,}", "result logs read", round_name))
    modelled = tables.want("mart.reconciled_runs")
    if modelled is not None:
        verdicts = modelled.filter(pl.col("round") == round_name)["verdict"].drop_nulls()
        judged = verdicts.filter(verdicts.is_in(["as_predicted", "faster_than_predicted", "slower_than_predicted"]))
        if judged.len():
            inside = int((judged == "as_predicted").sum())
            label = "scores inside the interval predicted without them"
            tiles.append(Tile(f"{inside:,} of {judged.len():,}", label, f"{round_name}, derived", "held-out"))
    return tiles


def fastest(tables: Tables, round_name: str) -> Plain:
    """Return the fastest closed score of each benchmark of a round."""
    found = (
        tables.need("mart.results")
        .filter(pl.col("round") == round_name, pl.col("division") == "closed", pl.col("score_minutes").is_not_null())
        .sort("benchmark", "score_minutes", "result_id")
        .unique("benchmark", keep="first", maintain_order=True)
    )
    rows = [
        {
            "benchmark": row["benchmark"],
            "task": benchmarks().get(row["benchmark"], ""),
            "score_minutes": row["score_minutes"],
            "on": counted_part(row["accelerator_count"], row["accelerator"]),
            "submitter": row["submitter"] or row["submitter_folder"],
        }
        for row in found.iter_rows(named=True)
    ]
    schema = {"benchmark": pl.String, "task": pl.String, "score_minutes": pl.Float64}
    frame = pl.DataFrame(rows, schema={**schema, "on": pl.String, "submitter": pl.String})
    return Plain(
        f"Closed division, {round_name}, recomputed from the logs",
        frame,
        [result_address(result_id) for result_id in found["result_id"]],
    )


def result_address(result_id: str) -> str:
    """Return the address of one result in the explorer."""
    return f"results.html#row={result_id.replace('%', '%25').replace('+', '%2B').replace('&', '%26')}"


def findings(tables: Tables) -> Question | None:
    """Return findings by severity, with the kinds that are most frequent."""
    found = tables.want("mart.findings")
    if found is None:
        return None
    counts = dict(found.group_by("severity").len().iter_rows())
    errors, warnings = counts.get("error", 0), counts.get("warning", 0)
    worst = f"{counted(errors, 'published figure')} cannot be right or used" if errors else "No figure is unusable"
    return Question(
        f"{worst}; {counted(warnings, 'thing')} {'does' if warnings == 1 else 'do'} not fit and may matter.",
        "Findings about what others published, all rounds here, by severity",
        [
            _bar(severity, counts, f"findings.html#severity={severity}", _kinds(found, severity))
            for severity in SEVERITIES
        ],
    )


def network(tables: Tables) -> Question:
    """Return the verdicts on NIC bandwidth and what they are counted over."""
    needs = nic_needs(tables)
    if needs is None or needs["nic_verdict"].is_null().all():
        return Question(
            "No result here tells both what it needs and what it has.",
            _ON_NETWORK,
            [_bar(name, {}, "nic.html") for name in _NETWORK],
        )
    judged = needs.filter(pl.col("nic_verdict").is_not_null())
    counts = dict(judged["nic_verdict"].value_counts().iter_rows())
    inside = judged.filter(pl.col("nic_needed_gigabytes_per_second_mid") == 0).height
    told = (
        f"For {counts.get('enough', 0)} of {counted(judged.height, 'result')} yes, for {counts.get('not_enough', 0)} "
        f"no, {counts.get('too_close_to_call', 0)} are too close to call."
    )
    stay = f"; {inside} of those with enough send nothing beyond their scale-up domain" if inside else ""
    return Question(told, f"{_ON_NETWORK}{stay}", [_bar(name, counts, "nic.html") for name in _NETWORK])


def claims(tables: Tables) -> Question | None:
    """Return what came of checking the claims of documents."""
    ledger = tables.want("mart.claims_ledger")
    if ledger is None:
        return None
    counts = dict(ledger.group_by("verdict").len().iter_rows())
    other = ledger.height - sum(counts.get(name, 0) for name in _CLAIMS)
    return Question(
        f"{counts.get('supported', 0)} of {counted(ledger.height, 'claim')} hold as they stand; "
        f"{counts.get('contradicted', 0)} contradicted, {counts.get('implausible', 0)} implausible.",
        f"Figures that {counted(ledger['document'].n_unique(), 'document')} state; {other} more can be neither right "
        "nor wrong",
        [_bar(name, counts, f"claims.html#verdict={name}") for name in _CLAIMS],
    )


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
        result_address(row["result_id"]),
    )


def _answer(row: dict[str, Any], rack: dict[str, Any] | None) -> str:
    counted_as = counted_part(row["accelerator_count"], row["accelerator"])
    stated = row["racks_stated"]
    if stated is None:
        return f"{counted_as}; the submitter states no racks."
    if rack is None or rack["active_per_rack"] is None:
        return f"{stated} racks, as the submitter states, for {counted_as}; how full each is cannot be told."
    used, slots = rack["active_per_rack"], rack["slots_per_rack"]
    full = f"all {slots} slots" if used == slots else f"{used} of {slots} slots"
    return f"{stated} racks, as the submitter states: {counted_as}, {full} of each rack in use."


def _rack_tiles(row: dict[str, Any], rack: dict[str, Any] | None, round_name: str) -> list[Tile]:
    slots = f", {rack['slots_per_rack']} slots per rack" if rack else ""
    replica = f"whole model replicas of {row['replica_accelerator_count']} accelerators in each rack"
    named = [
        ("racks_by_division", "racks by division", f"accelerators over slots, rounded up{slots}"),
        ("racks_by_replica", "racks by model replica", replica),
        ("racks_by_model", "racks by the model", "fewest whose predicted time meets the score"),
    ]
    return [
        Tile(f"{row[name]:,}", label, f"{note}; {round_name}, derived", label.replace(" ", "-"))
        for name, label, note in named
        if row[name] is not None
    ]


def _network(row: dict[str, Any]) -> str:
    if not row["nic_needed_gigabytes_per_second_mid"] or row["nic_available_gigabytes_per_second"] is None:
        return "Its need for NIC bandwidth is not modelled, or it keeps all traffic inside the domain."
    return (
        f"It needs {row['nic_needed_gigabytes_per_second_mid']:.1f} GB/s per accelerator "
        f"({row['nic_needed_gigabytes_per_second_low']:.1f} to {row['nic_needed_gigabytes_per_second_high']:.1f}) "
        f"and has {row['nic_available_gigabytes_per_second']:g} GB/s: {words(row['nic_verdict'])}."
    )


def _bar(name: str, counts: Mapping[str, int], address: str, kinds: Sequence[Bar] = ()) -> Bar:
    count, most = counts.get(name, 0), max(counts.values(), default=1)
    return Bar(words(name), SIGNS[name], TONES[SIGNS[name]], count, 100 * count / most, address, kinds)


def _kinds(found: pl.DataFrame, severity: str) -> list[Bar]:
    """Return the most frequent kinds of a severity and, last, how many more there are."""
    kinds = (
        found.filter(pl.col("severity") == severity)
        .group_by("kind")
        .len()
        .sort("len", "kind", descending=[True, False])
    )
    address = f"findings.html#severity={severity}"
    told = [
        Bar(kind_of_finding(kind), "", "", count, 0, f"{address}&kind={kind}")
        for kind, count in kinds.head(_KINDS_TOLD).iter_rows()
    ]
    rest = kinds.slice(_KINDS_TOLD)
    if rest.height:
        told.append(Bar(counted(rest.height, "more kind"), "", "", int(rest["len"].sum()), 0, address))
    return told
