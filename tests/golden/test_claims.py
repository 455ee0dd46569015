"""The ledger's verdicts, and extraction with verdict on the four documents, against the labelled claims.

Run with -s to see the score. What a match is stands in `docs/claims.md`.
"""

from __future__ import annotations

import csv
import itertools
import re
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines.parsing.claims import named_unit
from pipelines.parsing.layout import classify
from pipelines.parsing.power_logs import parse_power_logs
from pipelines.parsing.published import PublishedFile
from pipelines.parsing.result_logs import parse_result_log_batches
from pipelines.parsing.scaling_factors import parse_scaling_factors
from pipelines.parsing.spec_sheets.registry import read_registry
from pipelines.parsing.system_descriptions import parse_system_descriptions
from pipelines.reconciling.claims import SCORED, Inputs, check_document, known_claims, reconcile_claims
from pipelines.reconciling.facts import reconcile_facts
from pipelines.scoring.results import score_results
from pipelines.scoring.rules import load_rules
from pipelines.scoring.runs import judge_runs
from pipelines.sources.registry import registry_files

Row = dict[str, Any]
DIFFERS = {"s3-18": "supported"}
"""Verdicts that differ from the label, each argued in docs/claims.md."""


@pytest.fixture(scope="module")
def inputs(shared: Path) -> Inputs:
    kept: dict[str, list[PublishedFile]] = defaultdict(list)

    def logs() -> Iterator[PublishedFile]:
        for version in ("v5.0", "v5.1"):
            with tarfile.open(shared / f"mlperf/training_results_{version}.tar.gz") as tar:
                for member in tar:
                    path = member.name.partition("/")[2]
                    placed = classify(path)
                    stream = tar.extractfile(member) if member.isfile() and placed else None
                    if stream is None or placed is None:
                        continue
                    content = stream.read()
                    file = PublishedFile(f"training-{version}", path, sha256(content).hexdigest(), content)
                    if placed.kind == "result_log":
                        yield file
                    else:
                        kept[placed.kind].append(file)

    runs = pl.concat([batch.runs for batch in parse_result_log_batches(logs())])
    systems = parse_system_descriptions(iter(kept["system_description"]))[0]
    judged = judge_runs(runs, systems, load_rules())
    factors = parse_scaling_factors(iter(kept["scaling_factor"]))[0]
    power = parse_power_logs(iter(kept["power_log"]))[0]
    results, _ = score_results(runs, judged, systems, factors, power, load_rules())
    registry = read_registry(registry_files())
    resolved = reconcile_facts(registry.facts, registry.subject_frame, registry.containments)
    return {
        "core.spec_facts": registry.facts,
        "core.systems": systems,
        "mart.accelerators": resolved.accelerators,
        "mart.platforms": resolved.platforms,
        "mart.results": results,
        "registry.containments": registry.containments,
    }


@pytest.fixture(scope="module")
def labels(shared: Path) -> list[Row]:
    return list(csv.DictReader((shared / "specs/claims.csv").read_text(encoding="utf-8").splitlines()))


def test_ledger_verdicts(inputs: Inputs, labels: list[Row]) -> None:
    ledger = reconcile_claims(known_claims(), inputs)
    got = dict(ledger.select("claim_id", "verdict").iter_rows())
    expected = {row["id"]: row["expected_verdict"] for row in labels}
    differing = {claim: verdict for claim, verdict in got.items() if expected[claim] != verdict}
    assert differing == DIFFERS
    assert len(got) - len(differing) >= 90


def test_every_statement_is_carried_over(labels: list[Row]) -> None:
    claims = {row["claim_id"]: row for row in known_claims().iter_rows(named=True)}
    assert set(claims) == {row["id"] for row in labels}
    assert {key: row["repeat_of"] or "" for key, row in claims.items()} == {row["id"]: row["dup_of"] for row in labels}


@dataclass(frozen=True)
class Score:
    """How well documents are read and judged."""

    right: int
    wrong: int
    told: int
    missed: int
    false_contradicted: int

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong)

    @property
    def recall(self) -> float:
        return 1 - self.missed / self.told


def test_score_on_the_four_documents(inputs: Inputs, labels: list[Row], shared: Path) -> None:
    score = scored(inputs, labels, shared)
    print(
        f"\nfour documents: {score.right} right, {score.wrong} wrong of {score.right + score.wrong} claims read; "
        f"{score.missed} missed of {score.told}; precision {score.precision:.3f}, recall {score.recall:.3f}, "
        f"false contradicted {score.false_contradicted}"
    )
    assert score.precision >= 0.9
    assert score.recall >= 0.8
    assert score.false_contradicted == 0
    assert (score.right, score.wrong, score.told, score.missed) == (
        SCORED.right,
        SCORED.wrong,
        SCORED.told,
        SCORED.missed,
    ), "what the tool says of itself is what is measured"


def scored(inputs: Inputs, labels: list[Row], shared: Path) -> Score:
    right = wrong = missed = told = false_contradicted = 0
    for document in sorted({row["document"] for row in labels}):
        text = (shared / "documents" / document).read_text(encoding="utf-8")
        checked = check_document(text, "text", inputs).rows(named=True)
        of_document = [row for row in labels if row["document"] == document]
        hits = {
            (row["id"], k): [r for r in checked if same(value, r) and overlaps(row, r)]
            for row in of_document
            for k, value in enumerate(figures(row))
        }
        groups: dict[str, list[Row]] = defaultdict(list)
        for row in of_document:
            groups[row["dup_of"] or row["id"]].append(row)
        for tellings in groups.values():
            if tellings[0]["expected_verdict"] == "not_a_claim":
                continue
            told += 1
            missed += not any(is_found(row, hits) for row in tellings)
        for r in checked:
            if r["repeat_of"] or r["verdict"] == "not_a_claim":
                continue
            labelled = [row for row in of_document for k in range(len(figures(row))) if r in hits[row["id"], k]]
            is_right = any(row["expected_verdict"] == r["verdict"] for row in labelled)
            right, wrong = right + is_right, wrong + (not is_right)
            false_contradicted += r["verdict"] == "contradicted" and not is_right
    return Score(right, wrong, told, missed, false_contradicted)


def is_found(row: Row, hits: dict[tuple[str, int], list[Row]]) -> bool:
    """Every figure of a statement is read, with its verdict."""
    return all(
        any(r["verdict"] == row["expected_verdict"] for r in hits[row["id"], k]) for k in range(len(figures(row)))
    )


VAGUE = {"several": (2.0, 9.0), "hundreds-thousands": (100.0, 9_999.0)}
ALIKE = {
    "chips": "GPUs",
    "cards": "GPUs",
    "accelerators": "GPUs",
    "modules": "optical modules",
    "B": "B/token",
    "kW per 32 GPUs": "kW",
}


def figures(row: Row) -> list[tuple[float, float, str] | None]:
    """Return a label's figures as low and high in canonical units and what they count or measure."""
    values = [value.strip() for value in row["value"].split("|")]
    units = [unit.strip() for unit in row["unit"].split("|")]
    units = units if len(units) == len(values) else units[:1] * len(values)
    return [
        figure(value.lower().replace(",", ""), ALIKE.get(unit, unit)) for value, unit in zip(values, units, strict=True)
    ]


def figure(value: str, unit: str) -> tuple[float, float, str] | None:
    if unit == "date":
        ordinal = float(date.fromisoformat(value).toordinal())
        return ordinal, ordinal, "date"
    number = re.fullmatch(r"([<>=~]*)([\d.e+]+)(k?)(?:-([\d.e+]+))?", value)
    if number is None and value not in VAGUE:
        return None
    if number is None:
        low, high = VAGUE[value]
    else:
        low = float(number[2]) * (1_000 if number[3] else 1)
        high = float(number[4]) if number[4] else (low * 10 if number[1] == ">=" else low)
    kind, factor = kind_of_unit(unit)
    return low * factor, high * factor, kind


def kind_of_unit(unit: str) -> tuple[str, float]:
    known = named_unit(unit) if unit else None
    if known is None:
        return unit, 1.0
    return (known.symbol if known.dimension == "count" else known.dimension), known.factor


def same(label: tuple[float, float, str] | None, r: Row) -> bool:
    """The same value and unit: within 3 %, and a range or an order of magnitude where it overlaps."""
    if label is None:
        return False
    read = figure(r["value"].lower(), r["unit"])
    if read is None or (label[2] and read[2] != label[2]):
        return False
    is_near = all(abs(a - b) <= 0.03 * max(abs(a), abs(b)) for a, b in zip(label[:2], read[:2], strict=True))
    return is_near or (label[0] != label[1] and read[0] <= label[1] and read[1] >= label[0])


def overlaps(row: Row, r: Row) -> bool:
    """The quotes share two words in a row, or one holds the other."""
    one, other = plain_words(row["quote"]), plain_words(r["quote"])
    pairs = set(itertools.pairwise(one)) & set(itertools.pairwise(other))
    return bool(pairs) or " ".join(one) in " ".join(other) or " ".join(other) in " ".join(one)


def plain_words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9.]+", re.sub(r"(\d)([A-Z])", r"\1 \2", text.replace(",", "")).lower())
