"""Events of which the same texts come again and again, but for the time: each is decoded once.

What is known of an event by its text, and what is read of it then, belongs here; finding and decoding texts does not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipelines.parsing._log_json import Event
from pipelines.parsing._log_lines import Flags, Located, Offsets
from pipelines.parsing._log_shapes import Decode, KnownRows, RowKind, Shapes, no_rows
from pipelines.parsing._log_slices import ArrowSlices, PlainSlices, Slices, arrow
from pipelines.parsing._log_usual import (
    ANY_TIME_MS,
    SHORTEST,
    TAIL_AT,
    WITH_ANY_TIME,
    Digits,
    letters_about_keys,
    usual_heads,
    usual_letters,
)

KnownValue = tuple[str, Any]
"""Key and value of an event."""

_UNKNOWN, _UNREAD, _VALUE = range(3)
"""What is known of an event: not all that is read of it; that nothing is read; its value."""

_FEWEST_WORTHWHILE = 16
_MOST_KNOWN = 50_000
_BYTES_FOR_ARROW = 50_000_000
"""To load Arrow is worth its time where there is more than this to read."""


@dataclass(frozen=True, slots=True)
class Parted:
    """What is known of event texts before they are decoded."""

    is_known: Flags
    """For each text, whether no more of it is read than stands here."""
    values: list[KnownValue]
    value_places: Offsets
    """Places among the texts of the events that have these values."""
    rows: list[KnownRows]
    """Of each kind, by their places among the texts."""


class KnownEvents:
    """Parts events whose texts are known, but for the time or all digits, from others.

    What follows the time in a text of the usual form, its tail, tells whether it is an event and which. So one text is
    decoded for all that share the tail; of measurements, whose tails differ in numbers, for all that share its shape.
    """

    def __init__(
        self, decode: Decode, kinds: Sequence[RowKind], in_full: Collection[str], by_value: Collection[str]
    ) -> None:
        """Take kinds of rows, keys of other events that are read as a whole, and of those of which the value is."""
        self._decode = decode
        self._in_full = frozenset(in_full).union(*(kind.keys for kind in kinds))
        self._by_value = by_value
        self._kinds = kinds
        self._shapes = Shapes(decode, kinds)
        self._letters_of_rows = np.unique([usual_letters(key) for kind in kinds for key in kind.keys])
        self._bytes_read = 0
        self._forget(_MOST_KNOWN)

    def _forget(self, capacity: int) -> None:
        self._numbers: dict[bytes, int] = {}
        self._codes = np.empty(capacity, np.int8)
        self._values: dict[int, KnownValue] = {}

    def part(self, content: bytes, located: Located) -> Parted:
        """Return what is known of the located texts."""
        # The last texts may end before their keys could.
        whole_count = int(located.starts.searchsorted(len(content) - SHORTEST, "right"))
        if whole_count < _FEWEST_WORTHWHILE:
            return nothing_known(located, self._kinds)
        starts, ends = located.starts[:whole_count], located.ends[:whole_count]
        places = (ends - starts >= SHORTEST).nonzero()[0]
        is_usual, digits = usual_heads(content, starts[places])
        if not is_usual.all():
            usual = is_usual.nonzero()[0]
            places, digits = places[usual], digits.only(usual)
        tails = _Tails(places, starts[places] + TAIL_AT, ends[places], digits)

        letters = letters_about_keys(content, starts[places])
        may_be_rows = np.zeros(len(places), np.bool_)
        for letters_of_key in self._letters_of_rows:
            may_be_rows |= letters == letters_of_key
        slices = self._slices(len(content))
        of_rows, others = tails.at(may_be_rows.nonzero()[0]), tails.at((~may_be_rows).nonzero()[0])
        known_rows, rows = self._shapes.read(content, of_rows.starts, of_rows.ends, of_rows.digits, slices)

        numbers = self._numbers_of(slices.of(content, others.starts, others.ends))
        codes = self._codes[numbers]
        values = (codes == _VALUE).nonzero()[0]
        is_known = np.zeros(len(located.starts), np.bool_)
        is_known[others.places] = codes != _UNKNOWN
        is_known[of_rows.places] = known_rows
        return Parted(
            is_known,
            [self._values[number] for number in numbers[values].tolist()],
            others.places[values],
            [known.at(of_rows.places) for known in rows],
        )

    def _slices(self, size_bytes: int) -> type[Slices]:
        """Return how to cut slices out of a content of that size."""
        self._bytes_read += size_bytes
        is_arrow_worthwhile = self._bytes_read > _BYTES_FOR_ARROW or arrow.cache_info().currsize
        return ArrowSlices if is_arrow_worthwhile else PlainSlices

    def _numbers_of(self, tails: Slices) -> Offsets:
        """Return the number under which each tail is known, those that were not until now included."""
        distinct, of_tails = tails.distinct()
        return self._look_up(distinct)[of_tails]

    def _look_up(self, tails: list[bytes]) -> Offsets:
        """Return the number under which each of the tails, which differ, is known."""
        if len(self._numbers) + len(tails) > len(self._codes):
            self._forget(max(_MOST_KNOWN, len(tails)))
        numbers = list(map(self._numbers.get, tails))
        if None in numbers:
            self._learn([tail for tail, number in zip(tails, numbers, strict=True) if number is None])
            numbers = list(map(self._numbers.get, tails))
        return np.array(numbers, np.int64)

    def _learn(self, tails: list[bytes]) -> None:
        """Note what is known of events by their tails."""
        first = len(self._numbers)
        self._numbers.update(zip(tails, range(first, first + len(tails)), strict=True))
        events = self._decode([WITH_ANY_TIME + tail for tail in tails])
        codes = [self._code(event) for event in events]
        self._codes[first : first + len(tails)] = codes
        for number, (code, event) in enumerate(zip(codes, events, strict=True), first):
            if code == _VALUE and event is not None:
                self._values[number] = event.key, event.value

    def _code(self, event: Event | None) -> int:
        # A tail may go on with the digits, or state a time of its own.
        if event is None or event.key in self._in_full or event.time_ms != ANY_TIME_MS:
            return _UNKNOWN
        return _VALUE if event.key in self._by_value else _UNREAD


@dataclass(frozen=True, slots=True)
class _Tails:
    """What follows the digits of the time in texts of the usual form."""

    places: Offsets
    """Places among all texts."""
    starts: Offsets
    ends: Offsets
    digits: Digits

    def at(self, chosen: Offsets) -> _Tails:
        return _Tails(self.places[chosen], self.starts[chosen], self.ends[chosen], self.digits.only(chosen))


def nothing_known(located: Located, kinds: Sequence[RowKind]) -> Parted:
    """Return that of none of the texts anything is known."""
    none = np.empty(0, np.int64)
    rows = [no_rows() for _ in kinds]
    return Parted(np.zeros(len(located.starts), np.bool_), [], none, rows)
