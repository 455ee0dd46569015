"""What each host asked of us, kept on disk so that the next process keeps to it: when to ask again, one at a time.

How a request is sent belongs in `http`.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from pipelines.lake.locks import LockedError, exclusive_lock
from pipelines.lake.storage import StorageError, open_storage
from pipelines.sources.errors import SourceError

_LONGEST_PAUSE_SECONDS = 7 * 86_400.0
"""A host that asks for more is asked again after that: such a date is a mistake."""


class Pause(msgspec.Struct, frozen=True, kw_only=True):
    """Until when a host is left alone, and why."""

    host: str
    until: float
    """Seconds since 1970."""
    reason: str

    @property
    def until_in_words(self) -> str:
        """Return the time at which it may be asked again."""
        return datetime.fromtimestamp(self.until, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


class HostBook:
    """One file a host in a folder."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._storage = open_storage(str(folder))
        self._clock = clock

    @contextmanager
    def turn(self, host: str, wait_seconds: float) -> Iterator[None]:
        """Hold the right to ask the host while the context lasts; every other process and thread waits.

        Raises:
            SourceError: another one held it all the time that we may wait.
        """
        with _told_as_source(host), exclusive_lock(self._folder / f"{_file_stem(host)}.lock", wait_seconds):
            yield

    def pause(self, host: str, seconds: float, reason: str) -> Pause:
        """Leave the host alone for so long, unless it is to be left alone for longer already."""
        until = self._clock() + min(max(seconds, 0.0), _LONGEST_PAUSE_SECONDS)
        known = self.paused(host)
        if known is not None and known.until >= until:
            return known
        pause = Pause(host=host, until=until, reason=reason)
        self._storage.write(f"{_file_stem(host)}.json", msgspec.json.encode(pause))
        return pause

    def paused(self, host: str) -> Pause | None:
        """Return until when the host is left alone, None where it may be asked."""
        try:
            pause = msgspec.json.decode(self._storage.read(f"{_file_stem(host)}.json"), type=Pause)
        except (StorageError, msgspec.DecodeError):
            return None
        return pause if self._clock() < pause.until <= self._clock() + _LONGEST_PAUSE_SECONDS else None

    def seconds_left(self, pause: Pause) -> float:
        """Return how long the pause still lasts."""
        return max(0.0, pause.until - self._clock())


def _file_stem(host: str) -> str:
    """Return a name that is safe as a file's; hosts may have a port and any letters."""
    return f"host-{hashlib.sha256(host.encode()).hexdigest()[:16]}"


@contextmanager
def _told_as_source(host: str) -> Iterator[None]:
    try:
        yield
    except LockedError as error:
        raise SourceError(host, None, "to be asked by one of us at a time", str(error)) from error
