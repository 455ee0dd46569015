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

_NEWLINE, _CARRIAGE_RETURN = b"\n\r"
_TWO_COLONS = np.frombuffer(TOKEN, np.uint16, 1)[0]


class Newlines:
    """Where lines end in a content, found eight bytes at a time: in half the time of looking at each byte.

    Most groups of eight hold no newline, nearly all others hold one.
    """

    def __init__(self, characters: npt.NDArray[np.uint8]) -> None:
        size = len(characters)
        is_newline = np.empty(size // 8 * 8 + 8, np.bool_)
        np.equal(characters, _NEWLINE, out=is_newline[:size])
        is_newline[size:] = False
        # The last line may end with the content.
        is_newline[size] = True
        self._groups = is_newline.view(np.uint64)
        self._places = (self._groups != 0).nonzero()[0]
        self._marks = self._groups[self._places]
        self._are_single = not (self._marks & (self._marks - np.uint64(1))).any()
        self._before = np.concatenate([[0], np.bitwise_count(self._marks).cumsum(dtype=np.int64)])

    def before(self, offsets: Offsets) -> Offsets:
        """Return how many newlines stand before each offset."""
        groups, within = offsets >> 3, (offsets & 7).astype(np.uint64)
        earlier = self._groups[groups] & ((np.uint64(1) << 8 * within) - np.uint64(1))
        counts: Offsets = self._before[self._places.searchsorted(groups)] + np.bitwise_count(earlier)
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

    def only(self, is_wanted: npt.NDArray[np.bool_]) -> Located:
        """Return the texts that are wanted."""
        return Located(self.starts[is_wanted], self.ends[is_wanted], self.lines[is_wanted])


def locate(content: bytes) -> tuple[Located, Newlines]:
    """Return every text between a token and the end of its line, or the next carriage return, and the newlines.

    Of several tokens on one line the last one counts.
    """
    characters = np.frombuffer(content, np.uint8)
    newlines = Newlines(characters)
    starts = _tokens(content) + len(TOKEN)
    lines, ends = newlines.around(starts)
    if b"\r" in content:
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


def are_alike(content: bytes, offsets: Offsets, size: int) -> bool:
    """Return whether the same `size` bytes, a multiple of eight, stand at every offset; all lie within the content."""
    words = words_by_row(content, offsets, size // 8).ravel()
    return bool((words[size // 8 :] == words[: -size // 8]).all())


def word(letters: bytes) -> np.uint64:
    """Return up to eight letters as they read in `words_at`."""
    return np.uint64(int.from_bytes(letters, "little"))


def _tokens(content: bytes) -> Offsets:
    """Return the offset of every token.

    Of the three colons that a token begins with two stand at an even offset, so comparing pairs of bytes finds them:
    the first two or the last two. This takes half the time of a substring search.
    """
    pairs = (np.frombuffer(content, np.uint16, len(content) // 2) == _TWO_COLONS).nonzero()[0] * 2
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
