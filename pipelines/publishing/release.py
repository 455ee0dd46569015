"""A release: one folder with every table as Parquet, CSV and DuckDB, described, attributed and with checksums.

Its bytes follow from the lake, the program and the release before; no clock is asked. What the tables mean belongs in
`schemas`.
"""

from __future__ import annotations

import hashlib
import io
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pipelines import __version__
from pipelines.lake.storage import LakeError
from pipelines.lake.tables import Lake
from pipelines.lake.warehouse import build_warehouse
from pipelines.publishing.age import MONTHS, newest
from pipelines.publishing.differences import DESCRIPTOR, LakeState, differences, open_state, summary
from pipelines.publishing.notice import TRADEMARK
from pipelines.publishing.release_papers import Papers, write_papers
from pipelines.publishing.spreadsheets import neutral
from pipelines.schemas import TABLES, Table

CHECKSUMS = "SHA256SUMS"


class NothingToReleaseError(LakeError):
    """The lake holds no round."""


@dataclass(frozen=True)
class Release:
    """What was written, or found to be there already."""

    folder: Path
    version: str
    is_new: bool


def write_release(lake: Lake, home: Path, sql_folder: Path, *, version: str | None = None) -> Release:
    """Write the release of the lake as it stands into a folder of `home`; the same lake is released once.

    Args:
        lake: What is released.
        home: Folder of all releases.
        sql_folder: Views and macros of the DuckDB file.
        version: Calendar version; None takes the day on which the newest source was read, and a number where that
            day has a release of another lake.

    Raises:
        NothingToReleaseError: the lake holds no round.
    """
    sources = lake.read("core.sources").sort("round")
    if sources.is_empty():
        raise NothingToReleaseError("the lake holds no round; `rackrecon refresh` reads one")
    digest = lake_sha256(lake, sql_folder)
    before = releases(home)
    for folder in before:
        if digest in (folder / DESCRIPTOR).read_text("utf-8"):
            return Release(folder, folder.name, is_new=False)
    name = version or _next_version(str(sources["retrieved_at"].max())[:10], {folder.name for folder in before})
    if (home / name).exists():
        raise LakeError(f"{home / name}: there is a release of that version; a release is never replaced")
    draft = home / f".{name}.draft"
    shutil.rmtree(draft, ignore_errors=True)
    for part in ("parquet", "csv"):
        (draft / part).mkdir(parents=True)
    rows = {entry.name: _write_table(lake, entry, draft) for entry in TABLES.values()}
    about = _about(lake, sources, name)
    build_warehouse(lake, draft / "warehouse.duckdb", about, sql_folder=sql_folder)
    changes = _changes(lake, before)
    neutral(changes).write_csv(draft / "changes.csv")
    papers = Papers(
        version=name,
        previous=before[-1].name if before else None,
        lake_sha256=digest,
        sources=sources.to_dicts(),
        spec_sources=_spec_sources(lake),
        rows=rows,
        changes=summary(changes).to_dicts(),
        about=about,
    )
    write_papers(draft, papers)
    _write_checksums(draft)
    draft.rename(home / name)
    return Release(home / name, name, is_new=True)


def releases(home: Path) -> list[Path]:
    """Return the folders of the releases, the oldest first."""
    found = [path.parent for path in home.glob(f"*/{DESCRIPTOR}") if not path.parent.name.startswith(".")]
    return sorted(found, key=lambda folder: _version_key(folder.name))


def lake_sha256(lake: Lake, sql_folder: Path) -> str:
    """Return a digest of everything that a release is made from but the release before."""
    digest = hashlib.sha256(__version__.encode())
    state = LakeState(lake)
    for entry in TABLES.values():
        described = {name: str(column.description) for name, column in entry.schema.columns().items()}
        digest.update(f"{entry.name} {sorted(state.parts(entry.name).items())} {described}".encode())
    for file in sorted(sql_folder.glob("*.sql")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def for_csv(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame for a CSV file: no text is a formula, infinities are as Frictionless has them."""
    floats = [name for name, dtype in frame.schema.items() if dtype.is_float() and frame[name].is_infinite().any()]
    return neutral(frame).with_columns(
        pl.col(name).cast(pl.String).str.replace("inf", "INF", literal=True) for name in floats
    )


def _write_table(lake: Lake, entry: Table, folder: Path) -> int:
    """Write a table a partition at a time, its bytes left out; return the number of rows."""
    columns = [name for name, column in entry.schema.columns().items() if column.dtype != pl.Binary]
    empty = entry.schema.create_empty().select(columns)
    schema: pa.Schema = empty.to_arrow().schema
    rows = 0
    with (
        pq.ParquetWriter(folder / "parquet" / f"{entry.name}.parquet", schema, compression="zstd") as parquet,
        (folder / "csv" / f"{entry.name}.csv").open("wb") as csv,
    ):
        csv.write(_csv(empty, include_header=True))
        for frame in _partitions(lake, entry, columns):
            ordered = frame.sort(entry.schema.primary_key())
            parquet.write_table(ordered.to_arrow().cast(schema))
            csv.write(_csv(for_csv(ordered), include_header=False))
            rows += ordered.height
    return rows


def _partitions(lake: Lake, entry: Table, columns: list[str]) -> Iterator[pl.DataFrame]:
    for partition in lake.partitions(entry.name):
        batches = list(lake.iter_batches(entry.name, partition, columns))
        if batches:
            yield pl.concat(batches).select(columns)


def _csv(frame: pl.DataFrame, *, include_header: bool) -> bytes:
    buffer = io.BytesIO()
    frame.write_csv(buffer, include_header=include_header)
    return buffer.getvalue()


def _about(lake: Lake, sources: pl.DataFrame, version: str) -> dict[str, str]:
    rounds = sources["round"].to_list()
    told = {
        "rackrecon_version": __version__,
        "release": version,
        "refreshed_at": str(sources["retrieved_at"].max()),
        "trademark": TRADEMARK,
    }
    told |= {f"newest_{series}_round_here": newest(rounds, series) or "none" for series in MONTHS}
    for row in sources.iter_rows(named=True):
        told[f"source.{row['round']}"] = f"{row['source']} at {row['commit']}, read {row['retrieved_at']}"
        told[f"licence.{row['round']}"] = row["licence"] or "not stated"
    return told


def _spec_sources(lake: Lake) -> Sequence[Mapping[str, str | None]]:
    facts = lake.read("mart.resolved_facts")
    return facts.select("source", "source_address").unique().sort("source", "source_address").to_dicts()


def _changes(lake: Lake, before: list[Path]) -> pl.DataFrame:
    if not before:
        return differences(LakeState(lake), LakeState(lake), ())
    answers = [entry.name for entry in TABLES.values() if entry.layer == "mart" or entry.name == "core.sources"]
    return differences(open_state(before[-1]), LakeState(lake), answers)


def _next_version(day: str, taken: set[str]) -> str:
    base = day.replace("-", ".")
    return next(name for name in (base, *(f"{base}.{number}" for number in range(1, 10_000))) if name not in taken)


def _version_key(name: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in name.split("."))


def _write_checksums(folder: Path) -> None:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [f"{_sha256(path)}  {path.relative_to(folder).as_posix()}\n" for path in files]
    (folder / CHECKSUMS).write_text("".join(lines), "utf-8")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
