"""What a live refresh asks of hosts: the rounds there are and their commits, tarballs, pages of specifications.

How a request is sent belongs in `sources.http`; what is stale is decided in `flow`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import polars as pl

from pipelines.lake.code_versions import code_version
from pipelines.lake.manifests import Manifest
from pipelines.lake.tables import Lake
from pipelines.refreshing.round_inputs import RoundInput
from pipelines.schemas.core import KnownRounds
from pipelines.settings import Settings
from pipelines.sources.errors import SourceError
from pipelines.sources.github import ListedRound, ResultsHost
from pipelines.sources.http import Http, PausedError
from pipelines.sources.repository import Repository
from pipelines.sources.sheets import AskedBook, Catalogue, Fetched, fetch_sheets, read_catalogue

if TYPE_CHECKING:
    from pipelines.refreshing.workshop import Workshop


ASKED = ("raw.sheets", "core.known_rounds")
"""Tables that asking the hosts writes; the files of a round are its own."""


@dataclass
class Discovered:
    """What the host of results told."""

    listed: list[ListedRound] = field(default_factory=list)
    """Every round that it lists, fetched or not."""
    rounds: dict[str, RoundInput] = field(default_factory=dict)
    """The rounds that are wanted, each at its commit."""
    failures: dict[str, str] = field(default_factory=dict)
    """What could not be told, by round or by address, with the reason."""


class LiveSources:
    """The hosts, opened for one refresh; a context."""

    def __init__(self, settings: Settings, tell: Callable[[str], None]) -> None:
        self.fetched_sheets: Fetched | None = None
        """Pages that were fetched and not yet written."""
        self._settings = settings
        self._tell = tell
        self._stack = ExitStack()
        self._http: Http | None = None

    def __enter__(self) -> LiveSources:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def catalogue(self) -> Catalogue:
        """Return the list of pages.

        Raises:
            SourceError: it cannot be read.
        """
        return read_catalogue(self._settings.catalogue)

    @property
    def http(self) -> Http:
        """Return the client, allowed to ask the hosts of the catalogue and of the settings."""
        if self._http is None:
            client = Http(self._settings, hosts=self.catalogue.hosts, tell=self._tell)
            self._http = self._stack.enter_context(client)
        return self._http

    def discover(self, only: Sequence[str]) -> Discovered:
        """Ask which rounds there are, and at which commit those stand that are wanted.

        Args:
            only: Rounds to keep to; none means those that the settings name.
        """
        found = Discovered()
        try:
            host = ResultsHost(self.http, self._settings)
            found.listed = host.rounds()
        except SourceError as error:
            found.failures[self._settings.results_api] = str(error)
            return found
        for listed in found.listed:
            if not self._is_wanted(listed.round, only):
                continue
            try:
                commit = host.commit(listed)
            except PausedError as error:
                found.failures[self._settings.results_api] = str(error)
                return found
            except SourceError as error:
                found.failures[listed.round] = str(error)
                continue
            found.rounds[listed.round] = RoundInput(round=listed.round, repository=listed.repository, commit=commit)
        return found

    def fetch(self, repository: str, commit: str, store: Callable[[Repository], None]) -> None:
        """Fetch the tarball of a commit and store it as it arrives; a transfer that breaks is begun anew.

        Raises:
            SourceError: it cannot be fetched, or is no results repository; nothing of it was stored.
        """
        host = ResultsHost(self.http, self._settings)
        for attempt in self.http.attempts():
            with attempt, host.tarball(repository, commit, self._settings.limits) as arriving:
                store(arriving)

    def fetch_sheets(self, lake: Lake, now: datetime, *, every_page: bool = False) -> Fetched:
        """Ask for the pages of the catalogue that are due.

        Args:
            lake: Which holds what was fetched before.
            now: The time.
            every_page: Whether to ask also for those that are not due, as a setting may say.

        Raises:
            SourceError: the catalogue cannot be read.
        """
        book = AskedBook(self._settings.cache / "pages")
        asked = {} if every_page or self._settings.asks_every_page else book.read()
        fetched = fetch_sheets(self.http, self.catalogue, lake.read("raw.sheets"), now, asked)
        book.write(fetched.asked)
        return fetched

    def _is_wanted(self, round_name: str, only: Sequence[str]) -> bool:
        if only:
            return round_name in only
        return any(fnmatchcase(round_name, pattern) for pattern in self._settings.live_rounds)


def record_known_rounds(lake: Lake, found: Discovered, now: datetime) -> bool:
    """Keep which rounds the publisher lists, those among them that cannot be fetched; return whether any is new.

    A round that is no longer listed stays: it was published.
    """
    before = {row["round"]: row for row in lake.read("core.known_rounds").iter_rows(named=True)}
    moment = now.astimezone(UTC).isoformat(timespec="seconds")
    after = dict(before)
    for listed in found.listed:
        known, at = before.get(listed.round), found.rounds.get(listed.round)
        after[listed.round] = {
            "round": listed.round,
            "repository": listed.repository,
            "default_branch": listed.default_branch,
            "commit": at.commit if at else known["commit"] if known else None,
            "first_listed_at": known["first_listed_at"] if known else moment,
        }
    if after == before and lake.manifest("core.known_rounds") is not None:
        return False
    frame = pl.DataFrame(list(after.values()), schema=KnownRounds.create_empty().schema, orient="row")
    lake.write("core.known_rounds", frame, inputs={}, code_version=code_version("refreshing/live.py"))
    return True


def take_in_from_hosts(workshop: Workshop) -> dict[str, Manifest]:
    """Bring `raw.sheets` and `core.known_rounds` up to date: with what a refresh fetched, else with what is asked now.

    Returns:
        The manifest of each table that there is.

    Raises:
        SourceError: a page or the list of rounds cannot be fetched, once what could be is written.
    """
    lake, now, failures = workshop.lake, workshop.clock(), []
    with workshop.live_sources() as live:
        fetched, live.fetched_sheets = live.fetched_sheets, None
        if fetched is None:
            found = live.discover([])
            record_known_rounds(lake, found, now)
            failures += list(found.failures.values())
            fetched = live.fetch_sheets(lake, now, every_page=True)
            failures += [str(error) for error in fetched.failures]
        if fetched.changed or lake.manifest("raw.sheets") is None:
            lake.write("raw.sheets", fetched.sheets, inputs={}, code_version=sheets_version())
    if failures:
        raise SourceError("hosts", None, "every page and the list of rounds", "; ".join(failures))
    return lake.manifests(ASKED)


def sheets_version() -> str:
    """Return the version of the code that decides what is kept of a page."""
    return code_version("sources/sheets.py", "schemas/raw.py")
