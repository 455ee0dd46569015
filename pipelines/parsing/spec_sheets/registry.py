"""The project's own registry of specifications: long form, one fact a row, each with its source.

Five tables: sources, subjects, further spellings, what contains what, and the facts. Where their bytes come from
belongs in `sources.registry`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from pipelines.parsing.names import known_parts
from pipelines.parsing.spec_sheets.cells import number
from pipelines.parsing.spec_sheets.frames import fact_frame, finding_frame
from pipelines.parsing.spec_sheets.grid import Grid, Row, read_csv
from pipelines.parsing.spec_sheets.sheet import Reading, Sheet
from pipelines.parsing.spec_sheets.subjects import Subject, Subjects
from pipelines.schemas.spec_metrics import QUANTITIES, metric_name

REGISTRY = "rackrecon-registry"
"""Short name of the registry in findings about it."""

_NUMBERS = ("value", "value_low", "value_high")
_AS_WRITTEN = (
    "words",
    "printed",
    "printed_unit",
    "density",
    "engine",
    "direction",
    "scope",
    "capacity_basis",
    "prefix",
    "variant",
    "basis",
    "read_via",
    "confidence",
    "defect",
    "note",
)


@dataclass(frozen=True, slots=True)
class RegistryFiles:
    """The registry's tables, byte for byte, each a CSV with a header."""

    sources: bytes
    subjects: bytes
    names: bytes
    containments: bytes
    facts: bytes


@dataclass(frozen=True, slots=True)
class Registry:
    """What the registry holds."""

    subjects: Subjects
    facts: pl.DataFrame
    """Rows of `core.spec_facts`."""
    containments: pl.DataFrame
    """`outer` holds `count` of `inner`, by `source`."""
    findings: pl.DataFrame
    """Rows of `core.sheet_findings`: what in the registry itself cannot be used."""

    @property
    def subject_frame(self) -> pl.DataFrame:
        """Return `subject`, `subject_kind` and `vendor` of every part and platform that is listed."""
        rows = [(subject.name, subject.kind, subject.vendor) for subject in self.subjects.known.values()]
        return pl.DataFrame(rows, schema=dict.fromkeys(("subject", "subject_kind", "vendor"), pl.String), orient="row")


def read_registry(files: RegistryFiles) -> Registry:
    """Read the registry; a row that names something unlisted is left out and told."""
    reading = Reading()
    subjects = _subjects(files, reading)
    sources = {row.cells["source"]: row.cells for row in read_csv(files.sources, reading, label="source").rows}
    grid = read_csv(files.facts, reading, label="subject")
    facts = fact_frame(_fact_rows(grid, subjects, sources, reading))
    containments = _containments(files.containments, subjects, reading)
    sheet = Sheet(REGISTRY, REGISTRY, files.facts, publisher="Rackrecon")
    return Registry(subjects, facts, containments, finding_frame(sheet, reading))


def _subjects(files: RegistryFiles, reading: Reading) -> Subjects:
    """Return the parts that results repositories name, the further subjects, and the spellings of both."""
    subjects = Subjects()
    subjects.add(Subject(part, "accelerator", vendor) for part, vendor in known_parts().items())
    listed = read_csv(files.subjects, reading, label="subject").rows
    subjects.add(Subject(row.cells["subject"], row.cells["kind"], row.cells["vendor"] or None) for row in listed)
    for row in read_csv(files.names, reading, label="name").rows:
        if _is_listed(row, "subject", subjects.known, reading):
            subjects.add_spelling(row.cells["name"], row.cells["subject"], row.cells["variant"] or None)
    return subjects


def _containments(content: bytes, subjects: Subjects, reading: Reading) -> pl.DataFrame:
    rows = [
        (row.cells["outer"], row.cells["inner"], number(row.cells["count"]), row.cells["source"])
        for row in read_csv(content, reading, label="outer").rows
        if all(_is_listed(row, end, subjects.known, reading) for end in ("outer", "inner"))
    ]
    schema = {"outer": pl.String, "inner": pl.String, "count": pl.Float64, "source": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _fact_rows(
    grid: Grid, subjects: Subjects, sources: dict[str, dict[str, str]], reading: Reading
) -> Iterator[dict[str, Any]]:
    numbered: Counter[tuple[str, str, str]] = Counter()
    for row in grid.rows:
        cells = row.cells
        if not (
            _is_listed(row, "subject", subjects.known, reading)
            and _is_listed(row, "source", sources, reading)
            and _is_listed(row, "quantity", QUANTITIES, reading)
        ):
            continue
        key = (cells["subject"], cells["quantity"], cells["source"])
        numbered[key] += 1
        yield {
            **{name: number(cells[name]) for name in _NUMBERS},
            **{name: cells[name] or None for name in _AS_WRITTEN},
            "subject": cells["subject"],
            "subject_text": cells["subject"],
            "subject_kind": subjects.known[cells["subject"]].kind,
            "quantity": cells["quantity"],
            "metric": metric_name(
                cells["quantity"],
                density=cells["density"] or None,
                engine=cells["engine"] or None,
                direction=cells["direction"] or None,
            ),
            "unit": QUANTITIES[cells["quantity"]].unit,
            "source": cells["source"],
            "locator": f"{cells['quantity']} {numbered[key]}",
            **_of_source(sources[cells["source"]]),
        }


def _of_source(source: dict[str, str]) -> dict[str, str | None]:
    return {
        "source_address": source["address"],
        "publisher": source["publisher"],
        "publisher_kind": source["publisher_kind"],
        "licence": source["licence"] or None,
    }


def _is_listed(row: Row, column: str, known: dict[str, Any], reading: Reading) -> bool:
    name = row.cells[column]
    if name in known:
        return True
    reading.report(
        f"registry.unknown_{column}",
        f"{row.place} names {name}, which is not listed.",
        place=f"{row.place}, column {column}",
        severity="error",
        expected="a name that is listed",
        found=name,
    )
    return False
