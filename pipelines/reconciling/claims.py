"""Is this number true? The ledger of known claims, and the check of a document that nobody has seen.

Every verdict is computed from published facts, results and the model by the same rules (`_claim_rules`); none is
stored. What a text claims is read in `parsing.claims`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from importlib import resources
from typing import Any

import polars as pl

from pipelines.parsing.claims import Media, extract_claims, kind_of, named_unit
from pipelines.reconciling._claim_checks import CHECKS, RANK, run_checks
from pipelines.reconciling._claim_model import Claim, Judgement, claim_from_row
from pipelines.reconciling._claim_references import Inputs
from pipelines.reconciling._claim_rules import CHECK_THIS
from pipelines.reconciling._claim_words import counted_in, footnote, reword
from pipelines.reconciling._claim_world import World, make_world
from pipelines.schemas.core import Claims
from pipelines.schemas.mart import ClaimsLedger

__all__ = [
    "CHECKED_AGAINST",
    "DOCUMENT_COLUMNS",
    "SCORED",
    "Inputs",
    "check_claims",
    "check_document",
    "known_claims",
    "reconcile_claims",
]

CHECKED_AGAINST = (
    "core.spec_facts",
    "mart.accelerators",
    "mart.platforms",
    "mart.results",
    "core.systems",
    "core.launches",
    "core.sources",
    "mart.equivalents",
)
"""Tables of the lake that claims are checked against; `registry.containments` comes with the product."""


@dataclass(frozen=True, slots=True)
class Scored:
    """How often reading and judging was right on documents whose claims are labelled."""

    documents: int
    right: int
    """Claims read whose verdict is the label's."""
    wrong: int
    """Claims read that are none, or whose verdict is another."""
    told: int
    """Claims that the labels hold, repeats counted once."""
    missed: int

    def sentence(self) -> str:
        """Return what a reader of a verdict is told of its reliability."""
        read = self.right + self.wrong
        return (
            f"Measured on {self.documents} labelled documents: {self.wrong} of {read} verdicts were wrong "
            f"(precision {self.right / read:.2f}), {self.missed} of {self.told} claims were missed "
            f"(recall {1 - self.missed / self.told:.2f}). Other documents will do worse."
        )


SCORED = Scored(documents=4, right=79, wrong=1, told=76, missed=3)
"""Kept equal to the measurement by `tests/golden/test_claims.py`."""

DOCUMENT_COLUMNS: dict[str, Any] = {
    "claim": pl.Int64,
    "line": pl.Int64,
    "sentence": pl.String,
    "quote": pl.String,
    "subject": pl.String,
    "metric": pl.String,
    "value": pl.String,
    "unit": pl.String,
    "scope": pl.String,
    "verdict": pl.String,
    "explanation": pl.String,
    "rewording": pl.String,
    "footnote": pl.String,
    "checked_by": pl.String,
    "expression": pl.String,
    "computed_low": pl.Float64,
    "computed_high": pl.Float64,
    "relative_error": pl.Float64,
    "tolerance": pl.Float64,
    "evidence": pl.String,
    "strongest_reading": pl.String,
    "repeat_of": pl.Int64,
}
"""Columns of a checked document; `computed_low` and `computed_high` are in the unit of the claim."""

_WORST_FIRST = ("contradicted", "implausible", "misplaced", "assumption", "not_checkable", "not_a_claim", "supported")


def known_claims() -> pl.DataFrame:
    """Return `core.claims`: the statements that ship with the product, each with the check that it is put to."""
    path = resources.files("pipelines.sources").joinpath("registry", "claims.csv")
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    names = Claims.column_names()
    frame = pl.DataFrame(
        [{name: row.get(name) or None for name in names} for row in rows], schema=dict.fromkeys(names, pl.String)
    )
    return frame.sort("claim_id")


def reconcile_claims(claims: pl.DataFrame, inputs: Inputs) -> pl.DataFrame:
    """Return `mart.claims_ledger`: the verdict on each claim, computed.

    Args:
        claims: `core.claims`.
        inputs: tables of the lake by name, see `make_world`.
    """
    world = make_world(inputs)
    rows = [_ledger_row(row, world) for row in claims.sort("claim_id").iter_rows(named=True)]
    return ClaimsLedger.cast(pl.DataFrame(rows, infer_schema_length=None).select(ClaimsLedger.column_names()))


def check_document(text: str, media: Media, inputs: Inputs) -> pl.DataFrame:
    """Return the verdict on each numeric claim of a document.

    Args:
        text: The document.
        media: `text`, `markdown` or `html`.
        inputs: tables of the lake by name, see `make_world`.

    Returns:
        `DOCUMENT_COLUMNS`, one row a claim in reading order; a repeat has the verdict of the first telling.
        `contradicted` is said only where the words leave no doubt; a mismatch that may be ours is `check_this`.
    """
    return check_claims(extract_claims(text, media).claims, inputs)


def check_claims(extracted: pl.DataFrame, inputs: Inputs) -> pl.DataFrame:
    """Return the verdict on each claim that was read in a document, as `check_document` does.

    Args:
        extracted: the claims of `parsing.claims.extract_claims`.
        inputs: tables of the lake by name, see `make_world`.
    """
    world = make_world(inputs)
    told = list(extracted.iter_rows(named=True))
    world.document = [claim_from_row(row) for row in told if row["statement"] == "claim"]
    rows = [_document_row(row, world) for row in told]
    best = _best_tellings(rows)
    return pl.DataFrame([_as_told_best(row, best) for row in rows], schema=DOCUMENT_COLUMNS, orient="row")


_OWN_COLUMNS = ("claim", "line", "sentence", "quote", "repeat_of")


def _best_tellings(rows: Iterable[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return for each claim, by its first telling, the telling that is read best."""
    best: dict[int, dict[str, Any]] = {}
    for row in rows:
        first = row["repeat_of"] or row["claim"]
        if first not in best or _rank(row) < _rank(best[first]):
            best[first] = row
    return best


def _rank(row: Mapping[str, Any]) -> int:
    return RANK.get(row["verdict"], len(RANK))


def _as_told_best(row: dict[str, Any], best: Mapping[int, dict[str, Any]]) -> dict[str, Any]:
    """Return a claim with the verdict of all its tellings."""
    return {**best[row["repeat_of"] or row["claim"]], **{name: row[name] for name in _OWN_COLUMNS}}


def _document_row(row: Mapping[str, Any], world: World) -> dict[str, Any]:
    base = {
        name: row[name]
        for name in ("claim", "line", "sentence", "quote", "subject", "metric", "value", "unit", "scope", "repeat_of")
    }
    if row["statement"] != "claim":
        return {
            **dict.fromkeys(DOCUMENT_COLUMNS),
            **base,
            "verdict": "not_a_claim",
            "explanation": f"{row['reason'][:1].upper()}{row['reason'][1:]}.",
        }
    claim = claim_from_row(row)
    judgement = run_checks(claim, world)
    result = _result_of(judgement, world)
    if result is not None and judgement.verdict == "supported" and claim.metric == "time_to_train":
        world.last_result = result
    return {
        **dict.fromkeys(DOCUMENT_COLUMNS),
        **base,
        "unit": counted_in(claim, world),
        **_computed(claim, judgement),
        "rewording": reword(claim, judgement),
        "footnote": footnote(result, claim, world),
    }


def _computed(claim: Claim, judgement: Judgement) -> dict[str, Any]:
    low, high = judgement.computed_low, judgement.computed_high
    return {
        "verdict": judgement.verdict,
        "explanation": judgement.explanation,
        "checked_by": judgement.check,
        "expression": judgement.expression or None,
        "computed_low": low / claim.factor if low is not None else None,
        "computed_high": high / claim.factor if high is not None else None,
        "relative_error": judgement.relative_error,
        "tolerance": judgement.tolerance,
        "evidence": judgement.evidence or None,
        "strongest_reading": judgement.strongest_reading or None,
    }


def _result_of(judgement: Judgement, world: World) -> Mapping[str, Any] | None:
    """Return the published result that a verdict rests on, None where it rests on none."""
    found = re.search(r"mart\.results: (\S+?)(?:;|$)", judgement.evidence or "")
    if found is None:
        return None
    return next((row for row in world.results if row["result_id"] == found[1]), None)


def _ledger_row(row: Mapping[str, Any], world: World) -> dict[str, Any]:
    """Judge each figure of a statement; the statement is as good as its worst figure."""
    parts = _parts(row)
    judged = [(claim, _judge_part(row, claim, check, world)) for claim, check in parts]
    if not judged:
        claim, judgement = Claim("", 0, 0), Judgement("not_a_claim", _no_claim(row), check="none")
    else:
        claim, judgement = min(judged, key=lambda pair: _WORST_FIRST.index(_ledger_verdict(pair[1])))
    explanation = " ".join(dict.fromkeys(part.explanation for _, part in judged)) or judgement.explanation
    computed = _computed(claim, judgement)
    low, high = computed.pop("computed_low"), computed.pop("computed_high")
    return {
        **{
            name: row[name]
            for name in ("claim_id", "document", "quote", "subject", "metric", "value", "unit", "scope", "repeat_of")
        },
        **computed,
        "verdict": _ledger_verdict(judgement),
        "explanation": explanation,
        "computed_value": (low + high) / 2 if low is not None and high is not None else None,
        "computed_low": low,
        "computed_high": high,
        "evidence": "; ".join(dict.fromkeys(part.evidence for _, part in judged if part.evidence)) or None,
    }


def _ledger_verdict(judgement: Judgement) -> str:
    return "not_checkable" if judgement.verdict == CHECK_THIS else judgement.verdict


def _no_claim(row: Mapping[str, Any]) -> str:
    return f"{(row['note'] or 'It states nothing about the world').capitalize()}."


def _judge_part(row: Mapping[str, Any], claim: Claim, check: str, world: World) -> Judgement:
    if row["of_result"]:
        world.last_result = next((r for r in world.results if r["result_id"] == row["of_result"]), None)
    world.document = _document_of(row)
    return run_checks(claim, world, (check,) if check in CHECKS else None)


def _document_of(row: Mapping[str, Any]) -> list[Claim]:
    """Return the numbers of racks that the statement's document tells, where a ratio rests on them."""
    told = [part.partition("=") for part in (row["beside"] or "").split("; ") if part.startswith("racks")]
    values = [float(value.rstrip("?")) for _, _, value in told]
    doubts = [value.endswith("?") for _, _, value in told]
    return [Claim("racks", value, value, is_hypothetical=doubt) for value, doubt in zip(values, doubts, strict=True)]


def _parts(row: Mapping[str, Any]) -> Iterable[tuple[Claim, str]]:
    """Return the figures of a statement, each with its check; a bar stands between them in every column."""
    if row["checked_by"] == "none":
        return []
    count = len((row["value"] or "").split(" | "))
    columns = {
        name: _spread(row[name], count)
        for name in ("subject", "metric", "value", "unit", "scope", "checked_by", "comparator")
    }
    return [_part(row, {name: values[index] for name, values in columns.items()}) for index in range(count)]


def _spread(text: str | None, count: int) -> list[str]:
    values = [value.strip() for value in (text or "").split(" | ")]
    return values if len(values) == count else values[:1] * count


_COMPARATORS = {"=": "equal", ">": "more", "<": "less", "max": "maximum", "reaches": "reaches"}


def _part(row: Mapping[str, Any], part: Mapping[str, str]) -> tuple[Claim, str]:
    low, high, half_unit = _range(part["value"])
    unit = named_unit(part["unit"]) if part["unit"] else None
    factor, dimension = (unit.factor, unit.dimension) if unit is not None else (1.0, _dimension(part))
    how = part["comparator"] or "="
    scope_words = [word.strip() for word in (part["scope"] or "").split(",")]
    mentions = tuple(name.strip() for name in (row["mentions"] or "").split(";") if name.strip())
    claim = Claim(
        metric=part["metric"],
        low=low * factor,
        high=high * factor,
        subject=part["subject"] or None,
        kind=_kind(part["subject"]),
        unit=unit.symbol if unit is not None else part["unit"],
        factor=factor,
        dimension=dimension,
        half_unit=half_unit * factor,
        comparator=_COMPARATORS[how.strip("~ ") or "="],
        is_approximate="~" in how,
        is_vague="vague" in scope_words,
        scope=next((word for word in scope_words if word in _SCOPES), None),
        direction="one" if "per direction" in scope_words else ("both" if "both directions" in scope_words else None),
        density=next((word for word in scope_words if word in ("dense", "sparse")), None),
        precision=next((word for word in scope_words if word in _PRECISIONS), None),
        is_hypothetical="hypothetical" in scope_words,
        is_typical="typical" in scope_words,
        is_universal="each" in scope_words,
        beside=_beside(row["beside"]),
        workload=next((name for name in mentions if kind_of(name) == "model"), None),
        parts=tuple(name for name in mentions if (kind_of(name) or "").startswith(("accelerator", "platform"))),
        mentions=mentions,
        context=tuple(name.strip() for name in (row["around"] or "").split(";") if name.strip()),
        sentence=row["quote"],
        quote=row["quote"],
    )
    return replace(claim, sentence=f"{row['quote']} {row['note'] or ''}"), part["checked_by"]


_SCOPES = frozenset(
    {"accelerator", "die", "node", "rack", "pod", "fabric", "domain", "port", "lane", "link", "cluster", "campus"}
)
_PRECISIONS = frozenset({"FP4", "FP8", "BF16", "FP16", "TF32", "INT8"})


def _kind(subject: str) -> str | None:
    return kind_of(subject) if subject else None


def _dimension(part: Mapping[str, str]) -> str:
    if "generation" in part["metric"]:
        return "generation"
    return {"publication_date": "date", "not_divisible": "quotient", "version": "version"}.get(part["metric"], "count")


def _range(text: str) -> tuple[float, float, float]:
    """Return the low and high end of a value as the ledger writes it, and half of its last place."""
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        ordinal = float(date.fromisoformat(text).toordinal())
        return ordinal, ordinal, 0.0
    ends = re.fullmatch(r"\s*([\d.e+]+)(?:-([\d.e+]+))?\s*", text)
    if ends is None:
        raise ValueError(f"a value of the claims registry is a number or a range, not {text!r}")
    low = float(ends[1])
    high = float(ends[2]) if ends[2] else low
    decimals = len(ends[1].partition(".")[2]) if "e" not in ends[1] else 0
    return low, high, 0.5 * 10.0**-decimals


def _beside(text: str | None) -> dict[str, dict[str, Any]]:
    """Read `accelerators>5000; racks=39`: the other figures that the statement stands beside."""
    found: dict[str, dict[str, Any]] = {}
    for item in (text or "").split("; "):
        told = re.fullmatch(r"(\w+)([=>])([^?]+)\??", item)
        if told is not None:
            low, high, _ = _range(told[3])
            comparator = "more" if told[2] == ">" else "equal"
            found.setdefault(told[1], {"low": low, "high": high, "comparator": comparator, "scope": ""})
    return found
