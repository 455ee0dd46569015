"""How far a refresh is and about how long it still takes, from what such parts take and from its own pace so far.

What is said of it belongs in `_cli`; nothing is decided by an estimate.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

SNAPSHOT_SECONDS = 1.0
ARCHIVE_SECONDS = 7.0
HOST_SECONDS = 30.0
ANSWERS_SECONDS = 12.0
"""What a part took on two cores of 2023; the pace of the run itself corrects it."""

START_SECONDS = 4.0
"""What loading the machinery takes, before the first part."""

_PRIOR_SECONDS = 10.0
"""How much of a run has to be seen before its own pace counts as much as what was measured."""

_LEAST_SECONDS = 1.0


@dataclass(frozen=True)
class Standing:
    """Where a refresh stands as one of its parts begins."""

    number: int
    """The part that begins, counted from 1."""
    total: int
    seconds_left: float

    def __str__(self) -> str:
        return f"{self.number} of {self.total}, about {self.seconds_left:.0f} s left"


Show = Callable[[Standing], None]


class Course:
    """The parts of a refresh that have work, in the order in which they begin."""

    def __init__(self, show: Show, clock: Callable[[], float] = time.monotonic) -> None:
        """Start the clock.

        Args:
            show: Takes where the refresh stands whenever a part begins.
            clock: Gives seconds.
        """
        self._show = show
        self._clock = clock
        self._start = clock()
        self._expected: dict[str, float] = {}
        self._begun: set[str] = set()
        self._ended_seconds = START_SECONDS
        self._pace = 1.0

    def expect(self, name: str, seconds: float) -> None:
        """Count on a part that takes so long where such parts were measured."""
        self._expected[name] = seconds

    def begin(self, name: str) -> None:
        """Show where the refresh stands now that this part begins."""
        self._begun.add(name)
        ahead = sum(seconds for part, seconds in self._expected.items() if part not in self._begun)
        whole = self._pace * (START_SECONDS + sum(self._expected.values()))
        left = max(whole - self._elapsed, self._pace * ahead, _LEAST_SECONDS)
        self._show(Standing(len(self._begun), len(self._expected), left))

    def end(self, name: str) -> None:
        """Learn from a part that ended how this run compares with what was measured."""
        self._ended_seconds += self._expected[name]
        self._pace = (self._elapsed + _PRIOR_SECONDS) / (self._ended_seconds + _PRIOR_SECONDS)

    @property
    def _elapsed(self) -> float:
        return self._clock() - self._start
