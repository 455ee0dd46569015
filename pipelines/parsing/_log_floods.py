"""Events that ranks and tensors log by the thousand, recognised without decoding each.

Telling such events from others belongs here; finding and decoding events is done in `_log_events`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipelines.parsing._log_lines import Located, Offsets, Words, word, words_of

_HEAD = b'{"namespace": "", "time_ms": '
_DIGITS = 13
_TAIL_AT = len(_HEAD) + _DIGITS
_KINDS = (
    (b', "event_type": "POINT_IN_TIME", "key": "', ("weights_initialization", "cache_clear")),
    (b', "event_type": "INTERVAL_START", "key": "', ("init_start",)),
)
"""What stands before the key in a text of the usual form, and the keys of repeated events."""

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
        self._known: dict[str, set[bytes]] = {key: set() for _, keys in _KINDS for key in keys}

    def part(self, content: bytes, located: Located) -> Flood:
        """Return which of the located texts are repeated events."""
        starts = located.starts
        words = words_of(content)
        is_member = np.zeros(len(starts), np.bool_)
        init_starts = np.empty(0, np.int64)
        for before, keys in _KINDS if len(starts) >= _FEWEST_WORTHWHILE else ():
            at = starts + (_TAIL_AT + len(before))
            letters = words[np.minimum(at, len(words) - 1)]
            for key in keys:
                places = (letters == word(key.encode()[:8])).nonzero()[0]
                if len(places) < _FEWEST_WORTHWHILE:
                    continue
                places = places[at[places] < len(words)]
                places = places[_has_usual_form(words, starts[places])]
                if self._are_events(key, content, starts[places] + _TAIL_AT, located.ends[places]):
                    is_member[places] = True
                    init_starts = places if key == "init_start" else init_starts
        return Flood(is_member, init_starts, _milliseconds(words, starts[init_starts]))

    def _are_events(self, key: str, content: bytes, starts: Offsets, ends: Offsets) -> bool:
        known = self._known[key]
        tails = [content[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        if known.issuperset(tails):
            return True
        if len(known) > _MOST_TAILS:
            known.clear()
        known.update(tail for tail in set(tails) - known if self._key_of(_HEAD + b"1" * _DIGITS + tail) == key)
        return known.issuperset(tails)


def _has_usual_form(words: Words, starts: Offsets) -> npt.NDArray[np.bool_]:
    """Return where a text begins with the head and thirteen digits, the first of them not 0."""
    first_digits, last_digits = words[starts + len(_HEAD)], words[starts + _TAIL_AT - 8]
    is_usual: npt.NDArray[np.bool_] = (first_digits & 0xFF) != ord("0")
    is_usual &= _are_digits(first_digits) & _are_digits(last_digits)
    for offset in (0, 8, 16, len(_HEAD) - 8):
        is_usual &= words[starts + offset] == word(_HEAD[offset : offset + 8])
    return is_usual


def _are_digits(words: Words) -> npt.NDArray[np.bool_]:
    """Return where all eight characters of a word are digits: their upper half byte is 3 before and after adding 6."""
    upper, three, six = (word(bytes([value] * 8)) for value in (0xF0, 0x30, 0x06))
    are_digits: npt.NDArray[np.bool_] = (words & (words + six) & upper) == three
    return are_digits


def _milliseconds(words: Words, starts: Offsets) -> Offsets:
    first, last = words[starts + len(_HEAD)], words[starts + _TAIL_AT - 8]
    milliseconds: Offsets = (_number(first) * 100_000 + _number(last) % 100_000).astype(np.int64)
    return milliseconds


def _number(digits: Words) -> Words:
    """Return the number that eight digits write, joining neighbours to pairs, fours and eight."""
    for width, mask in ((8, 0x000F_000F_000F_000F), (16, 0x0000_007F_0000_007F), (32, 0x0000_3FFF)):
        scale = 10 ** (width // 8)
        digits = (digits & mask) * scale + ((digits >> width) & mask)
    return digits
