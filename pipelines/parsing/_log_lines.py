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


def _find(numbers: npt.NDArray[np.uint8] | npt.NDArray[np.uint16], wanted: int) -> _Found:
    """Return where a number stands; it takes half the time of looking at each flag.

    What is made for a block stays in the processor's cache, and is too small for memory to be mapped for it.
    """
    places, marks = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
    length = _BLOCK_BYTES // numbers.itemsize
    for first in range(0, len(numbers), length):
        flags = numbers[first : first + length] == wanted
        if len(flags) % 8:
            flags = np.append(flags, np.zeros(-len(flags) % 8, np.bool_))
        groups = flags.view(np.uint64)
        found = (groups != 0).nonzero()[0]
        places.append(found + first // 8)
        marks.append(groups[found])
    return _Found(np.concatenate(places), np.concatenate(marks))


def _merged(some: Offsets, others: Offsets) -> Offsets:
    """Return both in order; each is sorted, and the stable sort merges what is."""
    return np.sort(np.concatenate([some, others]), kind="stable")


class Newlines:
    """Where lines end in a content."""

    def __init__(self, content: bytes) -> None:
        found = _find(np.frombuffer(content, np.uint8), _NEWLINE)
        # The last line may end with the content.
        group, within = divmod(len(content), 8)
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


def _tokens(content: bytes) -> Offsets:
    """Return the offset of every token.

    Of the three colons that a token begins with two stand at an even offset, so comparing pairs of bytes finds them:
    the last two or the first two. This takes half the time of a substring search.
    """
    pairs = 2 * _find(np.frombuffer(content, np.uint16, len(content) // 2), _TWO_COLONS).all()
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
