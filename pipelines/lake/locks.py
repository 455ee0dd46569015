"""One refresh at a time: a lock file that says who holds it and that ends with its holder.

What is done under the lock belongs to the caller.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

from pipelines.lake.storage import LakeError, SharedStorage, Storage, StorageError

REFRESH = "refresh"
"""Name of the lock whose holder alone may refresh a lake that machines share."""

_RETRY_SECONDS = 0.1
_LONGEST_COMMAND = 500


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a lock."""

    pid: int
    host: str
    since: str
    command: str

    def __str__(self) -> str:
        """Return the holder as words for a message."""
        return f"process {self.pid} on {self.host} since {self.since} ({self.command})"


class LockedError(LakeError):
    """Another process holds the lock."""

    def __init__(self, place: Path | str, holder: Holder | None, waited_seconds: float) -> None:
        super().__init__(
            f"{place}: held by {holder or 'a process that left no name'}; "
            f"waited {waited_seconds:g} s: try again when it has ended"
        )
        self.holder = holder


@contextmanager
def exclusive_lock(
    path: Path,
    wait_seconds: float,
    *,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    on_wait: Callable[[Holder | None], None] = lambda holder: None,
) -> Iterator[None]:
    """Hold the lock at `path` while the context lasts.

    The operating system frees the lock of a dead process, so what such a one wrote into the file is no obstacle.

    Args:
        path: The lock file; it is created where it is missing and never removed.
        wait_seconds: How long to wait for another holder.
        clock: Gives the time that others are told the lock is held since.
        on_wait: Told once who holds the lock when it is not free at first.

    Raises:
        LockedError: another process still holds it; the message says which.
        StorageError: the file cannot be created.
    """
    with _open_lock_file(path) as file:
        _acquire(file, path, wait_seconds, on_wait)
        _say(file, msgspec.json.encode(this_process(clock)))
        try:
            yield
        finally:
            _say(file, b"")


def this_process(clock: Callable[[], datetime]) -> Holder:
    """Return what is to be told of this process as a holder since now."""
    return Holder(
        pid=os.getpid(),
        host=socket.gethostname(),
        since=clock().isoformat(timespec="seconds"),
        command=shlex.join(sys.argv)[:_LONGEST_COMMAND],
    )


def read_holder(path: Path) -> Holder | None:
    """Return who the lock file says holds it; null where it says nothing."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Holder)
    except (OSError, msgspec.DecodeError):
        return None


def refresh_lock(
    storage: Storage,
    path: Path,
    wait_seconds: float,
    on_wait: Callable[[Holder | None], None] = lambda holder: None,
) -> AbstractContextManager[None]:
    """Hold the right to refresh a lake: in the lake itself where machines share it, else at `path`.

    Args:
        storage: Where the lake is.
        path: The lock file of a lake in a folder.
        wait_seconds: How long to wait for another holder.
        on_wait: Told once who holds the lock when it is not free at first.

    Raises:
        LockedError: another process still holds it; the message says which.
        StorageError: the lock cannot be taken, or was lost.
    """
    if isinstance(storage, SharedStorage):
        return storage.lock(REFRESH, wait_seconds, on_wait)
    return exclusive_lock(path, wait_seconds, on_wait=on_wait)


def _open_lock_file(path: Path) -> BinaryIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("r+b" if path.exists() else "a+b", buffering=0)
    except OSError as error:
        raise StorageError(f"{path}: the lock file cannot be opened: {error.strerror}") from error


def _acquire(file: BinaryIO, path: Path, wait_seconds: float, on_wait: Callable[[Holder | None], None]) -> None:
    start, told = time.monotonic(), False
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            holder = read_holder(path)
        if not told:
            on_wait(holder)
            told = True
        if time.monotonic() - start >= wait_seconds:
            raise LockedError(path, holder, wait_seconds)
        time.sleep(_RETRY_SECONDS)


def _say(file: BinaryIO, content: bytes) -> None:
    """Write a holder's name; on a full disk the lock is held without one."""
    with suppress(OSError):
        file.seek(0)
        file.truncate()
        file.write(content)
