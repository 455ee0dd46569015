"""Manifests: what a partition was made from and by, so that the lake alone can tell what is fresh.

How a partition is written belongs in `tables`; what its inputs are is its builder's to say.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import dataframely as dy
import msgspec

from pipelines.lake.storage import LakeError
from pipelines.schemas import Table

SCHEMA_VERSION = 1
"""Raised when stored columns change their meaning, so that an older program refuses what it would misread."""


class LakeVersionError(LakeError):
    """The lake was written by a newer program."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one partition: where it came from, how long it is, what its bytes hash to."""

    schema_version: int
    table: str
    partition: str | None
    columns_sha256: str
    code_version: str
    inputs: dict[str, str]
    rows: int
    quarantined_rows: int
    duplicate_rows: int
    size_bytes: int
    sha256: str
    quarantine_sha256: str | None
    written_at: str

    def says_fresh(self, table: Table, inputs: Mapping[str, str], code_version: str) -> bool:
        """Return whether the same table, inputs and code would give the same partition again."""
        return (
            self.schema_version == SCHEMA_VERSION
            and self.columns_sha256 == columns_sha256(table.schema)
            and self.code_version == code_version
            and self.inputs == dict(inputs)
        )


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the manifest as indented JSON with sorted inputs."""
    return msgspec.json.format(msgspec.json.encode(manifest, order="sorted"), indent=2) + b"\n"


def decode_manifest(content: bytes, place: str) -> Manifest | None:
    """Return the manifest, or nothing where it is damaged: its partition then counts as not fresh.

    Raises:
        LakeVersionError: a newer program wrote it.
    """
    try:
        version = msgspec.json.decode(content, type=_Version).schema_version
        if version > SCHEMA_VERSION:
            raise LakeVersionError(
                f"{place}: written with schema version {version}; this program reads up to {SCHEMA_VERSION}: update it"
            )
        return msgspec.json.decode(content, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def columns_sha256(schema: type[dy.Schema]) -> str:
    """Return a digest of a schema's columns: names, types and what they may hold, without the descriptions."""
    facts = {name: _column_facts(column) for name, column in schema.columns().items()}
    return hashlib.sha256(msgspec.json.encode(facts)).hexdigest()


class _Version(msgspec.Struct):
    schema_version: int


def _column_facts(column: dy.Column) -> list[str]:
    kept = {name: value for name, value in vars(column).items() if not name.startswith("_") and not callable(value)}
    kept.pop("description", None)
    return [str(column.dtype), *(f"{name}={value!r}" for name, value in sorted(kept.items()))]
