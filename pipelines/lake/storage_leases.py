"""Locks that machines share: an object says who holds it, and its holder renews it while it lives.

Clocks of different machines are not compared: a holder is dead when its object stayed as it was for a whole lease.
"""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta

import msgspec

from pipelines.lake.locks import Holder, LockedError, this_process
from pipelines.lake.storage import MissingObjectError, StorageError
from pipelines.lake.storage_bucket import Bucket, ChangedError, Stored

LEASE_SECONDS = 30.0
"""How long a lock outlives a holder that no longer renews it."""

_RENEWALS_PER_LEASE = 3
_RETRY_SECONDS = 0.2
_WORST_SKEW = timedelta(minutes=15)
"""How far this clock can be from the store's: S3 refuses requests that are signed with a clock further off."""


class LostLockError(StorageError):
    """A lock could not be renewed in time, so that another may hold it now."""


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    """What a lock's object holds; without a holder the lock is free."""

    token: str
    renewals: int
    lease_seconds: float
    holder: Holder | None


class Lease:
    """A lock that is held, renewed from a thread of its own."""

    def __init__(self, bucket: Bucket, key: str, record: _Record, version: str) -> None:
        self._bucket = bucket
        self._key = key
        self._record = record
        self._version = version
        self._renewed = time.monotonic()
        self._is_lost = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True, name=f"lease {key}")
        self._thread.start()

    def check(self) -> None:
        """Raise `LostLockError` unless the lock is held for sure."""
        if self._is_lost or time.monotonic() - self._renewed >= self._record.lease_seconds:
            raise LostLockError(
                f"{self._bucket.url(self._key)}: this lock was not renewed for {self._record.lease_seconds:g} s: "
                "another process may hold it now; run the command again, what is in the lake is whole"
            )

    def end(self) -> None:
        """Let the lock go."""
        self._ended.set()
        self._thread.join()
        if not self._is_lost:
            with suppress(StorageError):
                free = msgspec.structs.replace(self._record, holder=None)
                self._bucket.replace(self._key, msgspec.json.encode(free), self._version)

    def _keep(self) -> None:
        while not self._ended.wait(self._record.lease_seconds / _RENEWALS_PER_LEASE):
            asked = time.monotonic()
            record = msgspec.structs.replace(self._record, renewals=self._record.renewals + 1)
            try:
                self._version = self._put(record)
                self._record, self._renewed = record, asked
            except ChangedError:
                self._is_lost = True
                return
            except StorageError:
                continue

    def _put(self, record: _Record) -> str:
        content = msgspec.json.encode(record)
        try:
            return self._bucket.replace(self._key, content, self._version)
        except ChangedError:
            # A renewal whose answer was lost, and that was sent again, finds its own object.
            found = self._bucket.get(self._key)
            if found.content == content:
                return found.version
            raise


@contextmanager
def leased_lock(
    bucket: Bucket,
    key: str,
    wait_seconds: float,
    *,
    lease_seconds: float = LEASE_SECONDS,
    on_wait: Callable[[Holder | None], None] = lambda holder: None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Iterator[Lease]:
    """Hold the lock under `key` while the context lasts.

    Args:
        bucket: Where the lock's object is.
        key: Its key; it is created where it is missing and never removed.
        wait_seconds: How long to wait for another holder.
        lease_seconds: How long the lock lasts without being renewed.
        on_wait: Told once who holds the lock when it is not free at first.
        clock: Gives the time that others are told the lock is held since.

    Raises:
        LockedError: another process still holds it; the message says which.
        LostLockError: it was lost before the context ended without an error.
        StorageError: the store cannot be asked.
    """
    record = _Record(token=secrets.token_hex(16), renewals=0, lease_seconds=lease_seconds, holder=this_process(clock))
    lease = Lease(bucket, key, record, _acquire(bucket, key, record, wait_seconds, on_wait, clock))
    try:
        yield lease
        lease.check()
    finally:
        lease.end()


def _acquire(
    bucket: Bucket,
    key: str,
    record: _Record,
    wait_seconds: float,
    on_wait: Callable[[Holder | None], None],
    clock: Callable[[], datetime],
) -> str:
    """Return the version of the lock's object once it is ours."""
    start, watched, watched_since, told = time.monotonic(), "", 0.0, False
    while True:
        found = _look(bucket, key)
        if found is not None and found.version != watched:
            watched, watched_since = found.version, time.monotonic()
        other = _decode(found) if found else None
        if found is None or other is None or _is_over(other, found, time.monotonic() - watched_since, clock()):
            version = _take(bucket, key, record, found)
            if version is not None:
                return version
            continue
        if not told:
            on_wait(other.holder)
            told = True
        if time.monotonic() - start >= wait_seconds:
            raise LockedError(bucket.url(key), other.holder, wait_seconds)
        time.sleep(_RETRY_SECONDS * random.uniform(1, 2))  # noqa: S311 - so that waiters do not ask in step


def _look(bucket: Bucket, key: str) -> Stored | None:
    try:
        return bucket.get(key)
    except MissingObjectError:
        return None


def _take(bucket: Bucket, key: str, record: _Record, found: Stored | None) -> str | None:
    """Put our record in place of what was found, null where another was faster."""
    content = msgspec.json.encode(record)
    try:
        return bucket.create(key, content) if found is None else bucket.replace(key, content, found.version)
    except ChangedError:
        now = _look(bucket, key)
        # The answer to a put can be lost; the client sends it again and finds its own object there.
        return now.version if now is not None and now.content == content else None


def _is_over(other: _Record, found: Stored, unchanged_seconds: float, now: datetime) -> bool:
    """Whether the lock is free, or its holder dead."""
    lease = timedelta(seconds=other.lease_seconds)
    return (
        other.holder is None or unchanged_seconds > other.lease_seconds or now - found.changed_at > lease + _WORST_SKEW
    )


def _decode(found: Stored) -> _Record | None:
    """Return what the lock says, null where that cannot be read: such an object holds nobody off."""
    try:
        return msgspec.json.decode(found.content, type=_Record)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
