"""The embedded facts: `core` tables of the rounds that this version was made with, as compact Parquet files.

Reading them belongs here; writing them is `rackrecon snapshot`, in `publishing`.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import polars as pl

from pipelines.schemas import TABLES

FOLDER = Path(__file__).parent
ABOUT = "about.json"
SCHEMA_VERSION = 1


class SnapshotError(Exception):
    """The embedded snapshot cannot be read; the message names the file."""


class SnapshotRound(msgspec.Struct, frozen=True, kw_only=True):
    """Where a round of the snapshot was read from."""

    round: str
    source: str
    commit: str
    read_at: str
    """When its bytes were read, ISO 8601 in UTC; not when they were published."""
    licence: str | None


class SnapshotTable(msgspec.Struct, frozen=True, kw_only=True):
    """One file of the snapshot."""

    rows: int
    sha256: str


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What the snapshot holds and where it came from."""

    schema_version: int
    made_by: str
    rounds: list[SnapshotRound]
    tables: dict[str, SnapshotTable]


def table_names() -> list[str]:
    """Return the tables that a snapshot carries."""
    return [entry.name for entry in TABLES.values() if entry.in_snapshot]


def file_name(table: str) -> str:
    """Return the name of the file that holds the table."""
    return f"{table}.parquet"


class Snapshot:
    """The snapshot in a folder."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.folder = folder

    def about(self) -> About:
        """Return what the snapshot holds; a folder without one holds no rounds.

        Raises:
            SnapshotError: its description cannot be read.
        """
        path = self.folder / ABOUT
        if not path.exists():
            return About(schema_version=SCHEMA_VERSION, made_by="", rounds=[], tables={})
        try:
            about = msgspec.json.decode(path.read_bytes(), type=About)
        except (OSError, msgspec.DecodeError) as error:
            raise SnapshotError(f"{path}: expected the description of a snapshot, found {error}") from error
        if about.schema_version > SCHEMA_VERSION:
            expected = f"schema version {SCHEMA_VERSION} or older, found {about.schema_version}"
            raise SnapshotError(f"{path}: expected {expected}: update this program (made by {about.made_by})")
        return about

    def rounds(self) -> list[str]:
        """Return the rounds, in the order of the description."""
        return [entry.round for entry in self.about().rounds]

    def digest(self, round_name: str) -> str:
        """Return a digest of the snapshot's tables and of where the round was read from."""
        about = self.about()
        entry = next(entry for entry in about.rounds if entry.round == round_name)
        return hashlib.sha256(msgspec.json.encode([entry, about.tables], order="sorted")).hexdigest()

    def read(self, table: str, round_name: str) -> pl.DataFrame:
        """Return a table's rows of one round.

        Raises:
            SnapshotError: the file is missing or damaged.
        """
        path = self.folder / file_name(table)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise SnapshotError(f"{path}: cannot be read: {error.strerror}") from error
        expected = self.about().tables.get(table)
        found = hashlib.sha256(content).hexdigest()
        if expected is None or found != expected.sha256:
            stated = expected.sha256 if expected else "no such table"
            raise SnapshotError(f"{path}: expected SHA-256 {stated} as in {ABOUT}, found {found}")
        frame = pl.read_parquet(content)
        missing = [name for name in TABLES[table].schema.column_names() if name not in frame.columns]
        if missing:
            done = "write it again with `rackrecon snapshot`, or read the round with `rackrecon refresh --from PATH`"
            raise SnapshotError(f"{path}: an older program wrote it, without {', '.join(missing)}: {done}")
        return frame.filter(pl.col("round") == round_name)
