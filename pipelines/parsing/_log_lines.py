"""Where event texts stand in the bytes of result logs.

Finding lines and tokens belongs here; reading what a text says does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

TOKEN = b":::MLLOG "
"""What introduces an event; the text after the last one on a line counts."""

Offsets = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]

_NEWLINE, _CARRIAGE_RETURN = b"\n\r"
_TWO_COLONS = int(np.frombuffer(TOKEN, np.uint16, 1)[0])
_SIX, _SEVEN = np.uint64(2**48 - 1), np.uint64(2**56 - 1)
"""The bytes of a word that are compared."""
_BLOCK_BYTES = 2**19


@dataclass(frozen=True, slots=True)
class _Found:
    """Where a number stands among others, by groups of eight: most hold none, nearly all others hold one."""

    places: Offsets
    """Places of the groups in which it stands."""
    marks: Words
    """For each of these groups eight bytes: 1 where it stands and 0 elsewhere."""

    def firsts(self) -> Offsets:
        """Return where it stands first in each of the groups."""
        lowest = self.marks & (~self.marks + np.uint64(1))
        # A lone mark is a power of two, whose exponent as a float is eight times its place among the eight bytes.
        within = ((lowest.astype(np.float64).view(np.int64) >> 52) - 1023) >> 3
        firsts: Offsets = 8 * self.places + within
        return firsts

    def all(self) -> Offsets:
        """Return every place where it stands."""
        others = self.marks & (self.marks - np.uint64(1))
        if not others.any():
            return self.firsts()
        return _merged(self.firsts(), _Found(self.places, others).at((others != 0).nonzero()[0]).all())

    def at(self, groups: Offsets) -> _Found:
        """Return it for some of the groups."""
        return _Found(self.places[groups], self.marks[groups])


class _Finds:
    """Places of a number among others, found block by block; it takes half the time of looking at each flag."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._places, self._marks = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]

    def look(self, block: npt.NDArray[np.uint8] | npt.NDArray[np.uint16], first: int) -> None:
        """Look among the numbers of a block, of which the first, a multiple of eight, stands there among all."""
        flags = block == self._wanted
        if len(flags) % 8:
            flags = np.append(flags, np.zeros(-len(flags) % 8, np.bool_))
        groups = flags.view(np.uint64)
        found = (groups != 0).nonzero()[0]
        self._places.append(found + first // 8)
        self._marks.append(groups[found])

    def found(self) -> _Found:
        """Return what was found so far."""
        return _Found(np.concatenate(self._places), np.concatenate(self._marks))


def _search(content: bytes) -> tuple[_Found, _Found, _Found]:
    """Return where newlines, pairs of two colons and carriage returns stand in a content.

    A block stays in the processor's cache while each of them is looked for, as does what is made for it, which is too
    small for memory to be mapped for it.
    """
    newlines, colons, returns = _Finds(_NEWLINE), _Finds(_TWO_COLONS), _Finds(_CARRIAGE_RETURN)
    characters, pairs = np.frombuffer(content, np.uint8), np.frombuffer(content, np.uint16, len(content) // 2)
    for first in range(0, len(content), _BLOCK_BYTES):
        end = first + _BLOCK_BYTES
        newlines.look(characters[first:end], first)
        colons.look(pairs[first // 2 : end // 2], first // 2)
        # Few logs have some, and to see that there is none is faster.
        if content.find(_CARRIAGE_RETURN, first, end) >= 0:
            returns.look(characters[first:end], first)
    return newlines.found(), colons.found(), returns.found()


def _merged(some: Offsets, others: Offsets) -> Offsets:
    """Return both in order; each is sorted, and the stable sort merges what is."""
    return np.sort(np.concatenate([some, others]), kind="stable")


class Newlines:
    """Where lines end in a content."""

    def __init__(self, found: _Found, length: int) -> None:
        """Take where newlines stand in a content of that length."""
        # The last line may end with the content.
        group, within = divmod(length, 8)
        self._found = _Found(np.append(found.places, group), np.append(found.marks, np.uint64(1 << 8 * within)))
        self._before = np.concatenate([[0], np.bitwise_count(self._found.marks).cumsum(dtype=np.int64)])

    def before(self, offsets: Offsets) -> Offsets:
        """Return how many newlines stand before each offset."""
        groups, within = offsets >> 3, (offsets & 7).astype(np.uint64)
        nearest = self._found.places.searchsorted(groups)
        earlier = self._found.marks[nearest] & ((np.uint64(1) << 8 * within) - np.uint64(1))
        in_group = np.where(self._found.places[nearest] == groups, np.bitwise_count(earlier), 0)
        counts: Offsets = self._before[nearest] + in_group
        return counts

    def around(self, offsets: Offsets) -> tuple[Offsets, Offsets]:
        """Return the newlines before each offset and where its line ends; the seven bytes before it are no newlines."""
        nearest = self._found.places.searchsorted(offsets >> 3)
        return self._before[nearest], self._found.at(nearest).firsts()


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
    found, colons, returns = _search(content)
    newlines = Newlines(found, len(content))
    starts = _tokens(content, 2 * colons.all()) + len(TOKEN)
    lines, ends = newlines.around(starts)
    if len(returns.places):
        stops = np.append(returns.all(), len(content))
        ends = np.minimum(ends, stops[stops.searchsorted(starts)])
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


def _tokens(content: bytes, pairs: Offsets) -> Offsets:
    """Return the offset of every token, given those even ones at which two colons stand.

    Of the three colons that a token begins with two stand at an even offset, the last two or the first two, so
    comparing pairs of bytes finds them. This takes half the time of a substring search.
    """
    is_inside = (pairs > 0) & (pairs + len(TOKEN) < len(content))
    inside = pairs[is_inside]
    if not len(inside):
        return _tokens_among(pairs, content)
    (following,) = words_at(content, inside + 2, 1)
    is_first_pair = (following & _SEVEN) == word(TOKEN[2:])
    may_be_last = ((following & _SIX) == word(TOKEN[3:])).nonzero()[0]
    colons = np.frombuffer(content, np.uint8)[inside[may_be_last] - 1] == TOKEN[0]
    last_pairs = may_be_last[colons]
    inside[last_pairs] -= 1
    is_first_pair[last_pairs] = True
    tokens = inside[is_first_pair]
    at_edges = _tokens_among(pairs[~is_inside], content)
    return _merged(tokens, at_edges) if len(at_edges) else tokens


def _tokens_among(pairs: Offsets, content: bytes) -> Offsets:
    """Return the tokens that begin at one of the pairs of colons, or a colon before."""
    candidates = (start for pair in pairs.tolist() for start in (pair - 1, pair))
    return np.array([start for start in candidates if start >= 0 and content.startswith(TOKEN, start)], np.int64)
