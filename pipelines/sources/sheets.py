"""Pages of specifications: the catalogue of what is watched, and each page's versions into `raw.sheets`.

How a request is sent belongs in `http`; what a page says in `parsing.spec_sheets`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import msgspec
import polars as pl

from pipelines.lake.storage import StorageError, open_storage
from pipelines.parsing.spec_sheets.frames import READERS
from pipelines.parsing.spec_sheets.sheet import Sheet
from pipelines.schemas.raw import Sheets
from pipelines.sources.errors import SourceError
from pipelines.sources.http import Http, Page, host_of

Cadence = Literal["weekly", "monthly", "yearly"]
TestedOn = Literal["real_file", "page_of_that_shape"]

LEFT_ALONE: dict[Cadence, timedelta] = {
    "weekly": timedelta(days=1),
    "monthly": timedelta(days=6),
    "yearly": timedelta(days=27),
}
"""How long a page is not asked for again: a fraction of its cadence, since the change to see is the one nobody told of.

A little under a week and four weeks, so that a weekly refresh that starts a minute early finds its pages due.
"""


_ASKED_FILE = "asked.json"


class Catalogued(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One source of the catalogue: one page, or several files under one address."""

    source: str
    address: str
    """Address of the page; `{file}` stands for each of `files`."""
    form: str
    """Reader, as `parsing.spec_sheets.frames.READERS` names it."""
    publisher: str
    publisher_kind: Literal["vendor", "third_party"]
    cadence: Cadence
    """How often its publisher is known to change it; it is asked for more often than that (`LEFT_ALONE`)."""
    subjects: list[str]
    """Parts and platforms that it is about; empty for a list of many."""
    tested_on: TestedOn
    """Whether its reader is held against a file of the source itself, or against a page written in its shape."""
    licence: str | None = None
    confidence: Literal["high", "medium", "low"] = "medium"
    files: list[str] = msgspec.field(default_factory=list)
    names: dict[str, str] = msgspec.field(default_factory=dict)
    """What labels of its tables stand for; blank for none, `*` for every other label."""

    def pages(self) -> Iterator[tuple[str, str]]:
        """Give each file with its address; a page that stands alone has no file name."""
        if not self.files:
            yield "", self.address
        for file in self.files:
            yield file, self.address.replace("{file}", file)

    @property
    def subject(self) -> str | None:
        """Return the one subject, None where there are several or none."""
        return self.subjects[0] if len(self.subjects) == 1 else None


@dataclass(frozen=True)
class Catalogue:
    """Every source that is watched."""

    place: str
    sources: tuple[Catalogued, ...]

    @property
    def hosts(self) -> set[str]:
        """Return the hosts that are asked."""
        return {host_of(address) for _, _, address in self.pages()}

    def pages(self) -> Iterator[tuple[Catalogued, str, str]]:
        """Give every page: its source, its file name (blank for a page that stands alone) and its address."""
        return ((source, file, address) for source in self.sources for file, address in source.pages())


class Asked(msgspec.Struct, frozen=True):
    """When a page was last asked for, and what it was then."""

    at: datetime
    sha256: str


@dataclass(frozen=True)
class Fetched:
    """What came of a round of the catalogue."""

    sheets: pl.DataFrame
    """Rows of `raw.sheets`, those that were held before among them."""
    changed: list[str]
    """Pages with other bytes than before, new ones among them."""
    failures: list[SourceError]
    """What could not be fetched; the versions that were held stand."""
    asked: dict[str, Asked]
    """Every page that was ever asked for with success, by address."""
    not_due: int
    """Pages that were left alone this time."""


class AskedBook:
    """Keeps when each page was last asked for, so that the next process knows it; a lost or damaged one is empty."""

    def __init__(self, folder: Path) -> None:
        self._storage = open_storage(str(folder))

    def read(self) -> dict[str, Asked]:
        """Return what is known, by address."""
        try:
            return msgspec.json.decode(self._storage.read(_ASKED_FILE), type=dict[str, Asked])
        except (StorageError, msgspec.DecodeError):
            return {}

    def write(self, asked: Mapping[str, Asked]) -> None:
        """Keep it in place of what was known."""
        self._storage.write(_ASKED_FILE, msgspec.json.encode(dict(sorted(asked.items()))))


def read_catalogue(path: Path) -> Catalogue:
    """Read the catalogue.

    Raises:
        SourceError: it cannot be read, names an unknown reader, or one page twice.
    """
    try:
        entries = tomllib.loads(path.read_text("utf-8")).get("source", [])
        sources = tuple(msgspec.convert(entry, Catalogued) for entry in entries)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise SourceError(str(path), None, "a catalogue of sources in TOML", str(error)) from error
    seen: set[tuple[str, str]] = set()
    for entry in sources:
        if entry.form not in READERS:
            raise SourceError(str(path), entry.source, f"a form ({', '.join(READERS)})", entry.form)
        if entry.files and "{file}" not in entry.address:
            raise SourceError(str(path), entry.source, "{file} in the address of several files", entry.address)
        for file, _ in entry.pages():
            if (entry.source, file) in seen:
                raise SourceError(str(path), entry.source, "each file of a source once", file or "its page twice")
            seen.add((entry.source, file))
    return Catalogue(str(path), sources)


def fetch_sheets(
    http: Http, catalogue: Catalogue, held: pl.DataFrame, now: datetime, asked: Mapping[str, Asked]
) -> Fetched:
    """Ask for every page of the catalogue that is due, on the condition that it changed.

    Args:
        http: Sends the requests; it must be allowed to ask the catalogue's hosts.
        catalogue: What to ask for.
        held: Rows of `raw.sheets`.
        now: The time that new bytes are said to be read at.
        asked: When each page was last asked for, by address; a page that is not in it is due.
    """
    rows = {(row["source"], row["path"], row["sha256"]): row for row in held.iter_rows(named=True)}
    standing = {(row["source"], row["path"]): row for row in current(held).iter_rows(named=True)}
    changed, failures, not_due, answered = [], [], 0, dict(asked)
    for entry, path, address in catalogue.pages():
        before = standing.get((entry.source, path))
        if before is not None and not _is_due(entry, before, address, asked.get(address), now):
            not_due += 1
            continue
        try:
            page = http.get(address)
        except SourceError as error:
            failures.append(error)
            continue
        answered[address] = Asked(now, page.sha256)
        key = (entry.source, path, page.sha256)
        is_standing = before is not None and before["sha256"] == page.sha256
        row = _row(entry, path, page, before if is_standing else rows.get(key), now, is_standing=is_standing)
        if row != before:
            changed.append(f"{entry.source} {path}".strip())
            if before is not None:
                rows[entry.source, path, before["sha256"]] = {**before, "is_current": False}
            rows[key] = row
    schema = Sheets.create_empty().schema
    frame = pl.DataFrame(list(rows.values()), schema=schema, orient="row").sort(Sheets.primary_key())
    return Fetched(frame, changed, failures, answered, not_due)


def _is_due(entry: Catalogued, standing: Mapping[str, Any], address: str, last: Asked | None, now: datetime) -> bool:
    """Return whether a page is to be asked for: its time has come, or the lake does not hold what it was last time."""
    is_held_so = {"address": address, **_described(entry)}.items() <= standing.items()
    if last is None or last.sha256 != standing["sha256"] or not is_held_so:
        return True
    return not timedelta(0) <= now - last.at < LEFT_ALONE[entry.cadence]


def current(sheets: pl.DataFrame) -> pl.DataFrame:
    """Return the version of each page that stands."""
    return sheets.filter("is_current").sort("source", "path")


def sheets_of(rows: pl.DataFrame) -> list[tuple[str, Sheet]]:
    """Return rows of `raw.sheets` as their readers take them, each with the name of its reader."""
    return [(row["form"], _sheet(row)) for row in rows.iter_rows(named=True)]


def _sheet(row: dict[str, Any]) -> Sheet:
    return Sheet(
        source=row["source"],
        address=row["address"],
        content=row["content"],
        publisher=row["publisher"],
        publisher_kind=row["publisher_kind"],
        path=row["path"],
        confidence=row["confidence"],
        licence=row["licence"],
        retrieved_at=row["retrieved_at"],
        subject=row["subject"],
        names=msgspec.json.decode(row["names"], type=dict[str, str]),
    )


def _row(
    entry: Catalogued, path: str, page: Page, before: dict[str, Any] | None, now: datetime, *, is_standing: bool
) -> dict[str, Any]:
    """Return the row of a page as it is now; `before` is the row of the same bytes, where there is one."""
    moment = now.astimezone(UTC).isoformat(timespec="seconds")
    return {
        "source": entry.source,
        "path": path,
        "sha256": page.sha256,
        "address": page.address,
        **_described(entry),
        "media_type": before["media_type"] if before else page.media_type or None,
        "size_bytes": len(page.content),
        "content": page.content,
        "is_current": True,
        "first_retrieved_at": before["first_retrieved_at"] if before else moment,
        "retrieved_at": before["retrieved_at"] if before and is_standing else moment,
    }


def _described(entry: Catalogued) -> dict[str, Any]:
    """Return what the catalogue says of a source, as `raw.sheets` has it."""
    return {
        "form": entry.form,
        "publisher": entry.publisher,
        "publisher_kind": entry.publisher_kind,
        "licence": entry.licence,
        "confidence": entry.confidence,
        "subject": entry.subject,
        "names": msgspec.json.encode(entry.names, order="sorted").decode(),
    }
