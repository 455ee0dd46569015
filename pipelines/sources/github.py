"""The results repositories of an organisation: which rounds it lists, the commit of each, the tarball of a commit.

How a request is sent belongs in `http`; how a tarball is read in `repository`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import quote

import msgspec

from pipelines.settings import Limits, Settings
from pipelines.sources.errors import SourceError, printable
from pipelines.sources.http import FetchError, Http
from pipelines.sources.repository import Repository, open_tarball_stream, repository_named

COMMIT_MEDIA_TYPE = "application/vnd.github.sha"
"""What to accept for the bare name of a commit instead of a description of it."""

_LIST_MEDIA_TYPE = "application/vnd.github+json"
_A_PAGE = 100
_MOST_PAGES = 100
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class _Listed(msgspec.Struct):
    name: str
    default_branch: str | None = None


@dataclass(frozen=True)
class ListedRound:
    """One round that the organisation lists."""

    round: str
    repository: str
    """`organisation/name`."""
    default_branch: str


class ResultsHost:
    """The host of results repositories, as the settings name it."""

    def __init__(self, http: Http, settings: Settings) -> None:
        self.http = http
        self._settings = settings

    def rounds(self) -> list[ListedRound]:
        """Return every round that the organisation lists, sorted by name, page after page.

        Raises:
            FetchError: the list cannot be fetched whole; a part of it would look like rounds withdrawn.
        """
        organisation = self._settings.results_organisation
        address: str | None = (
            f"{self._settings.results_api}/orgs/{organisation}/repos?per_page={_A_PAGE}&sort=full_name"
        )
        found: dict[str, ListedRound] = {}
        seen: set[str] = set()
        while address is not None:
            if address in seen or len(seen) == _MOST_PAGES:
                raise FetchError(address, None, f"a list of at most {_MOST_PAGES} pages, each once", "one without end")
            seen.add(address)
            page = self.http.get(address, accept=_LIST_MEDIA_TYPE)
            found |= {entry.round: entry for entry in _rounds_in(page.content, address, organisation)}
            address = page.next_address
        return [found[name] for name in sorted(found)]

    def commit(self, listed: ListedRound) -> str:
        """Return the commit that the round's default branch stands at; unchanged since the last time costs a 304.

        Raises:
            FetchError: it cannot be fetched, or the answer is no commit.
        """
        branch = quote(listed.default_branch, safe="")
        address = f"{self._settings.results_api}/repos/{listed.repository}/commits/{branch}"
        page = self.http.get(address, accept=COMMIT_MEDIA_TYPE)
        text = page.content[:100].decode("latin-1").strip()
        if not _COMMIT.fullmatch(text):
            raise FetchError(address, None, "the name of a commit, 40 hexadecimal digits", printable(text) or "nothing")
        return text

    @contextmanager
    def tarball(self, repository: str, commit: str, limits: Limits) -> Iterator[Repository]:
        """Give the repository at a commit while its tarball arrives; it can be read once.

        Raises:
            SourceError: it cannot be fetched, or is not what it should be.
        """
        address = f"{self._settings.results_archives}/{repository}/tar.gz/{commit}"
        with self.http.stream(address) as body:
            yield open_tarball_stream(
                body, address, limits, source=repository, commit=commit, digest=lambda: body.sha256
            )


def _rounds_in(content: bytes, address: str, organisation: str) -> Iterator[ListedRound]:
    try:
        entries = msgspec.json.decode(content, type=list[_Listed])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SourceError(address, None, "a list of repositories", printable(str(error))) from error
    for entry in entries:
        named = repository_named(entry.name)
        if named is not None and named.repository == entry.name:
            yield ListedRound(named.round, f"{organisation}/{entry.name}", entry.default_branch or "HEAD")
