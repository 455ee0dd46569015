"""Where the lake's objects are kept: whole objects under keys, replaced at once or not at all.

Which objects a table consists of belongs in `tables`; an object store takes its place behind `Storage`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, runtime_checkable

from pipelines.lake.drafts import DigestedFile

if TYPE_CHECKING:
    from pipelines.lake.locks import Holder

_DRAFT_ENDING = ".draft"
_LOCK_NAME = ".publish.lock"


class LakeError(Exception):
    """The lake cannot do what was asked; the message names the place, what was expected and what was found."""


class StorageError(LakeError):
    """An object cannot be read or written."""


class MissingObjectError(StorageError):
    """No object is stored under a key."""


class Draft(Protocol):
    """A file being written that becomes an object when it is published."""

    size_bytes: int

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of what was written so far, in hexadecimal."""

    def write(self, content: bytes) -> int:
        """Append `content`."""

    def flush(self) -> None:
        """Hand what was written to the operating system."""

    def reopen(self) -> BinaryIO:
        """Open what was written so far for reading."""

    def publish(self) -> None:
        """Make the file the object under its key, in place of the one there."""


class Storage(Protocol):
    """Whole objects under keys such as `core/runs/training-v5.0.parquet`.

    A reader sees an object wholly as it was or wholly as it is. Every method raises `StorageError`.
    """

    def read(self, key: str) -> bytes:
        """Return an object's bytes; `MissingObjectError` where there is none."""

    def open(self, key: str) -> BinaryIO:
        """Open an object for reading at any place; what is open stays as it was when the object is replaced."""

    def write(self, key: str, content: bytes) -> None:
        """Put `content` under `key`, in place of what is there."""

    def create(self, key: str, content: bytes) -> bool:
        """Put `content` under `key` unless an object is there; return whether it was put."""

    def draft(self, key: str) -> AbstractContextManager[Draft]:
        """Give a file to write into; it is thrown away unless it is published before the context ends."""

    def list(self, prefix: str) -> list[str]:
        """Return the keys directly under the folder `prefix`, sorted."""

    def delete(self, key: str) -> None:
        """Remove the object under `key`, if there is one."""

    def size(self, key: str) -> int | None:
        """Return an object's length in bytes; null where there is no object."""

    def url(self, key: str) -> str:
        """Return where the object is, for messages."""

    def exclusive(self, prefix: str, *others: str) -> AbstractContextManager[None]:
        """Keep other writers from publishing under the folder `prefix` while the context lasts.

        Whoever publishes under one of the folders `others` holds this one.
        """

    def sweep(self, prefix: str) -> None:
        """Remove what killed writers left under the folder `prefix`."""


@runtime_checkable
class SharedStorage(Storage, Protocol):
    """A storage that machines share, with what they need to take turns."""

    def lock(
        self, name: str, wait_seconds: float, on_wait: Callable[[Holder | None], None]
    ) -> AbstractContextManager[None]:
        """Hold the lock of that name; `on_wait` is told once who else holds it."""

    def digest(self, key: str) -> str:
        """Return the SHA-256 of an object's bytes, in hexadecimal."""


class LocalDraft(DigestedFile):
    """A file beside the object that it becomes, hidden and locked while its writer lives."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self.path, file = _locked_file(target)
        super().__init__(file, partial(_named, target, "written"))

    def reopen(self) -> BinaryIO:
        """Open what was written so far for reading."""
        self.flush()
        return self.path.open("rb")

    def publish(self) -> None:
        """Sync the file and rename it over the object."""
        self.flush()
        publish_file(self.path, self._target)

    def discard(self) -> None:
        """Close the file and remove it unless it was published."""
        with suppress(FileNotFoundError):
            self.path.unlink()
        super().discard()


class LocalStorage:
    """Objects as files of a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self, key: str) -> bytes:
        """Return an object's bytes."""
        path = self._path(key)
        with _named(path, "read"):
            return path.read_bytes()

    def open(self, key: str) -> BinaryIO:
        """Open an object for reading at any place."""
        path = self._path(key)
        with _named(path, "read"):
            return path.open("rb")

    def write(self, key: str, content: bytes) -> None:
        """Put `content` under `key`, in place of what is there."""
        with self.draft(key) as draft:
            draft.write(content)
            draft.publish()

    def create(self, key: str, content: bytes) -> bool:
        """Put `content` under `key` unless an object is there; return whether it was put."""
        path = self._path(key)
        with self.draft(key) as draft, _named(path, "written"):
            draft.write(content)
            draft.flush()
            _sync(draft.path)
            try:
                path.hardlink_to(draft.path)
            except FileExistsError:
                return False
            _sync(path.parent)
            return True

    @contextmanager
    def draft(self, key: str) -> Iterator[LocalDraft]:
        """Give a file to write into; it is thrown away unless it is published before the context ends."""
        path = self._path(key)
        with _named(path, "written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = LocalDraft(path)
        try:
            yield draft
        finally:
            draft.discard()

    def list(self, prefix: str) -> list[str]:
        """Return the keys directly under the folder `prefix`, sorted."""
        folder = self._path(prefix)
        with _named(folder, "read"):
            if not folder.is_dir():
                return []
            names = [entry.name for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False)]
        return sorted(f"{prefix}/{name}" for name in names if not name.startswith("."))

    def delete(self, key: str) -> None:
        """Remove the object under `key`, if there is one."""
        path = self._path(key)
        with _named(path, "removed"):
            path.unlink(missing_ok=True)

    def size(self, key: str) -> int | None:
        """Return an object's length in bytes."""
        path = self._path(key)
        try:
            with _named(path, "read"):
                return path.stat().st_size
        except MissingObjectError:
            return None

    def url(self, key: str) -> str:
        """Return the file's path."""
        return str(self._path(key))

    @contextmanager
    def exclusive(self, prefix: str, *others: str) -> Iterator[None]:
        """Hold the folder's lock, which ends with its holder."""
        folder = self._path(prefix)
        with _named(folder, "written"):
            folder.mkdir(parents=True, exist_ok=True)
            lock = (folder / _LOCK_NAME).open("wb")
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def sweep(self, prefix: str) -> None:
        """Remove the drafts under the folder `prefix` whose writers are gone."""
        folder = self._path(prefix)
        if not folder.is_dir():
            return
        for path in sorted(folder.glob(f".*{_DRAFT_ENDING}")):
            _remove_unless_locked(path)

    def _path(self, key: str) -> Path:
        return self.root.joinpath(*check_key(key).split("/"))


@contextmanager
def scratch_folder(target: Path) -> Iterator[Path]:
    """Give a hidden folder beside `target`, locked while its writer lives and removed with all in it at the end.

    What killed writers left is removed first.

    Raises:
        StorageError: the folder cannot be made.
    """
    with _named(target, "written"):
        target.parent.mkdir(parents=True, exist_ok=True)
    sweep_scratch(target)
    with _named(target, "written"):
        folder, descriptor = _locked_folder(target)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def sweep_scratch(target: Path) -> None:
    """Remove the hidden folders beside `target` whose writers are gone."""
    for left in sorted(target.parent.glob(f".{target.name}.*{_DRAFT_ENDING}")):
        _remove_unless_locked(left)


def publish_file(draft: Path, target: Path) -> None:
    """Sync a finished file and rename it over `target`.

    Raises:
        StorageError: it cannot be done; `target` stays as it was.
    """
    with _named(target, "written"):
        _sync(draft)
        draft.replace(target)
        _sync(target.parent)


SHARED = "s3://"
"""How the location of a storage starts that machines share."""


def open_storage(location: str) -> Storage:
    """Return the storage at `location`: a folder, or a bucket and prefix as `s3://bucket/prefix`.

    Raises:
        ConfigurationError: what the environment says of the object store cannot be used.
    """
    if location.startswith(SHARED):
        from pipelines.lake.storage_objects import open_object_storage  # noqa: PLC0415 - a folder needs no client

        return open_object_storage(location)
    return LocalStorage(Path(location))


def check_key(key: str) -> str:
    """Return a key as it is.

    Raises:
        StorageError: it is none.
    """
    parts = key.split("/")
    if any(not part or part.startswith(".") or "\\" in part or not part.isprintable() for part in parts):
        raise StorageError(f"{key!r}: not a key: expected names separated by slashes, none starting with a dot")
    return key


def _locked_file(target: Path) -> tuple[Path, BinaryIO]:
    """Create a hidden file beside `target` and lock it.

    A sweeper can take the file for a dead writer's between its creation and the lock; then another one is made.
    """
    while True:
        path = _draft_path(target)
        file = path.open("xb")
        fcntl.flock(file, fcntl.LOCK_EX)
        if path.exists():
            return path, file
        file.close()


def _locked_folder(target: Path) -> tuple[Path, int]:
    while True:
        path = _draft_path(target)
        path.mkdir()
        with suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if path.exists():
                return path, descriptor
            os.close(descriptor)


def _draft_path(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(8)}{_DRAFT_ENDING}")


def _remove_unless_locked(path: Path) -> None:
    with suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        except BlockingIOError:
            return
        finally:
            os.close(descriptor)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _named(path: Path, action: str) -> Iterator[None]:
    """Turn the operating system's error into one that names the file."""
    try:
        yield
    except FileNotFoundError as error:
        raise MissingObjectError(f"{path}: no such file") from error
    except OSError as error:
        free = " (the disk is full)" if error.errno == errno.ENOSPC else ""
        raise StorageError(f"{path}: cannot be {action}: {error.strerror or error}{free}") from error
