"""Events of which the same texts come again and again, but for the time: each is decoded once.

What is known of an event by its text, and what is read of it then, belongs here; finding and decoding texts does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from pipelines.parsing._log_json import Event
from pipelines.parsing._log_lines import Codes, Flags, Floats, Located, Offsets, word
from pipelines.parsing._log_usual import (
    ANY_TIME_MS,
    SHORTEST,
    TAIL_AT,
    WITH_ANY_TIME,
    have_step_member,
    letters_of_keys,
    times_ms,
    usual_heads,
)

KnownValue = tuple[str, Any]
"""Key and value of an event."""
Decode = Callable[[list[bytes]], list[Event | None]]
"""Returns the event that each text is, None where it is none or has members that cannot be read."""

MARKS = ("eval_start", "eval_stop", "block_start", "block_stop", "init_start")
"""Events of which no more is read than when they came and, of some, how many samples were consumed by then."""
_UNKNOWN, _UNREAD, _VALUE = range(3)
"""What is known of an event: not all that is read of it; that nothing is read; its value. From then on: its mark."""
MARK_CODES = {key: code for code, key in enumerate(MARKS, _VALUE + 1)}

_TRACKED = "tracked_stats"
_MEASUREMENTS = (_TRACKED, "eval_accuracy", "train_loss", "throughput")
"""Events whose values differ, so that looking for them among the known ones would be in vain."""

_FEWEST_WORTHWHILE = 16
_MOST_KNOWN = 50_000
_BYTES_FOR_ARROW = 50_000_000
"""To load Arrow is worth its time where there is more than this to read."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Events with the keys in `MARKS`, in their order."""

    codes: Codes
    """As in `MARK_CODES`."""
    places: Offsets
    """Their places among all texts."""
    time_ms: Offsets
    samples_count: Floats
    """NaN where an event names none."""


@dataclass(frozen=True, slots=True)
class Parted:
    """What is known of event texts before they are decoded."""

    is_known: Flags
    """For each text, whether no more of it is read than stands here."""
    is_statistics: Flags
    """For each text, whether it looks like one of training statistics; decoding it tells."""
    marks: Marks
    values: list[KnownValue]
    value_places: Offsets
    """Places among the texts of the events that have these values."""


class KnownEvents:
    """Parts events whose texts are known, but for the time, from others.

    What follows the time in a text of the usual form, its tail, tells whether it is an event and which. So one text is
    decoded for all that share the tail.
    """

    def __init__(self, decode: Decode, in_full: Collection[str], by_value: Collection[str]) -> None:
        """Take the keys of which more is read than the value, or more than a mark, and those of which the value is."""
        self._decode = decode
        self._in_full = in_full
        self._by_value = by_value
        self._bytes_read = 0
        self._forget(_MOST_KNOWN)

    def _forget(self, capacity: int) -> None:
        self._numbers: dict[bytes, int] = {}
        self._codes = np.empty(capacity, np.int8)
        self._samples_count = np.empty(capacity, np.float64)
        self._values: dict[int, KnownValue] = {}

    def part(self, content: bytes, located: Located) -> Parted:
        """Return what is known of the located texts."""
        count = len(located.starts)
        # The last texts may end before their keys could.
        whole_count = int(located.starts.searchsorted(len(content) - SHORTEST, "right"))
        if whole_count < _FEWEST_WORTHWHILE:
            return nothing_known(located)
        is_known, is_statistics = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        starts, ends = located.starts[:whole_count], located.ends[:whole_count]
        letters = letters_of_keys(content, starts)
        tracked = (letters == _letters(_TRACKED)).nonzero()[0]
        is_statistics[tracked] = have_step_member(content, starts[tracked])

        is_short = ends - starts < SHORTEST
        for key in _MEASUREMENTS:
            is_short |= letters == _letters(key)
        places = (~is_short).nonzero()[0]
        is_usual, digits = usual_heads(content, starts[places])
        if not is_usual.all():
            places, digits = places[is_usual], digits.only(is_usual)
        numbers = self._numbers_of(content, starts[places] + TAIL_AT, ends[places])
        codes = self._codes[numbers]
        is_known[places[codes != _UNKNOWN]] = True
        marks, values = (codes > _VALUE).nonzero()[0], (codes == _VALUE).nonzero()[0]
        return Parted(
            is_known=is_known,
            is_statistics=is_statistics,
            marks=Marks(codes[marks], places[marks], times_ms(digits.only(marks)), self._samples_count[numbers[marks]]),
            values=[self._values[number] for number in numbers[values].tolist()],
            value_places=places[values],
        )

    def _numbers_of(self, content: bytes, starts: Offsets, ends: Offsets) -> Offsets:
        """Return the number under which each tail is known, those that were not until now included."""
        self._bytes_read += len(content)
        is_arrow_worthwhile = self._bytes_read > _BYTES_FOR_ARROW or _arrow.cache_info().currsize
        distinct = _distinct_by_arrow if is_arrow_worthwhile else _distinct
        tails, of_slices = distinct(content, starts, ends)
        return self._look_up(tails)[of_slices]

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
        samples = [None if event is None else event.metadata.samples_count for event in events]
        new = slice(first, first + len(tails))
        self._codes[new] = codes
        self._samples_count[new] = [math.nan if count is None else count for count in samples]
        for number, (code, event) in enumerate(zip(codes, events, strict=True), first):
            if code == _VALUE and event is not None:
                self._values[number] = event.key, event.value

    def _code(self, event: Event | None) -> int:
        # A tail may go on with the digits, or state a time of its own.
        if event is None or event.key in self._in_full or event.time_ms != ANY_TIME_MS:
            return _UNKNOWN
        return MARK_CODES.get(event.key, _VALUE if event.key in self._by_value else _UNREAD)


def _letters(key: str) -> np.uint64:
    return word(key.encode()[:8])


def _distinct(content: bytes, starts: Offsets, ends: Offsets) -> tuple[list[bytes], Offsets]:
    """Return the distinct ones among slices of the content, and for each slice the number of the one it is equal to."""
    numbers: dict[bytes, int] = {}
    bounds = zip(starts.tolist(), ends.tolist(), strict=True)
    of_slices = [numbers.setdefault(content[start:end], len(numbers)) for start, end in bounds]
    return list(numbers), np.array(of_slices, np.int64)


@cache
def _arrow() -> Any:
    import pyarrow.compute  # noqa: PLC0415  # loading it takes a third of what a small command may take

    return pyarrow


def _distinct_by_arrow(content: bytes, starts: Offsets, ends: Offsets) -> tuple[list[bytes], Offsets]:
    """Return what `_distinct` does in a quarter of the time; the slices lie behind one another.

    An array of bytes has no gaps, so first those between the slices are members of one too.
    """
    pa = _arrow()
    pool = pa.system_memory_pool()
    bounds = np.empty(2 * len(starts) + 1, np.int64)
    bounds[:-1:2], bounds[1::2], bounds[-1] = starts, ends, len(content)
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(content)]
    with_gaps = pa.Array.from_buffers(pa.large_binary(), 2 * len(starts), buffers)
    slices = pa.compute.take(with_gaps, pa.array(np.arange(0, 2 * len(starts), 2)), memory_pool=pool)
    encoded = pa.compute.dictionary_encode(slices, memory_pool=pool)
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()


def nothing_known(located: Located) -> Parted:
    """Return that of none of the texts anything is known."""
    count, none = len(located.starts), np.empty(0, np.int64)
    marks = Marks(none.astype(np.int8), none, none, none.astype(np.float64))
    return Parted(np.zeros(count, np.bool_), np.zeros(count, np.bool_), marks, [], none)
