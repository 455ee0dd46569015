"""What every station works with: the settings, the lake, the snapshot, the lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property

from pipelines.cluster.permits import withdraw_all
from pipelines.cluster.spreading import Spread, one_by_one
from pipelines.lake.locks import Holder, refresh_lock
from pipelines.lake.storage import sweep_scratch
from pipelines.lake.tables import Lake
from pipelines.quality.apart import SUITES
from pipelines.refreshing.live import LiveSources
from pipelines.refreshing.migration import carry_over
from pipelines.settings import Settings
from pipelines.snapshot import Snapshot


class Workshop:
    """Handed to the Dagster assets as a resource; one for a process."""

    def __init__(self, settings: Settings, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.settings = settings
        self.clock = clock
        """Gives the time that bytes are said to be read at."""
        self.live: LiveSources | None = None
        """The hosts, while a live refresh lasts; without one no refresh asks any."""
        self.only_stale = False
        """Whether stations keep what they would make again: in a refresh; a rerun by hand does the work."""
        self.spread: Spread = one_by_one
        """Works off the parts of a large round."""

    @cached_property
    def lake(self) -> Lake:
        """Return the lake of the settings."""
        return Lake.at(self.settings.lake, self.clock)

    @cached_property
    def snapshot(self) -> Snapshot:
        """Return the embedded snapshot."""
        return Snapshot(self.settings.snapshot)

    @contextmanager
    def refreshing(self, on_wait: Callable[[Holder | None], None] = lambda holder: None) -> Iterator[None]:
        """Hold the lock for a whole refresh, whose stations keep what is fresh.

        Args:
            on_wait: Told who holds the lock when it is not free.

        Raises:
            LockedError: another process still holds it after the time that the settings allow.
            LakeVersionError: a newer program wrote the lake.
        """
        with self._locked(on_wait):
            sweep_scratch(self.settings.warehouse)
            carry_over(self.lake)
            self.only_stale = True
            try:
                yield
            finally:
                self.only_stale = False
                SUITES.stop()

    @contextmanager
    def asking_hosts(self, tell: Callable[[str], None]) -> Iterator[None]:
        """Let the refresh within be a live one.

        Args:
            tell: Takes a line on what is tried again.
        """
        with LiveSources(self.settings, tell) as self.live:
            try:
                yield
            finally:
                self.live = None

    @contextmanager
    def live_sources(self) -> Iterator[LiveSources]:
        """Give the hosts of the live refresh, or of their own for a station that is run by hand."""
        if self.live is not None:
            yield self.live
            return
        with LiveSources(self.settings, lambda message: None) as live:
            yield live

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep every other writer out while one station works; within a refresh its lock does."""
        if self.only_stale:
            yield
            return
        with self._locked(lambda holder: None):
            yield

    @contextmanager
    def _locked(self, on_wait: Callable[[Holder | None], None]) -> Iterator[None]:
        """Hold the lock; workers that a killed refresh left at work write no more."""
        with refresh_lock(self.lake.storage, self.settings.lock, self.settings.lock_seconds, on_wait):
            withdraw_all(self.lake.storage)
            yield
