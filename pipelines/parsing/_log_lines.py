"""Where event texts stand in the bytes of result logs.

Finding lines and tokens belongs here; reading what a text says does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

TOKEN = b":::MLLOG "
"""What introduces an event; the text after the last one on a line counts."""

Offsets = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Numbers = TypeVar("Numbers", npt.NDArray[np.uint8], npt.NDArray[np.uint16])
Flags = npt.NDArray[np.bool_]

_BLOCK_BYTES = 2**18
_NEWLINE, _CARRIAGE_RETURN = b"\n\r"
_TWO_COLONS = np.frombuffer(TOKEN, np.uint16, 1)[0]


class Newlines:
    """Where lines end in a content, found eight bytes at a time: in half the time of looking at each byte.

    Most groups of eight hold no newline, nearly all others hold one.
    """

    def __init__(self, content: bytes) -> None:
        whole_size = len(content) // 8 * 8
        characters = np.frombuffer(content, np.uint8, whole_size)
        # The last line may end with the content.
        ending = np.frombuffer((content[whole_size:] + b"\n").ljust(8, b"\0"), np.uint8)
        places, marks = [], []
        for begin, block in (*_blocks(characters), (whole_size, ending)):
            groups = (block == _NEWLINE).view(np.uint64)
            found = (groups != 0).nonzero()[0]
            places.append(found + begin // 8)
            marks.append(groups[found])
        self._places, self._marks = np.concatenate(places), np.concatenate(marks)
        self._are_single = not (self._marks & (self._marks - np.uint64(1))).any()
        self._before = np.concatenate([[0], np.bitwise_count(self._marks).cumsum(dtype=np.int64)])

    def before(self, offsets: Offsets) -> Offsets:
        """Return how many newlines stand before each offset."""
        groups, within = offsets >> 3, (offsets & 7).astype(np.uint64)
        nearest = self._places.searchsorted(groups)
        earlier = self._marks[nearest] & ((np.uint64(1) << 8 * within) - np.uint64(1))
        within_group = np.where(self._places[nearest] == groups, np.bitwise_count(earlier), 0)
        counts: Offsets = self._before[nearest] + within_group
        return counts

    def around(self, offsets: Offsets) -> tuple[Offsets, Offsets]:
        """Return the newlines before each offset and where its line ends; the seven bytes before it are no newlines."""
        nearest = self._places.searchsorted(offsets >> 3)
        marks = self._marks[nearest]
        lowest = marks if self._are_single else marks & (~marks + np.uint64(1))
        # A lone mark is a power of two, whose exponent as a float is eight times its place among the eight bytes.
        within = ((lowest.astype(np.float64).view(np.int64) >> 52) - 1023) >> 3
        return self._before[nearest], 8 * self._places[nearest] + within


@dataclass(frozen=True, slots=True)
class Located:
    """Event texts, in their order."""

    starts: Offsets
    ends: Offsets
    lines: Offsets
    """Number of newlines before each text."""

    def only(self, is_wanted: Flags) -> Located:
        """Return the texts that are wanted."""
        return Located(self.starts[is_wanted], self.ends[is_wanted], self.lines[is_wanted])


def locate(content: bytes) -> tuple[Located, Newlines]:
    """Return every text between a token and the end of its line, or the next carriage return, and the newlines.

    Of several tokens on one line the last one counts.
    """
    newlines = Newlines(content)
    starts = _tokens(content) + len(TOKEN)
    lines, ends = newlines.around(starts)
    if b"\r" in content:
        characters = np.frombuffer(content, np.uint8)
        returns = np.append((characters == _CARRIAGE_RETURN).nonzero()[0], len(content))
        ends = np.minimum(ends, returns[returns.searchsorted(starts)])
    located = Located(starts, ends, lines)
    is_overtaken = starts[1:] <= ends[:-1]
    return (located.only(np.append(~is_overtaken, True)) if is_overtaken.any() else located), newlines


def words_at(content: bytes, offsets: Offsets, count: int) -> tuple[Words, ...]:
    """Return `count` times eight bytes from each offset on as numbers, the first byte the lowest.

    All of them must lie within the content. One copy of many bytes costs what one of eight does.
    """
    words = words_by_row(content, offsets, count)
    return tuple(words[:, place] for place in range(count))


def words_by_row(content: bytes, offsets: Offsets, count: int) -> Words:
    """Return the words of `words_at` as an array with a row for each offset."""
    size = 8 * count
    everywhere = np.ndarray((len(content) - size + 1,), f"V{size}", content, strides=(1,))
    words: Words = everywhere[offsets].view(np.uint64).reshape(-1, count)
    return words


def word(letters: bytes) -> np.uint64:
    """Return up to eight letters as they read in `words_at`."""
    return np.uint64(int.from_bytes(letters, "little"))


def _blocks(array: Numbers) -> Iterator[tuple[int, Numbers]]:
    """Yield blocks that stay in the processor's cache, each with the offset of its first byte."""
    length = _BLOCK_BYTES // array.itemsize
    for first in range(0, len(array), length):
        yield first * array.itemsize, array[first : first + length]


def _tokens(content: bytes) -> Offsets:
    """Return the offset of every token.

    Of the three colons that a token begins with two stand at an even offset, so comparing pairs of bytes finds them:
    the first two or the last two. This takes half the time of a substring search.
    """
    in_pairs = np.frombuffer(content, np.uint16, len(content) // 2)
    found = [(block == _TWO_COLONS).nonzero()[0] * 2 + begin for begin, block in _blocks(in_pairs)]
    pairs = np.concatenate([np.empty(0, np.int64), *found])
    is_inside = (pairs > 0) & (pairs + 15 <= len(content))
    inside = pairs[is_inside]
    if not len(inside):
        return _tokens_among(pairs, content)
    low, high = words_at(content, inside - 1, 2)
    letters, space = word(TOKEN[:8]), word(TOKEN[8:])
    is_before = (low == letters) & ((high & 0xFF) == space)
    is_here = (((low >> 8) | (high << 56)) == letters) & (((high >> 8) & 0xFF) == space)
    tokens = (inside - is_before)[is_before | is_here]
    at_edges = _tokens_among(pairs[~is_inside], content)
    return np.sort(np.concatenate([tokens, at_edges])) if len(at_edges) else tokens


def _tokens_among(pairs: Offsets, content: bytes) -> Offsets:
    """Return the tokens that begin at one of the pairs of colons, or a colon before."""
    candidates = (start for pair in pairs.tolist() for start in (pair - 1, pair))
    return np.array([start for start in candidates if start >= 0 and content.startswith(TOKEN, start)], np.int64)
