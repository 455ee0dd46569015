"""From what readers found to rows of `core.spec_facts` and `core.sheet_findings`, and the list of readers.

What a form looks like belongs in its reader.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import polars as pl

from pipelines.parsing.published import LONGEST_QUOTE
from pipelines.parsing.spec_sheets import calculon, epoch, evokernel, llm_analysis, mlco2
from pipelines.parsing.spec_sheets.sheet import Fact, Reading, Sheet
from pipelines.parsing.spec_sheets.subjects import Naming, Subject, Subjects
from pipelines.parsing.spec_sheets.tables import TABLE_READERS
from pipelines.schemas.facts_core import SheetFindings, SpecFacts
from pipelines.schemas.spec_metrics import QUANTITIES, metric_name

READERS: dict[str, Callable[[Sheet], Reading]] = {
    "calculon": calculon.read,
    "epoch": epoch.read,
    "evokernel": evokernel.read,
    "llm_analysis": llm_analysis.read,
    "mlco2": mlco2.read,
    **TABLE_READERS,
}
"""The reader of each published form."""

UNKNOWN = "unknown"
"""Kind of a subject that the registry does not list."""


def read_sheet(form: str, sheet: Sheet, subjects: Subjects) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read one published file.

    Args:
        form: name in `READERS`.
        sheet: the file and who publishes it.
        subjects: the parts and platforms that names are looked up in.

    Returns:
        Rows of `core.spec_facts` and of `core.sheet_findings`. A name that stands for several subjects gives each
        of them the facts; one that stands for none keeps its text as subject and is reported.

    Raises:
        KeyError: no reader has that name.
    """
    reading = READERS[form](sheet)
    rows = list(_fact_rows(sheet, reading, subjects))
    return fact_frame(rows), finding_frame(sheet, reading)


def fact_frame(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """Return rows as a frame of `core.spec_facts`, columns that a row leaves out being null."""
    schema = SpecFacts.create_empty().schema
    return pl.DataFrame(list(rows), schema=schema, orient="row").select(schema.names())


def finding_frame(sheet: Sheet, reading: Reading) -> pl.DataFrame:
    """Return a reading's findings as a frame of `core.sheet_findings`, quotes cut to `LONGEST_QUOTE`."""
    sha256 = hashlib.sha256(sheet.content).hexdigest()
    rows = [
        {
            "source": sheet.source,
            "path": sheet.path,
            "kind": finding.kind,
            "place": finding.place,
            "severity": finding.severity,
            "expected": finding.expected,
            "found": finding.found,
            "explanation": finding.explanation,
            "source_address": sheet.address,
            "source_sha256": sha256,
        }
        for finding in reading.findings
    ]
    schema = SheetFindings.create_empty().schema
    return (
        pl.DataFrame(rows, schema=schema, orient="row")
        .with_columns(pl.col("expected", "found").str.slice(0, LONGEST_QUOTE))
        .unique(SheetFindings.primary_key(), keep="first", maintain_order=True)
    )


def _fact_rows(sheet: Sheet, reading: Reading, subjects: Subjects) -> Iterator[dict[str, Any]]:
    sha256 = hashlib.sha256(sheet.content).hexdigest()
    namings = {
        text: _namings(text, subjects, reading) for text in dict.fromkeys(fact.subject for fact in reading.facts)
    }
    for fact in reading.facts:
        for naming in namings[fact.subject]:
            yield _fact_row(sheet, sha256, fact, naming)


def _namings(text: str, subjects: Subjects, reading: Reading) -> list[Naming]:
    namings = subjects.named(text)
    if not namings:
        reading.report(
            "subject.unknown",
            f"{text} is not in the registry; its facts stay under the name as printed.",
            place=text,
            severity="info",
            expected="a spelling that the registry lists",
            found=text,
        )
        return [Naming(Subject(text, UNKNOWN))]
    if len(namings) > 1:
        names = ", ".join(naming.subject.name for naming in namings)
        reading.report(
            "subject.several",
            f"{text} names {len(namings)} parts in one row: {names}.",
            place=text,
            expected="one part a row",
            found=text,
        )
    return namings


def _fact_row(sheet: Sheet, sha256: str, fact: Fact, naming: Naming) -> dict[str, Any]:
    form = fact.form
    is_capacity = QUANTITIES[fact.quantity].family == "capacity"
    variants = [variant for variant in (naming.variant if is_capacity else None, form.variant) if variant]
    return {
        "subject": naming.subject.name,
        "metric": metric_name(fact.quantity, density=form.density, engine=form.engine, direction=form.direction),
        "source": sheet.source,
        "locator": f"{sheet.path}: {fact.locator}" if sheet.path else fact.locator,
        "subject_kind": naming.subject.kind,
        "subject_text": fact.subject,
        "quantity": fact.quantity,
        "value": fact.value,
        "words": fact.words,
        "unit": QUANTITIES[fact.quantity].unit,
        "printed": fact.printed,
        "printed_unit": fact.printed_unit,
        "density": form.density,
        "engine": form.engine,
        "direction": form.direction,
        "scope": form.scope,
        "capacity_basis": form.capacity_basis,
        "prefix": form.prefix,
        "variant": ", ".join(variants) or None,
        "basis": form.basis,
        "publisher": sheet.publisher,
        "publisher_kind": sheet.publisher_kind,
        "confidence": fact.confidence or sheet.confidence,
        "source_address": sheet.address,
        "cited_address": fact.cited_address,
        "retrieved_at": sheet.retrieved_at,
        "licence": sheet.licence,
        "defect": fact.defect,
        "note": fact.note,
        "source_sha256": sha256,
    }
