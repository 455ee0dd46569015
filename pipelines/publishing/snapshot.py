"""Writes the embedded snapshot from the lake: the small `core` tables of each round, with their provenance."""

from __future__ import annotations

import hashlib
import io
import tempfile
from dataclasses import dataclass
from pathlib import Path

import msgspec
import polars as pl

from pipelines import __version__
from pipelines.lake.tables import Lake
from pipelines.schemas import table
from pipelines.snapshot import ABOUT, SCHEMA_VERSION, About, SnapshotRound, SnapshotTable, file_name, table_names

_LEVEL = 19


class NothingToEmbedError(Exception):
    """The lake holds no round."""


@dataclass(frozen=True)
class Written:
    """What was written."""

    about: About
    size_bytes: int


def write_snapshot(lake: Lake, folder: Path, rounds: list[str] | None = None) -> Written:
    """Write the snapshot of the rounds (all where none is named) into `folder`; equal lakes give equal bytes.

    Raises:
        NothingToEmbedError: there is no such round in the lake.
    """
    names = sorted(set(lake.partitions("core.sources")) & set(rounds or lake.partitions("core.sources")))
    if not names:
        raise NothingToEmbedError("the lake holds no such round; `rackrecon refresh --from PATH` reads one")
    folder.mkdir(parents=True, exist_ok=True)
    contents = {name: _parquet(lake, name, names) for name in table_names()}
    tables = {
        name: SnapshotTable(rows=rows, sha256=hashlib.sha256(content).hexdigest())
        for name, (rows, content) in contents.items()
    }
    about = About(
        schema_version=SCHEMA_VERSION, made_by=f"rackrecon {__version__}", rounds=_rounds(lake, names), tables=tables
    )
    description = msgspec.json.format(msgspec.json.encode(about), indent=2) + b"\n"
    files = {file_name(name): content for name, (_, content) in contents.items()} | {ABOUT: description}
    _replace(folder, files)
    return Written(about, sum(map(len, files.values())))


def _replace(folder: Path, files: dict[str, bytes]) -> None:
    """Put the files into the folder once all of them are written: a full disk leaves those that were there."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".draft-") as draft:
        for name, content in files.items():
            (Path(draft) / name).write_bytes(content)
        for name in files:
            (Path(draft) / name).replace(folder / name)


def _parquet(lake: Lake, name: str, rounds: list[str]) -> tuple[int, bytes]:
    frame = lake.read(name, [entry for entry in lake.partitions(name) if entry in rounds])
    buffer = io.BytesIO()
    frame.sort(table(name).schema.primary_key()).write_parquet(
        buffer, compression="zstd", compression_level=_LEVEL, statistics=False
    )
    return frame.height, buffer.getvalue()


def _rounds(lake: Lake, names: list[str]) -> list[SnapshotRound]:
    sources = lake.read("core.sources", names).sort("round")
    return [
        SnapshotRound(
            round=row["round"],
            source=row["source"],
            commit=row["commit"],
            read_at=row["retrieved_at"],
            licence=row["licence"],
        )
        for row in sources.select(pl.all()).iter_rows(named=True)
    ]
