"""Events of which the same texts come again and again, but for their digits: of each such shape one is decoded.

What is known of an event by its shape, and the numbers that are read of it then, belongs here; finding and decoding
texts does not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pipelines.parsing._log_json import Event
from pipelines.parsing._log_lines import Codes, Flags, Floats, Offsets
from pipelines.parsing._log_slices import Slices, as_ones
from pipelines.parsing._log_usual import ANY_TIME_MS, WITH_ANY_TIME, Digits, times_ms

Row = tuple[Any, ...]
Texts = npt.NDArray[np.object_]
"""Texts, None where there is none."""
Decode = Callable[[list[bytes]], list[Event | None]]
"""Returns the event that each text is, None where it is none or has members that cannot be read."""


@dataclass(frozen=True, slots=True, eq=False)
class RowKind:
    """Events that become rows of numbers, and few texts."""

    keys: tuple[str, ...]
    columns: tuple[str, ...]
    read: Callable[[Event], Row | None]
    """Returns the value of each column, None for an event that makes no row."""
    is_row_by_itself: Callable[[Event], bool] = lambda _: True
    """Whether `read` can tell what an event with such a key says."""


@dataclass(frozen=True, slots=True)
class KnownRows:
    """Rows of one kind, in the order of their events."""

    places: Offsets
    """Places of the events."""
    time_ms: Offsets
    keys: Codes
    """The key of each, as its place among those of the kind."""
    numbers: dict[str, Floats]
    """Columns, NaN where a row has no number; those in which no row has one may be absent."""
    texts: dict[str, Texts]
    """Columns of text; those in which no row has one may be absent."""

    def at(self, places: Offsets) -> KnownRows:
        """Return the rows with other places, of which theirs are numbers."""
        return replace(self, places=places[self.places])


def no_rows() -> KnownRows:
    """Return what is known where nothing is."""
    none = np.empty(0, np.int64)
    return KnownRows(none, none, none.astype(np.int8), {}, {})


_UNKNOWN, _UNREAD, _FIRST_KIND = range(3)
"""What is known of a shape: nothing; that nothing is read; from then on its kind."""

_NUMBER = re.compile(rb"(1+)(?:\.1+)?(?:[eE][+-]?(1+))?")
"""A JSON number of ones but for its sign, if it stands between these; or what looks like one within a text."""
_BEFORE, _BEHIND = b":,[ \t\n\r", b",}] \t\n\r"
_MINUS = b"-"[0]
_MOST_NUMBERS = 8
_MOST_WHOLE_DIGITS, _MOST_DIGITS_OF_EXPONENT = 40, 2
"""Numbers within these are finite, whatever their digits."""
_MOST_SHAPES = 8_000
_NOTHING = 0
"""Number of the shapes of which nothing is known."""
_DIGIT = re.compile(r"\d")
_ZERO = b"0"[0]

_Span = tuple[int, int]
"""Where in a tail a number begins, and its length."""


class Shapes:
    """Reads rows of events whose shapes are known.

    Of two texts that differ in digits alone both are JSON or neither is, but for leading zeros, and their members have
    the same names and types. So one text is decoded for all of a shape, each of its numbers beginning with a digit of
    its own, which tells what is read from where.
    """

    def __init__(self, decode: Decode, kinds: Sequence[RowKind]) -> None:
        """Take the kinds of rows that are read; of events with other keys than theirs nothing is known here."""
        self._decode = decode
        self._kinds = kinds
        self._kind_of_key = {key: number for number, kind in enumerate(kinds) for key in kind.keys}
        self._most_columns = max((len(kind.columns) for kind in kinds), default=0)
        self._forget(_MOST_SHAPES)

    def _forget(self, capacity: int) -> None:
        self._numbers: dict[bytes, int] = {}
        self._codes, self._keys = np.zeros(capacity, np.int8), np.zeros(capacity, np.int8)
        # Where in the tail numbers with several digits before the point begin: with a 0 there it is no JSON.
        self._first_digits = np.zeros((_MOST_NUMBERS, capacity), np.int64)
        # Where in the tail the number of each column begins, and its length, 0 where there is none.
        self._begins, self._lengths = (np.zeros((self._most_columns, capacity), np.int64) for _ in range(2))
        self._texts: dict[int, dict[str, str]] = {}

    def read(
        self, content: bytes, starts: Offsets, ends: Offsets, digits: Digits, slices: type[Slices]
    ) -> tuple[Flags, list[KnownRows]]:
        """Return of which events no more is read than stands here, and rows of each kind.

        Args:
            content: What the texts stand in.
            starts: Where their tails begin.
            ends: Where they end.
            digits: Of their times.
            slices: How to cut out what is looked at.
        """
        distinct, of_texts = slices.with_digits_alike(content, starts, ends).distinct()
        shapes = self._look_up(distinct)
        codes = self._codes[shapes]
        is_known = (codes != _UNKNOWN)[of_texts] & ~self._have_leading_zeros(content, starts, shapes, of_texts)
        rows = []
        for code, kind in enumerate(self._kinds, _FIRST_KIND):
            if code not in codes:
                rows.append(no_rows())
                continue
            is_of_kind = codes == code
            chosen = (is_of_kind[of_texts] & is_known).nonzero()[0]
            of_rows = of_texts[chosen]
            of_kind = shapes * is_of_kind
            numbers = dict(self._numbers_of(content, starts[chosen], kind, of_kind, of_rows, slices))
            texts = dict(self._texts_of(of_kind, of_rows))
            rows.append(KnownRows(chosen, times_ms(digits.only(chosen)), self._keys[of_kind][of_rows], numbers, texts))
        return is_known, rows

    def _look_up(self, tails: list[bytes]) -> Offsets:
        """Return the numbers of the shapes of tails with digits alike, which differ."""
        if len(self._numbers) + len(tails) >= len(self._codes):
            self._forget(max(_MOST_SHAPES, len(tails) + 1))
        for tail in tails:
            if tail not in self._numbers:
                self._numbers[tail] = self._learn(as_ones(tail), len(self._numbers) + 1)
        return np.array([self._numbers[tail] for tail in tails], np.int64)

    def _have_leading_zeros(self, content: bytes, starts: Offsets, shapes: Offsets, of_texts: Offsets) -> Flags:
        """Return in which texts a number of several digits before the point begins with 0."""
        characters = np.frombuffer(content, np.uint8)
        have_zeros = np.zeros(len(starts), np.bool_)
        for first_digits in self._first_digits[:, shapes]:
            if not first_digits.any():
                break
            # A tail that has no such number begins with no 0 either.
            have_zeros |= characters[starts + first_digits[of_texts]] == _ZERO
        return have_zeros

    def _numbers_of(
        self, content: bytes, starts: Offsets, kind: RowKind, shapes: Offsets, of_rows: Offsets, slices: type[Slices]
    ) -> Iterator[tuple[str, Floats]]:
        """Yield the columns that some rows have numbers in."""
        for name, begins, lengths in zip(kind.columns, self._begins[:, shapes], self._lengths[:, shapes], strict=False):
            if not lengths.any():
                continue
            begin, length = starts + begins[of_rows], lengths[of_rows]
            if lengths[shapes > 0].all():
                yield name, slices.of(content, begin, begin + length).numbers()
                continue
            have_some = length.nonzero()[0]
            begin, length = begin[have_some], length[have_some]
            column = np.full(len(starts), math.nan)
            column[have_some] = slices.of(content, begin, begin + length).numbers()
            yield name, column

    def _texts_of(self, shapes: Offsets, of_rows: Offsets) -> Iterator[tuple[str, Texts]]:
        """Yield the columns that some rows have texts in."""
        texts = [self._texts.get(shape, {}) for shape in shapes.tolist()]
        for name in {name for text in texts for name in text}:
            yield name, np.array([text.get(name) for text in texts], np.object_)[of_rows]

    def _learn(self, tail: bytes, number: int) -> int:
        """Note what is known of a shape under a number, and return this; 0 if there is nothing."""
        marked = _marked(tail)
        if marked is None:
            return _NOTHING
        (event,) = self._decode([WITH_ANY_TIME + marked.tail])
        # A tail may state another time, or an exponent of the first.
        if event is None or event.time_ms != ANY_TIME_MS or event.key not in self._kind_of_key:
            return _NOTHING
        kind_number = self._kind_of_key[event.key]
        kind = self._kinds[kind_number]
        if not kind.is_row_by_itself(event):
            return _NOTHING
        row = kind.read(event)
        for place, value in enumerate(row or ()):
            if type(value) is float and value in marked.spans:
                self._begins[place, number], self._lengths[place, number] = marked.spans[value]
            elif type(value) is str and not _DIGIT.search(value):
                self._texts.setdefault(number, {})[kind.columns[place]] = value
            elif value is not None:
                return _NOTHING
        self._codes[number] = _UNREAD if row is None else kind_number + _FIRST_KIND
        self._keys[number] = kind.keys.index(event.key)
        for place, first_digit in enumerate(marked.first_digits):
            self._first_digits[place, number] = first_digit
        return number


@dataclass(frozen=True, slots=True)
class _Marked:
    """A tail of which each number begins with a digit of its own: 2, 3 and so on."""

    tail: bytes
    spans: dict[float, _Span]
    """Where each of the numbers stands."""
    first_digits: list[int]
    """Where those begin that have several digits before the point, signs apart."""


def _marked(tail: bytes) -> _Marked | None:
    """Mark the numbers in a tail with ones; None if what it says may hang on its digits otherwise."""
    if b"\\" in tail:
        return None
    marked, first_digits = bytearray(tail), list[int]()
    spans: dict[float, _Span] = {}
    for found in _NUMBER.finditer(tail):
        first, end = found.span()
        begin = first - 1 if tail[first - 1] == _MINUS else first
        if tail[begin - 1] not in _BEFORE or tail[end : end + 1] not in _BEHIND:
            continue
        whole, exponent = found.groups(b"")
        if len(whole) > _MOST_WHOLE_DIGITS or len(exponent) > _MOST_DIGITS_OF_EXPONENT or len(spans) == _MOST_NUMBERS:
            return None
        marked[first] = ord("2") + len(spans)
        spans[float(marked[begin:end])] = (begin, end - begin)
        if len(whole) > 1:
            first_digits.append(first)
    return _Marked(bytes(marked), spans, first_digits)
