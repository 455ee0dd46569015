"""What a verdict rests on, as a tree: the words, the check with its figures, the rows behind them.

The words and figures of one claim; where they are printed is the caller's.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from pipelines.lake.tables import Lake
from pipelines.publishing.chain import Link

LEDGER = "mart.claims_ledger"
_FACTS, _RESULTS = "core.spec_facts: ", "mart.results: "


def chain_of_claim(lake: Lake, spec_facts: pl.DataFrame, claim_id: str) -> Link | None:
    """Return what the verdict on a claim of the ledger rests on, None where the ledger has no such claim.

    Args:
        lake: Where the ledger is.
        spec_facts: `core.spec_facts`, whose addresses are told.
        claim_id: Such as s1-11.
    """
    ledger = lake.read(LEDGER)
    found = ledger.filter(claim_id=claim_id)
    if found.is_empty():
        return None
    claim = found.row(0, named=True)
    root = Link(f'{claim_id}, {claim["document"]}: "{claim["quote"]}"')
    _add_meaning(root, claim, _note_of(lake, claim_id))
    _add_verdict(root, claim)
    _add_evidence(root, claim["evidence"], lake, spec_facts)
    if claim["repeat_of"]:
        _add_tellings(root, "tells again", ledger.filter(claim_id=claim["repeat_of"]))
    _add_tellings(root, "told again in", ledger.filter(repeat_of=claim_id))
    return root


def _note_of(lake: Lake, claim_id: str) -> str | None:
    notes = lake.read("core.claims").filter(claim_id=claim_id)["note"]
    return notes[0] if notes.len() else None


def _add_tellings(root: Link, how: str, claims: pl.DataFrame) -> None:
    for row in claims.iter_rows(named=True):
        root.add(f"{how} {row['claim_id']}, {row['document']}: {row['verdict']}")


def _add_meaning(root: Link, claim: dict[str, Any], note: str | None) -> None:
    figure = f"{claim['value']} {claim['unit'] or ''}".rstrip() if claim["value"] else "no figure"
    scope = f", {claim['scope']}" if claim["scope"] else ""
    link = root.add(f"read as {figure}: {claim['metric']} of {claim['subject'] or 'nothing named'}{scope}")
    if note:
        link.add(note)


def _add_verdict(root: Link, claim: dict[str, Any]) -> None:
    link = root.add(f"{claim['verdict']}: {claim['explanation']}")
    link.add(f"check: {claim['checked_by']}")
    if claim["expression"]:
        link.add(f"computed: {claim['expression']}")
    if claim["computed_low"] is not None:
        low, high = f"{claim['computed_low']:.6g}", f"{claim['computed_high']:.6g}"
        unit = f" {claim['unit']}" if claim["unit"] else ""
        link.add(f"value: {low if low == high else f'{low} to {high}'}{unit}")
    if claim["relative_error"] is not None and claim["tolerance"] is not None:
        error = f"{100 * claim['relative_error']:+.4g}" if claim["relative_error"] else "0"
        link.add(f"{error} % off, where the words allow {100 * claim['tolerance']:.4g} %")
    if claim["strongest_reading"]:
        link.add(f"in the claimant's favour: {claim['strongest_reading']}")


def _add_evidence(root: Link, evidence: str | None, lake: Lake, spec_facts: pl.DataFrame) -> None:
    rows = evidence.split("; ") if evidence else []
    link = root.add("rests on" if rows else "rests on no row")
    for row in rows:
        below = link.add(row)
        if row.startswith(_FACTS):
            _add_facts(below, row.removeprefix(_FACTS), spec_facts)
        elif row.startswith(_RESULTS):
            _add_result(below, row.removeprefix(_RESULTS), lake)


def _add_facts(above: Link, named: str, spec_facts: pl.DataFrame) -> None:
    """Add each figure as its source prints it; evidence names subject, quantity and source."""
    subject, quantity, source = ([*named.rsplit(", ", 2), "", ""])[:3]
    for fact in spec_facts.filter(subject=subject, quantity=quantity, source=source).iter_rows(named=True):
        link = above.add(f"printed: {fact['printed']} ({fact['locator']}), confidence {fact['confidence']}")
        link.add(fact["source_address"])
        if fact["note"]:
            link.add(fact["note"])


def _add_result(above: Link, result_id: str, lake: Lake) -> None:
    for row in lake.read("mart.results").filter(result_id=result_id).iter_rows(named=True):
        score = "no score" if row["score_minutes"] is None else f"score {row['score_minutes']:.12g} min"
        above.add(f"{score}, {row['division']}, {row['submitter'] or row['submitter_folder']}")
