"""Events that ranks, tensors and steps log by the thousand, told from others before any is decoded.

Telling such events from others belongs here; finding and decoding events is done in `_log_events`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipelines.parsing._log_lines import Located, Offsets, Words, are_alike, word, words_at, words_by_row

_HEAD = b'{"namespace": "", "time_ms": '
_DIGITS = 13
_TAIL_AT = len(_HEAD) + _DIGITS
_USUAL = _HEAD + b"#" * _DIGITS + b', "eve'
_AT_KEYS = 80


def _place_of_key(event_type: str) -> int:
    """Return how far behind byte 80 of a text of the usual form the key begins."""
    return _TAIL_AT + len(f', "event_type": "{event_type}", "key": "') - _AT_KEYS


_REPEATED = {
    key: (_place_of_key(event_type), word(key.encode()[:8]))
    for key, event_type in (
        ("weights_initialization", "POINT_IN_TIME"),
        ("cache_clear", "POINT_IN_TIME"),
        ("init_start", "INTERVAL_START"),
    )
}
"""Where the key of a repeated event begins, and its first eight letters."""
_STATISTICS_AT, _STATISTICS = _place_of_key("POINT_IN_TIME"), word(b"tracked_")
_FIRST_MEMBER_AT = _AT_KEYS + _STATISTICS_AT + len('tracked_stats", "value": {"')
_SHORTEST = _FIRST_MEMBER_AT + 16
"""No text that is looked at more closely is shorter."""
_WORDS_OF_HEAD = 6
_HEAD_WORDS = tuple(
    (word(b"".join(b"\0" if letter == ord("#") else b"\xff" for letter in part)), word(part.replace(b"#", b"\0")))
    for part in (_USUAL[place : place + 8] for place in range(0, len(_USUAL), 8))
)
"""Which bytes of the first six words are the same in all usual texts, and what they are."""

_FEWEST_WORTHWHILE = 16
_MOST_BEGINNINGS, _MOST_TAILS = 1_000, 20_000
"""How much is remembered: beginnings of tails, and tails that begin alike."""


@dataclass(frozen=True, slots=True)
class Flood:
    """What is known of event texts before they are decoded."""

    is_repeated: npt.NDArray[np.bool_]
    """For each text, whether no more of it is read than that it is there and, for init_start, when."""
    is_statistics: npt.NDArray[np.bool_]
    """For each text, whether it looks like one of training statistics; decoding it tells."""
    init_starts: Offsets
    """Places of the repeated init_start events among the texts."""
    init_start_ms: Offsets


class FloodGate:
    """Parts repeated events from others.

    A text of the usual form, `{"namespace": "", "time_ms": ` and thirteen digits of which the first is not 0, is an
    event if the same text with other such digits is one. So one text is decoded for all that share what follows
    the digits.
    """

    def __init__(self, key_of: Callable[[bytes], str | None]) -> None:
        """Take the function that decodes a text and gives its key, or None where it is no event."""
        self._key_of = key_of
        self._known: dict[tuple[str, bytes], set[bytes]] = {}

    def part(self, content: bytes, located: Located) -> Flood:
        """Return which of the located texts are repeated events, and which seem to be training statistics."""
        starts, ends = located.starts, located.ends
        is_repeated, is_statistics = np.zeros(len(starts), np.bool_), np.zeros(len(starts), np.bool_)
        init_starts = init_start_ms = np.empty(0, np.int64)
        is_long = ends - starts >= _SHORTEST
        # The last texts may end before their keys could.
        whole_count = int(starts.searchsorted(len(content) - _SHORTEST, "right"))
        if whole_count >= _FEWEST_WORTHWHILE:
            low, high = words_at(content, starts[:whole_count] + _AT_KEYS, 2)
            places = _with_letters(low, high, _STATISTICS_AT, _STATISTICS)
            is_statistics[places] = _have_step_member(content, starts[places])
            for key, (offset, letters) in _REPEATED.items():
                places = _with_letters(low, high, offset, letters)
                places = places[is_long[places]]
                if len(places) < _FEWEST_WORTHWHILE:
                    continue
                heads = words_by_row(content, starts[places], _WORDS_OF_HEAD)
                is_usual = _have_usual_head(heads)
                if not is_usual.all():
                    places, heads = places[is_usual], heads[is_usual]
                if self._are_events(key, content, starts[places] + _TAIL_AT, ends[places]):
                    is_repeated[places] = True
                    if key == "init_start":
                        init_starts, init_start_ms = places, _number(heads)
        return Flood(is_repeated, is_statistics, init_starts, init_start_ms)

    def _are_events(self, key: str, content: bytes, starts: Offsets, ends: Offsets) -> bool:
        """Return whether all tails, which follow the digits, are those of events with this key."""
        if not len(starts):
            return True
        shared, rests = _shared_and_rests(content, starts, ends)
        if len(self._known) > _MOST_BEGINNINGS:
            self._known.clear()
        known = self._known.setdefault((key, shared), set())
        if known.issuperset(rests):
            return True
        if len(known) > _MOST_TAILS:
            known.clear()
        head = _HEAD + b"1" * _DIGITS + shared
        known.update(rest for rest in set(rests) - known if self._key_of(head + rest) == key)
        return known.issuperset(rests)


def _shared_and_rests(content: bytes, starts: Offsets, ends: Offsets) -> tuple[bytes, list[bytes]]:
    """Return how all tails begin, and what follows in each: once for all of them where they are equal.

    Tails differ in the value of their last member or not at all, and comparing them as an array is far quicker than
    hashing each.
    """
    sizes = ends - starts
    smallest = int(sizes.min())
    first = content[starts[0] : ends[0]]
    whole = smallest // 8 * 8
    if smallest == int(sizes.max()) and are_alike(content, starts, whole) and are_alike(content, ends - 8, 8):
        return first, [b""]
    until = min(max(first.rfind(b": "), 0), smallest) // 8 * 8
    if until and not are_alike(content, starts, until):
        until = 0
    begins = (starts + until).tolist()
    return first[:until], [content[begin:end] for begin, end in zip(begins, ends.tolist(), strict=True)]


def _have_usual_head(heads: Words) -> npt.NDArray[np.bool_]:
    """Return which texts begin with the head, thirteen digits of which the first is not 0, and the next member's name.

    The upper half byte of a digit is 3 before and after adding 6.
    """
    upper, three, six = (word(bytes([value] * 8)) for value in (0xF0, 0x30, 0x06))
    first_digits, last_digits = _digits(heads)
    # Of the last digits' eight bytes three belong to what follows.
    last_digits = last_digits & word(b"\xff" * 5) | word(bytes(5) + b"000")
    is_usual: npt.NDArray[np.bool_] = (first_digits & (first_digits + six) & upper) == three
    is_usual &= (last_digits & (last_digits + six) & upper) == three
    is_usual &= (first_digits & np.uint64(0xFF)) != ord("0")
    for place, (mask, letters) in enumerate(_HEAD_WORDS):
        is_usual &= (heads[:, place] & mask) == letters
    return is_usual


def _digits(heads: Words) -> tuple[Words, Words]:
    """Return words with the first eight digits, and with the other five and what follows."""
    low, middle, high = (heads[:, place] for place in range(3, 6))
    shift, rest = np.uint64(8 * (len(_HEAD) - 24)), np.uint64(8 * (32 - len(_HEAD)))
    return (low >> shift) | (middle << rest), (middle >> shift) | (high << rest)


def _have_step_member(content: bytes, starts: Offsets) -> npt.NDArray[np.bool_]:
    """Return which texts with the key of statistics have one of a training step, or of validation, first."""
    low, high = words_at(content, starts + _FIRST_MEMBER_AT, 2)
    is_of_step: npt.NDArray[np.bool_] = (low == word(b"validati")) & (high == word(b"on_step_"))
    for letters in (b"train_st", b"train_lo", b"reduced_"):
        is_of_step |= low == word(letters)
    return is_of_step


def _with_letters(low: Words, high: Words, offset: int, letters: np.uint64) -> Offsets:
    """Return the places where those eight letters begin `offset` bytes behind the start of two words."""
    found = (low >> np.uint64(8 * offset)) | (high << np.uint64(64 - 8 * offset))
    places: Offsets = (found == letters).nonzero()[0]
    return places


def _number(heads: Words) -> Offsets:
    """Return the number that the thirteen digits write."""
    first_digits, last_digits = _digits(heads)
    behind_three_zeros: Words = (last_digits << np.uint64(24)) | word(b"000")
    number: Offsets = _eight_digits(first_digits) * 100_000 + _eight_digits(behind_three_zeros)
    return number


def _eight_digits(digits: Words) -> Offsets:
    """Return the number that eight digits write, joining neighbours to pairs, fours and eight."""
    for width, mask in ((8, 0x000F_000F_000F_000F), (16, 0x0000_007F_0000_007F), (32, 0x0000_3FFF)):
        scale = np.uint64(10 ** (width // 8))
        digits = (digits & np.uint64(mask)) * scale + ((digits >> np.uint64(width)) & np.uint64(mask))
    number: Offsets = digits.astype(np.int64)
    return number
