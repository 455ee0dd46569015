"""From a results repository to `raw.files`: its files are stored as they come, and read back one by one.

Which files are kept is the caller's to say; what they mean belongs in `parsing`.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime
from typing import Any

import polars as pl

from pipelines.lake import partitions
from pipelines.lake.row_groups import RowGroups
from pipelines.lake.storage import LakeError
from pipelines.lake.tables import Lake, PendingPartition
from pipelines.parsing.published import PublishedFile
from pipelines.schemas.core import Sources
from pipelines.schemas.raw import Files
from pipelines.sources.repository import KeptFile, Repository

_FACTS = ["round", "path", "kind", "sha256", "content_path"]
_FRAMES_A_BATCH, _MOST_ROWS = 8, 500
"""Rows are gathered until they make up that share of what is written at once, or are that many."""

_SMALL_BYTES = 16_384
_MOST_SMALL = 1_000
"""Contents of that length at most, and that many of them, are kept at hand."""


def store_repository(
    repository: Repository,
    lake: Lake,
    keep: Callable[[str], str | None],
    clock: Callable[[], datetime],
    *,
    code_version: str,
) -> pl.DataFrame:
    """Replace the round's partition of `raw.files` by what the repository holds now, a file in memory at a time.

    Args:
        repository: What to read.
        lake: Where to put it.
        keep: Takes a path inside the repository, gives the kind of file or null for one that no parser reads.
        clock: Gives the time that the bytes are said to be read at.
        code_version: Of `keep` and of the reader, for the partition's manifest.

    Returns:
        The round's one row of `core.sources`.

    Raises:
        SourceError: the repository cannot be read; the lake is as it was.
        StorageError: the lake cannot be written.
    """
    retrieved_at = clock().astimezone(UTC).isoformat(timespec="seconds")
    first_paths: dict[str, str] = {}
    file_count = size_bytes = 0
    with lake.writer("raw.files", repository.round, inputs={}, code_version=code_version) as pending:
        rows = _Rows(pending)
        for file in repository.files(keep):
            content_path = first_paths.setdefault(file.sha256, file.path)
            rows.add(_row(repository, file, content_path, retrieved_at))
            file_count += 1
            size_bytes += len(file.content)
        rows.flush()
        pending.inputs = {repository.source: repository.fingerprint}
    row = {
        "round": repository.round,
        "source": repository.source,
        "commit": repository.commit,
        "retrieved_at": retrieved_at,
        "licence": repository.licence,
        "file_count": file_count,
        "size_bytes": size_bytes,
        "skipped_count": repository.skipped_count,
    }
    return pl.DataFrame([row], schema={name: column.dtype for name, column in Sources.columns().items()})


def read_files(
    lake: Lake, partition: str, kinds: Collection[str] | None = None, rows: range | None = None
) -> Iterator[PublishedFile]:
    """Give the stored files of a round in the order of their paths, each with its bytes, in bounded memory.

    Args:
        lake: Where they are.
        partition: Round.
        kinds: Kinds of file to give; null for all.
        rows: Rows of the partition, counted from 0, to keep to; null for all.

    Raises:
        MissingPartitionError: the round is not in the lake.
    """
    with lake.open_partition("raw.files", partition) as groups:
        contents = _Contents(groups)
        for index, start in _starts_of_groups(groups, rows):
            for row, fact in enumerate(groups.read_group(index, _FACTS).iter_rows(named=True)):
                is_wanted = (kinds is None or fact["kind"] in kinds) and (rows is None or start + row in rows)
                if is_wanted:
                    yield _published(contents, index, row, fact)


def read_file(lake: Lake, partition: str, path: str) -> PublishedFile | None:
    """Return one stored file of a round, null where the round has none of that path.

    Raises:
        MissingPartitionError: the round is not in the lake.
    """
    with lake.open_partition("raw.files", partition) as groups:
        contents = _Contents(groups)
        index = contents.index_of(path)
        facts = groups.read_group(index, _FACTS).iter_rows(named=True) if index >= 0 else ()
        for row, fact in enumerate(facts):
            if fact["path"] == path:
                return _published(contents, index, row, fact)
    return None


def _published(contents: _Contents, index: int, row: int, fact: dict[str, Any]) -> PublishedFile:
    content = contents.of(index, row, fact["path"], fact["content_path"])
    return PublishedFile(fact["round"], fact["path"], fact["sha256"], content)


def _starts_of_groups(groups: RowGroups, rows: range | None) -> Iterator[tuple[int, int]]:
    """Give the row groups that hold any of the rows, each with the number of its first row."""
    start = 0
    for index, row_count in enumerate(groups.row_counts):
        stop = start + row_count
        if rows is None or (start < rows.stop and rows.start < stop):
            yield index, start
        start = stop


class _Contents:
    """Finds the bytes of a file, which another row of the partition may hold.

    Two row groups are kept at hand, and small contents: many rows refer to one, and to read one takes a whole group.
    """

    def __init__(self, groups: RowGroups) -> None:
        self._groups = groups
        self._starts: list[str] = []
        self._held: dict[int, pl.DataFrame] = {}
        self._small: dict[str, bytes] = {}

    def of(self, index: int, row: int, path: str, content_path: str) -> bytes:
        content = self._small.get(content_path)
        if content is None:
            is_its_own = content_path == path
            content = bytes(self._group(index)["content"][row]) if is_its_own else self._from_other(path, content_path)
            if len(content) <= _SMALL_BYTES:
                self._keep(content_path, content)
        return content

    def _keep(self, content_path: str, content: bytes) -> None:
        if len(self._small) == _MOST_SMALL:
            del self._small[next(iter(self._small))]
        self._small[content_path] = content

    def _from_other(self, path: str, content_path: str) -> bytes:
        holder = self._group(self.index_of(content_path))
        place = holder["path"].search_sorted(content_path)
        if place == holder.height or holder["path"][place] != content_path:
            raise LakeError(f"raw.files: {path}: expected its bytes in the row of {content_path}, found no such row")
        return bytes(holder["content"][place])

    def index_of(self, path: str) -> int:
        """Return the row group that holds `path` if any does, -1 before all: rows ascend by path."""
        if not self._starts:
            self._starts = [paths["path"][0] for paths in self._groups.iter_groups(["path"])]
        return bisect.bisect_right(self._starts, path) - 1

    def _group(self, index: int) -> pl.DataFrame:
        group = self._held.pop(index, None)
        if group is None:
            if len(self._held) == 2:
                del self._held[next(iter(self._held))]
            group = self._groups.read_group(index, ["path", "content"])
        self._held[index] = group
        return group


class _Rows:
    """Makes frames of several rows: one of a single row takes as long as to store its file."""

    def __init__(self, pending: PendingPartition) -> None:
        self._pending = pending
        self._schema = {name: column.dtype for name, column in Files.columns().items()}
        self._rows: list[dict[str, Any]] = []
        self._size_bytes = 0

    def add(self, row: dict[str, Any]) -> None:
        self._rows.append(row)
        self._size_bytes += len(row["content"] or b"")
        if self._size_bytes * _FRAMES_A_BATCH >= partitions.BATCH_BYTES or len(self._rows) == _MOST_ROWS:
            self.flush()

    def flush(self) -> None:
        self._pending.append(pl.DataFrame(self._rows, schema=self._schema))
        self._rows, self._size_bytes = [], 0


def _row(repository: Repository, file: KeptFile, content_path: str, retrieved_at: str) -> dict[str, Any]:
    return {
        "round": repository.round,
        "commit": repository.commit,
        "path": file.path,
        "kind": file.kind,
        "size_bytes": len(file.content),
        "sha256": file.sha256,
        "content_path": content_path,
        "content": file.content if content_path == file.path else None,
        "source": repository.source,
        "licence": repository.licence,
        "retrieved_at": retrieved_at,
    }
