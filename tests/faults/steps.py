"""Every change that a process makes to its data folder, counted as it is made: to be killed before, or looked at.

Opens for writing, renames, links, removals and folders are seen through the interpreter's audit events; `fsync` and
writes to drafts, which have none, through the functions themselves.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipelines.lake import storage
from pipelines.lake.queries import query

_CHANGING_EVENTS = {"os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}
_WRITING_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Steps:
    """Counts the changes under a folder; kills the process before one of them, or holds the folder against a list."""

    def __init__(self, data: Path, warehouse: Path, kill_at: int | None, allowed: str | None) -> None:
        self.kinds: list[str] = []
        self.complaints: list[str] = []
        self._data = str(data)
        self._kill_at = kill_at
        self._watched = Watched(data, warehouse, json.loads(Path(allowed).read_text())) if allowed else None
        self._busy = False

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count while the context lasts; an audit hook cannot be taken off, so one process counts once."""
        sys.addaudithook(self._hear)
        whole_fsync, whole_write = os.fsync, storage.LocalDraft.write
        os.fsync = self._fsync  # type: ignore[assignment]
        storage.LocalDraft.write = lambda draft, content: self._write(whole_write, draft, content)  # type: ignore[method-assign]
        try:
            yield
        finally:
            os.fsync, storage.LocalDraft.write = whole_fsync, whole_write  # type: ignore[method-assign]
            self._busy = True

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _CHANGING_EVENTS or (event == "open" and is_writing(arguments[1], arguments[2])):
            path = arguments[1] if event in ("os.rename", "os.link") else arguments[0]
            if isinstance(path, str | os.PathLike) and os.fspath(path).startswith(self._data):
                self._step(event, os.fspath(path))

    def _fsync(self, descriptor: int) -> None:
        """Count it and leave it out: what a killed process wrote is kept by the system without it."""
        self._step("fsync", str(Path(f"/proc/self/fd/{descriptor}").readlink()))

    def _write(self, whole: Callable[[Any, bytes], int], draft: Any, content: bytes) -> int:
        def half() -> None:
            whole(draft, bytes(memoryview(content))[: len(content) // 2])
            draft.flush()

        self._step("write", str(draft.path), half)
        return whole(draft, content)

    def _step(self, event: str, path: str, amid: Callable[[], None] = lambda: None) -> None:
        if self._busy:
            return
        self._busy = True
        try:
            self.kinds.append(f"{event} {kind_of(path.removeprefix(self._data))}")
            # Of many writes to one draft, which no reader sees, the first is enough to look at.
            if self._watched and self.kinds[-1:] != self.kinds[-2:-1]:
                self.complaints += [f"before {self.kinds[-1]}: {told}" for told in self._watched.complaints()]
            if len(self.kinds) == self._kill_at:
                amid()
                os.kill(os.getpid(), signal.SIGKILL)
        finally:
            self._busy = False


def is_writing(mode: str | None, flags: int) -> bool:
    """Whether a file is opened to be written."""
    return bool(flags & _WRITING_FLAGS) if mode is None else any(letter in mode for letter in "wax+")


def kind_of(path: str) -> str:
    """Return what a file is: an object or the draft of one, of which layer, of which ending."""
    parts = [part for part in path.split("/") if part]
    name = parts[-1] if parts else ""
    what = "draft" if name.endswith(".draft") or any(part.endswith(".draft") for part in parts) else "object"
    layer = next((part for part in parts if part in ("raw", "core", "mart", "inputs")), parts[0] if parts else "")
    quarantine = " of quarantine" if any(part.endswith("__quarantine") for part in parts) else ""
    ending = next((ending for ending in (".parquet", ".json", ".duckdb", ".lock") if ending in name), "folder")
    return f"{what} {layer.partition('.')[0] or 'warehouse'}{quarantine} {ending}"


class Watched:
    """A data folder that is looked at after every change, as one who reads it at that moment would find it."""

    def __init__(self, data: Path, warehouse: Path, allowed: dict[str, list[str]]) -> None:
        self._lake = data / "lake"
        self._warehouse = warehouse
        self._allowed = allowed
        self._digests: dict[tuple[str, int, int, int], str] = {}

    def complaints(self) -> list[str]:
        """Return what a reader would find that is neither the state before nor the state after."""
        found = []
        for path in sorted(self._lake.rglob("*.parquet")):
            name = path.relative_to(self._lake).as_posix()
            if not path.name.startswith(".") and self._sha256(path) not in self._allowed.get(name, []):
                found.append(f"{name} is neither as it was nor as it will be")
        found += [told for path in sorted(self._lake.rglob("*.json")) for told in self._against_manifest(path)]
        if self._warehouse.exists():
            digest = self._sha256(self._warehouse)
            if digest not in self._allowed["warehouse.duckdb"]:
                query(self._warehouse, "SELECT count(*) FROM mart.results")
                self._allowed["warehouse.duckdb"].append(digest)
        return found

    def _against_manifest(self, path: Path) -> Iterator[str]:
        """A manifest that speaks of other rows than stand beside it would pass a stale partition off as fresh."""
        table, is_hidden = path.parent, path.name.startswith(".")
        if is_hidden or table.parent.parent != self._lake:
            return
        told = json.loads(path.read_bytes())
        beside = {
            "sha256": table / f"{path.stem}.parquet",
            "quarantine_sha256": table.with_name(f"{table.name}__quarantine") / f"{path.stem}.parquet",
        }
        for key, rows in beside.items():
            digest = self._sha256(rows) if rows.exists() else None
            if told[key] != digest:
                yield f"{path.relative_to(self._lake)} says {key} {told[key]}, beside it is {digest}"

    def _sha256(self, path: Path) -> str:
        status = path.stat()
        key = (str(path), status.st_ino, status.st_mtime_ns, status.st_size)
        if key not in self._digests:
            self._digests[key] = hashlib.sha256(path.read_bytes()).hexdigest()
        return self._digests[key]
