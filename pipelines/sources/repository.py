"""A results repository: its round, commit and source, and the files of it that a parser reads, as a stream.

How a tarball or a folder is read belongs in `archives` and `folders`; where the files are kept in `intake`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from pipelines.settings import Limits
from pipelines.sources.archives import Readable, TarStream
from pipelines.sources.errors import SourceError, printable
from pipelines.sources.folders import Folder, git_commit, git_remote
from pipelines.sources.members import Member

_PUBLISHER = "mlcommons"
_PUBLISHER_LICENCE = "Apache-2.0"
_REPOSITORY_NAME = re.compile(r"((training|hpc|inference)_results_v([0-9]+(?:\.[0-9]+)+))(?:[-_.].*)?")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHOWN_DIGITS = 40

_LONGEST_KEPT_BYTES = 2**31 - 64
"""What one row of a Parquet file has room for, with a little for itself, whatever the settings allow."""

RESULT_KINDS = frozenset({"result_log", "inference_summary"})
"""Kinds of file, as `keep` names them, without which a tree is no results repository."""


class _Reader(Protocol):
    @property
    def skipped_links(self) -> int: ...

    def members(self) -> Iterator[Member]: ...


_ReaderOpener = Callable[[], AbstractContextManager[_Reader]]
_Digest = Callable[[], str]


@dataclass(frozen=True)
class KeptFile:
    """A file that a parser reads."""

    path: str
    kind: str
    sha256: str
    content: bytes


class Repository:
    """One round's results as published: a tarball, a checkout folder, or a tarball that is still arriving."""

    def __init__(
        self, *, place: str, name: RepositoryName, commit: str, owner: str, reader: _ReaderOpener, digest: _Digest
    ) -> None:
        self.place = place
        """Where it was read from, for messages."""
        self.round = name.round
        """Readable name of the round, such as training-v5.0."""
        self.commit = commit
        """Commit of the repository, or `folder-` or `archive-` and a digest where the source names none."""
        self.source = f"{owner}/{name.repository}"
        """Repository that the round was published in, such as mlcommons/training_results_v5.0."""
        self.licence = _PUBLISHER_LICENCE if owner == _PUBLISHER else None
        """Licence under which the publisher offers the content; null where it is not known."""
        self.skipped_count = 0
        """Files that no parser reads and links passed over; known when `files` has ended."""
        self._reader = reader
        self._digest = digest

    @cached_property
    def fingerprint(self) -> str:
        """Return what changes whenever the bytes change: a SHA-256, or the commit of a stream.

        That of a stream is known when `files` has ended.
        """
        return self._digest()

    def files(self, keep: Callable[[str], str | None]) -> Iterator[KeptFile]:
        """Give the files that a parser reads, in the order in which they stand, holding one at a time.

        Args:
            keep: Takes a path inside the repository, gives the kind of file or null for one that no parser reads.

        Raises:
            SourceError: the repository is damaged, holds what it should not, or no results. What was given up to
                then must be thrown away.
        """
        skipped, found_results = 0, False
        with self._reader() as reader:
            for member in reader.members():
                kind = keep(member.path)
                if kind is None:
                    skipped += 1
                    continue
                found_results |= kind in RESULT_KINDS
                if member.size_bytes > _LONGEST_KEPT_BYTES:
                    expected = f"at most {_LONGEST_KEPT_BYTES} bytes, which is all that a row of a table holds"
                    raise SourceError(self.place, member.path, expected, f"{member.size_bytes} bytes")
                content = member.read()
                yield KeptFile(member.path, kind, hashlib.sha256(content).hexdigest(), content)
            self.skipped_count = skipped + reader.skipped_links
        if not found_results:
            expected = "results, such as SUBMITTER/results/SYSTEM/BENCHMARK/result_0.txt or summary_results.json"
            raise SourceError(self.place, None, expected, "none")


@dataclass(frozen=True)
class RepositoryName:
    """What the name of a results repository says."""

    repository: str
    round: str


def open_repository(path: Path, limits: Limits) -> Repository:
    """Open a results repository on disk: a tarball or a checkout folder, whichever `path` is.

    Raises:
        SourceError: it is neither, or it does not tell its round.
    """
    try:
        if path.is_dir():
            return _open_folder(path, limits)
        if path.is_file():
            return _open_tarball(path, limits)
        found = "something else" if path.exists() else "nothing"
    except OSError as error:
        raise SourceError(str(path), None, "a path that can be reached", str(error.strerror)) from error
    raise SourceError(str(path), None, "a tarball or a checkout folder", found)


def open_tarball_stream(
    file: Readable,
    place: str,
    limits: Limits,
    *,
    source: str | None = None,
    commit: str | None = None,
    digest: Callable[[], str] | None = None,
) -> Repository:
    """Open a tarball that is read once, front to back, such as the body of a response.

    Args:
        file: Gives the bytes; need not be seekable.
        place: Where they come from, for messages.
        limits: What the repository may hold.
        source: Repository that it was asked of, `owner/name`; needed where the top folder does not name one.
        commit: Commit that was asked for; the tarball must not say another.
        digest: Gives the SHA-256 of the bytes, once all were read; the commit stands for it where there is none.

    Raises:
        SourceError: it is no tarball, or it does not tell its round or its commit.
    """
    owner, _, repository = (source or "").rpartition("/")
    stream = TarStream(file, place, limits)
    named = _commit_of(stream)
    if commit and named and commit != named:
        raise SourceError(place, None, f"commit {commit}", f"commit {named}")
    known = commit or named
    if known is None:
        raise SourceError(place, None, "a global header or a top folder that names the commit", stream.top_folder)
    return Repository(
        place=place,
        name=_identify(place, stream.top_folder, repository),
        commit=known,
        owner=owner or _PUBLISHER,
        reader=_only_once(stream, place),
        digest=digest or (lambda: known),
    )


def _open_tarball(path: Path, limits: Limits) -> Repository:
    @contextmanager
    def reader() -> Iterator[TarStream]:
        try:
            with path.open("rb") as file:
                yield TarStream(file, str(path), limits)
        except OSError as error:
            raise SourceError(str(path), None, "a readable file", str(error.strerror or error)) from error

    with reader() as stream:
        name = _identify(str(path), stream.top_folder, path.name)
        commit = _commit_of(stream)
    repository = Repository(
        place=str(path),
        name=name,
        commit=commit or "",
        owner=_PUBLISHER,
        reader=reader,
        digest=lambda: _file_sha256(path),
    )
    repository.commit = commit or f"archive-{repository.fingerprint[:_SHOWN_DIGITS]}"
    return repository


def _open_folder(path: Path, limits: Limits) -> Repository:
    root = path.resolve()
    folder = Folder(root, limits)
    owner, _, remote = (git_remote(root) or "").rpartition("/")
    named = _COMMIT.fullmatch(root.name.rpartition("-")[2])
    commit = git_commit(root) or (named[0] if named else None)

    @contextmanager
    def reader() -> Iterator[Folder]:
        yield folder

    repository = Repository(
        place=str(path),
        name=_identify(str(path), root.name, remote),
        commit=commit or "",
        owner=owner or _PUBLISHER,
        reader=reader,
        digest=folder.digest,
    )
    repository.commit = commit or f"folder-{repository.fingerprint[:_SHOWN_DIGITS]}"
    return repository


def repository_named(name: str) -> RepositoryName | None:
    """Return what a name says that is a results repository's, None for any other."""
    match = _REPOSITORY_NAME.fullmatch(name)
    return RepositoryName(repository=match[1], round=f"{match[2]}-v{match[3]}") if match else None


def _identify(place: str, *names: str) -> RepositoryName:
    """Return what the first name that is a results repository's says."""
    for name in names:
        said = repository_named(name)
        if said:
            return said
    expected = "a name such as training_results_v5.0, hpc_results_v3.0 or inference_results_v5.1"
    raise SourceError(place, None, expected, " and ".join(printable(name) for name in names if name) or "none")


def _commit_of(stream: TarStream) -> str | None:
    candidates = (stream.comment or "", stream.top_folder.rpartition("-")[2])
    return next((text for text in candidates if _COMMIT.fullmatch(text)), None)


def _file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _only_once(stream: TarStream, place: str) -> _ReaderOpener:
    streams = [stream]

    @contextmanager
    def reader() -> Iterator[TarStream]:
        if not streams:
            raise SourceError(place, None, "one reading of a stream", "a second one")
        yield streams.pop()

    return reader
