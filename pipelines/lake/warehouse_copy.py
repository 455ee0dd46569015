"""The warehouse of a lake that machines share: published under a key of the lake, kept on each machine as a copy.

How the file is built belongs in `warehouse`. The path that a machine opens is a link to its copy, which is named by its
hash. No schema is imported here, so that an answer comes in under a second.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pipelines.lake.storage import (
    MissingObjectError,
    SharedStorage,
    Storage,
    StorageError,
    open_storage,
    publish_file,
    scratch_folder,
)

KEY = "warehouse/warehouse.duckdb"
_CHUNK_BYTES = 8 << 20
_KEPT_SECONDS = 3600.0
"""How long an older copy stays for a process that is about to open it."""


def current_warehouse(location: str, path: Path) -> Path:
    """Return the warehouse's file, which is brought up to date first where the lake is shared.

    Args:
        location: Where the lake is, as in the setting RACKRECON_LAKE.
        path: Where this machine has the warehouse; there is no file where none was published.

    Raises:
        StorageError: the lake cannot be asked, or the copy cannot be written.
    """
    storage = open_storage(location)
    if isinstance(storage, SharedStorage):
        _bring_up_to_date(storage, path)
    return path


@contextmanager
def new_warehouse(storage: Storage, path: Path) -> Iterator[Path]:
    """Give the path to build the warehouse at; when the context ends without an error it is published.

    Args:
        storage: Where the lake is.
        path: Where this machine has the warehouse.

    Raises:
        StorageError: it cannot be published; what was published before stays.
    """
    if not isinstance(storage, SharedStorage):
        yield path
        return
    with scratch_folder(path) as folder:
        built = folder / path.name
        yield built
        with storage.exclusive(KEY.rpartition("/")[0]), storage.draft(KEY) as draft:
            with built.open("rb") as file:
                for chunk in _chunks(file):
                    draft.write(chunk)
            draft.publish()
            sha256 = draft.sha256
        _keep(built, path, sha256)
    storage.sweep(KEY.rpartition("/")[0])


def _bring_up_to_date(storage: SharedStorage, path: Path) -> None:
    try:
        sha256 = storage.digest(KEY)
    except MissingObjectError:
        # What lies there is of another lake, or of this one before it was emptied.
        path.unlink(missing_ok=True)
        return
    if _copy_path(path, sha256) == _target(path):
        return
    with scratch_folder(path) as folder:
        fetched = folder / path.name
        if not _copy_path(path, sha256).is_file():
            sha256 = _fetch(storage, fetched)
        _keep(fetched, path, sha256)


def _fetch(storage: Storage, target: Path) -> str:
    """Write what is published now into `target` and return its SHA-256."""
    digest = hashlib.sha256()
    with storage.open(KEY) as source, target.open("wb") as file:
        for chunk in _chunks(source):
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def _keep(built: Path, path: Path, sha256: str) -> None:
    """Make `built` the copy of that hash, unless there is one, and let `path` lead to it."""
    copy = _copy_path(path, sha256)
    try:
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.is_file():
            publish_file(built, copy)
        link = built.with_name(f"{path.name}.link-{secrets.token_hex(4)}")
        link.symlink_to(copy)
        link.replace(path)
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}") from error
    _forget_older(copy)


def _forget_older(copy: Path) -> None:
    for other in copy.parent.glob("*.duckdb"):
        with suppress(FileNotFoundError):
            if other != copy and time.time() - other.stat().st_mtime > _KEPT_SECONDS:
                other.unlink()


def _copy_path(path: Path, sha256: str) -> Path:
    return path.with_name(f".{path.name}.copies") / f"{sha256}.duckdb"


def _target(path: Path) -> Path | None:
    """Return the copy that the path leads to, null where it is a file of its own or leads nowhere."""
    return path.readlink() if path.is_symlink() and path.is_file() else None


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK_BYTES):
        yield chunk
