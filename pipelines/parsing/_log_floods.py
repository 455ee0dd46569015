"""Events that ranks and tensors log by the thousand, recognised without decoding each.

Telling such events from others belongs here; finding and decoding events is done in `_log_events`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipelines.parsing._log_lines import Located, Offsets, Words, word, words_at

_HEAD = b'{"namespace": "", "time_ms": '
_DIGITS = 13
_TAIL_AT = len(_HEAD) + _DIGITS
_AT_KEYS = 80
_KINDS = {
    key: (_TAIL_AT + len(f', "event_type": "{event_type}", "key": "') - _AT_KEYS, word(key.encode()[:8]))
    for key, event_type in (
        ("weights_initialization", "POINT_IN_TIME"),
        ("cache_clear", "POINT_IN_TIME"),
        ("init_start", "INTERVAL_START"),
    )
}
"""How far behind byte 80 of a text of the usual form each key begins, and its first eight letters."""

_FEWEST_WORTHWHILE = 16
_MOST_TAILS = 20_000


@dataclass(frozen=True, slots=True)
class Flood:
    """Events of which no more is read than that they are there and, for init_start, when."""

    is_member: npt.NDArray[np.bool_]
    """For each located text, whether it is one of them."""
    init_starts: Offsets
    """Places of the init_start events among the texts."""
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
        self._known: dict[str, set[bytes]] = {key: set() for key in _KINDS}

    def part(self, content: bytes, located: Located) -> Flood:
        """Return which of the located texts are repeated events."""
        starts, ends = located.starts, located.ends
        is_member = np.zeros(len(starts), np.bool_)
        init_starts = init_start_ms = np.empty(0, np.int64)
        for key, places in self._candidates(content, starts).items():
            is_usual, milliseconds = _read_heads(*words_at(content, starts[places], _TAIL_AT // 8 + 1))
            usual = places[is_usual]
            if self._are_events(key, content, starts[usual] + _TAIL_AT, ends[usual]):
                is_member[usual] = True
                if key == "init_start":
                    init_starts, init_start_ms = usual, milliseconds[is_usual]
        return Flood(is_member, init_starts, init_start_ms)

    def _candidates(self, content: bytes, starts: Offsets) -> dict[str, Offsets]:
        """Return the places of texts that have the letters of a key where a text of the usual form has its key."""
        at = starts + _AT_KEYS
        # The last texts may end before their keys could.
        at = at[: at.searchsorted(len(content) - 16, "right")]
        if len(at) < _FEWEST_WORTHWHILE:
            return {}
        low, high = words_at(content, at, 2)
        found = {}
        for key, (offset, letters) in _KINDS.items():
            places = (((low >> 8 * offset) | (high << 64 - 8 * offset)) == letters).nonzero()[0]
            if len(places) >= _FEWEST_WORTHWHILE:
                found[key] = places
        return found

    def _are_events(self, key: str, content: bytes, starts: Offsets, ends: Offsets) -> bool:
        known = self._known[key]
        tails = [content[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        if known.issuperset(tails):
            return True
        if len(known) > _MOST_TAILS:
            known.clear()
        known.update(tail for tail in set(tails) - known if self._key_of(_HEAD + b"1" * _DIGITS + tail) == key)
        return known.issuperset(tails)


def _read_heads(*words: Words) -> tuple[npt.NDArray[np.bool_], Offsets]:
    """Return which texts begin with the head and thirteen digits, the first of them not 0, and what number those are.

    The last three of the six words of a text hold five letters of the head and the digits.
    """
    *heads, last_of_head, middle, end = words
    first_digits: Words = (last_of_head >> np.uint64(40)) | (middle << np.uint64(24))
    last_digits: Words = (middle >> np.uint64(16)) | (end << np.uint64(48))
    is_usual: npt.NDArray[np.bool_] = (first_digits & 0xFF) != ord("0")
    is_usual &= _are_digits(first_digits) & _are_digits(last_digits)
    is_usual &= (last_of_head & ((1 << 40) - 1)) == word(_HEAD[24:])
    for place, head in enumerate(heads):
        is_usual &= head == word(_HEAD[8 * place : 8 * place + 8])
    return is_usual, _number(first_digits) * 100_000 + _number(last_digits) % 100_000


def _are_digits(words: Words) -> npt.NDArray[np.bool_]:
    """Return where all eight characters of a word are digits: their upper half byte is 3 before and after adding 6."""
    upper, three, six = (word(bytes([value] * 8)) for value in (0xF0, 0x30, 0x06))
    are_digits: npt.NDArray[np.bool_] = (words & (words + six) & upper) == three
    return are_digits


def _number(digits: Words) -> Offsets:
    """Return the number that eight digits write, joining neighbours to pairs, fours and eight."""
    for width, mask in ((8, 0x000F_000F_000F_000F), (16, 0x0000_007F_0000_007F), (32, 0x0000_3FFF)):
        scale = np.uint64(10 ** (width // 8))
        digits = (digits & np.uint64(mask)) * scale + ((digits >> np.uint64(width)) & np.uint64(mask))
    return digits.astype(np.int64)
