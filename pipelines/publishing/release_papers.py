"""The papers of a release: its description for programs and for people, how to cite it, licences, what changed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dataframely as dy
import msgspec
import polars as pl
import yaml

from pipelines import __version__
from pipelines.publishing.differences import DESCRIPTOR
from pipelines.publishing.notice import TRADEMARK
from pipelines.schemas import TABLES, Table

NAME = "rackrecon"
TITLE = "Rackrecon: published AI cluster results, checked and held against a calibrated model"
OWN_LICENCE = "Apache-2.0"

_TYPES: dict[type[pl.DataType], str] = {
    pl.String: "string",
    pl.Int64: "integer",
    pl.Float64: "number",
    pl.Boolean: "boolean",
}
_LICENCES = {
    "Apache-2.0": ("https://www.apache.org/licenses/LICENSE-2.0", "Apache License 2.0"),
    "CC-BY-4.0": ("https://creativecommons.org/licenses/by/4.0/", "Creative Commons Attribution 4.0"),
    "MIT": ("https://opensource.org/license/mit", "MIT License"),
}


@dataclass(frozen=True)
class Papers:
    """What the papers say."""

    version: str
    previous: str | None
    lake_sha256: str
    sources: Sequence[Mapping[str, Any]]
    """Rows of `core.sources`."""
    spec_sources: Sequence[Mapping[str, str | None]]
    """`source` and `source_address` of every specification that a value was taken from."""
    rows: Mapping[str, int]
    changes: Sequence[Mapping[str, Any]]
    """Rows of `differences.summary`."""
    about: Mapping[str, str]

    @property
    def day(self) -> str:
        """Return the day on which the newest source was read."""
        return self.about["refreshed_at"][:10]


def write_papers(folder: Path, papers: Papers) -> None:
    """Write them; the data files must be there already."""
    (folder / "CITATION.cff").write_text(_citation(papers), "utf-8")
    (folder / "LICENCES.md").write_text(_licences(papers), "utf-8")
    (folder / "CHANGES.md").write_text(_changes(papers), "utf-8")
    (folder / "README.md").write_text(_readme(papers), "utf-8")
    description = msgspec.json.format(msgspec.json.encode(descriptor(folder, papers)), indent=2)
    (folder / DESCRIPTOR).write_bytes(description + b"\n")


def descriptor(folder: Path, papers: Papers) -> dict[str, Any]:
    """Return the data package's description by the Frictionless specification."""
    return {
        "profile": "data-package",
        "name": NAME,
        "title": TITLE,
        "description": TRADEMARK,
        "version": papers.version,
        "created": f"{papers.day}T00:00:00Z",
        "lake_sha256": papers.lake_sha256,
        "licenses": [_licence(OWN_LICENCE)],
        "sources": _sources(papers),
        "resources": [
            resource
            for entry in TABLES.values()
            for resource in (_csv_resource(folder, entry), _parquet_resource(folder, entry))
        ],
    }


def _licence(name: str) -> dict[str, str]:
    path, title = _LICENCES[name]
    return {"name": name, "path": path, "title": title}


def _sources(papers: Papers) -> list[dict[str, str]]:
    rounds = [
        {"title": f"{row['source']} at {row['commit']}", "path": f"https://github.com/{row['source']}"}
        for row in papers.sources
    ]
    return rounds + [{"title": row["source"] or "", **_address(row["source_address"])} for row in papers.spec_sources]


def _address(address: str | None) -> dict[str, str]:
    if not address:
        return {}
    return {"path": address if "://" in address else f"https://{address}"}


def _csv_resource(folder: Path, entry: Table) -> dict[str, Any]:
    columns = _columns(entry)
    return {
        "profile": "tabular-data-resource",
        **_file(folder, f"csv/{entry.name}.csv"),
        "name": _resource_name(entry, "csv"),
        "title": entry.name,
        "description": entry.description,
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "schema": {
            "fields": [_field(name, column) for name, column in columns.items()],
            "primaryKey": list(entry.schema.primary_key()),
            "missingValues": [""],
        },
    }


def _parquet_resource(folder: Path, entry: Table) -> dict[str, Any]:
    return {
        "profile": "data-resource",
        **_file(folder, f"parquet/{entry.name}.parquet"),
        "name": _resource_name(entry, "parquet"),
        "title": entry.name,
        "description": entry.description,
        "format": "parquet",
        "mediatype": "application/vnd.apache.parquet",
    }


def _resource_name(entry: Table, form: str) -> str:
    return f"{entry.name.replace('.', '-').replace('_', '-')}-{form}"


def _columns(entry: Table) -> dict[str, dy.Column]:
    return {name: column for name, column in entry.schema.columns().items() if column.dtype != pl.Binary}


def _file(folder: Path, path: str) -> dict[str, Any]:
    content = (folder / path).read_bytes()
    return {"path": path, "bytes": len(content), "hash": f"sha256:{hashlib.sha256(content).hexdigest()}"}


def _field(name: str, column: dy.Column) -> dict[str, Any]:
    """Return a column; text is never `required`, since CSV does not tell an empty text from none."""
    metadata = column.metadata or {}
    field: dict[str, Any] = {
        "name": name,
        "type": _TYPES[type(column.dtype)],
        "description": column.description or "",
    }
    if "unit" in metadata:
        field["unit"] = metadata["unit"]
    constraints: dict[str, Any] = {}
    if not column.nullable and field["type"] != "string":
        constraints["required"] = True
    if "one_of" in metadata:
        constraints["enum"] = list(metadata["one_of"])
    return field | ({"constraints": constraints} if constraints else {})


def _citation(papers: Papers) -> str:
    text: str = yaml.safe_dump(
        {
            "cff-version": "1.2.0",
            "message": "Cite this release, and the publishers of what it rests on (LICENCES.md).",
            "type": "dataset",
            "title": TITLE,
            "authors": [{"name": "The Rackrecon authors"}],
            "version": papers.version,
            "date-released": papers.day,
            "license": OWN_LICENCE,
            "abstract": TRADEMARK,
            "references": [
                {
                    "type": "data",
                    "title": row["round"],
                    "authors": [{"name": row["source"].partition("/")[0]}],
                    "repository-code": f"https://github.com/{row['source']}",
                    "commit": row["commit"],
                    "date-accessed": row["retrieved_at"][:10],
                }
                for row in papers.sources
            ],
        },
        sort_keys=False,
        allow_unicode=True,
        width=1000,
    )
    return text


def _licences(papers: Papers) -> str:
    lines = [
        "# Licences and attribution",
        "",
        f"What Rackrecon adds is under {OWN_LICENCE}. What it rests on is its publishers':",
        "",
        "| round | published in | commit | read | licence |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['round']} | {row['source']} | {row['commit']} | {row['retrieved_at']} | "
        f"{row['licence'] or 'not stated'} |"
        for row in papers.sources
    ]
    lines += ["", "Figures of specifications are facts, each cited in `mart.resolved_facts`, from:", ""]
    lines += [f"- {row['source']}: {row['source_address']}" for row in papers.spec_sources]
    return "\n".join([*lines, "", TRADEMARK, ""])


def _changes(papers: Papers) -> str:
    if papers.previous is None:
        return f"# Changes in {papers.version}\n\nThe first release: there is none to compare it with.\n"
    lines = [
        f"# Changes from {papers.previous} to {papers.version}",
        "",
        "Rows of the answers, by table and column; each row is in `changes.csv`.",
        "",
        "| table | change | column | rows |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {row['table_name']} | {row['change']} | {row['column_name'] or ''} | {row['row_count']} |"
        for row in papers.changes
    ]
    return "\n".join([*lines, ""])


def _readme(papers: Papers) -> str:
    lines = [
        f"# Rackrecon {papers.version}",
        "",
        f"Made by rackrecon {__version__}. Newest training round: {papers.about['newest_training_round_here']}, "
        f"sources read until {papers.day}.",
        "",
        "| file | holds |",
        "|---|---|",
        "| `warehouse.duckdb` | every table with comments, views and macros; opens with DuckDB 1.2 and later |",
        "| `parquet/` | each table as Parquet |",
        "| `csv/` | each table as CSV: a cell that a spreadsheet would run as a formula has an apostrophe in front |",
        f"| `{DESCRIPTOR}` | every file, column and unit, by the Frictionless specification |",
        "| `CHANGES.md`, `changes.csv` | what differs from the release before |",
        "| `LICENCES.md`, `CITATION.cff` | attribution of each source, how to cite |",
        "| `SHA256SUMS` | checksums: `sha256sum -c SHA256SUMS` |",
        "",
        "| table | rows | one row |",
        "|---|---|---|",
    ]
    lines += [f"| `{name}` | {rows:,} | {TABLES[name].description} |" for name, rows in papers.rows.items()]
    lines += [
        "",
        "Columns of published bytes are left out; their SHA-256 stands beside. A result carries round, division,",
        "availability, submitter, system and accelerators; its round's source, commit and date are in `core.sources`,",
        "and view `mart.cited_results` of the DuckDB file joins them. Result IDs of the publisher's own table: none",
        "published in the result files.",
        "",
        TRADEMARK,
        "",
    ]
    return "\n".join(lines)
