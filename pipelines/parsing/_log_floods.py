"""Events that ranks and tensors log by the thousand, recognised without decoding each.

Telling such events from others belongs here; finding and decoding events is done in `_log_events`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

_Offsets = npt.NDArray[np.int64]
_Words = npt.NDArray[np.uint64]

_HEAD = b'{"namespace": "", "time_ms": '
_DIGITS = 13
_TAIL_AT = len(_HEAD) + _DIGITS
_KINDS = {
    key: (_TAIL_AT + len(f', "event_type": "{event_type}", "key": "'), key.encode()[:8])
    for key, event_type in (
        ("weights_initialization", "POINT_IN_TIME"),
        ("cache_clear", "POINT_IN_TIME"),
        ("init_start", "INTERVAL_START"),
    )
}
"""Where the first eight letters of each key stand in a text of the usual form."""

_FEWEST_WORTHWHILE = 16
_MOST_TAILS = 20_000


class FloodGate:
    """Parts from a log's events those of which no more is read than that they are there and when.

    A text of the usual form, `{"namespace": "", "time_ms": ` and thirteen digits of which the first is not 0, is an
    event if the same text with other such digits is one. So one text is decoded for all that share what follows
    the digits.
    """

    def __init__(self, key_of: Callable[[bytes], str | None]) -> None:
        """Take the function that decodes a text and gives its key, or None where it is no event."""
        self._key_of = key_of
        self._known: dict[str, set[bytes]] = {key: set() for key in _KINDS}

    def part(self, content: bytes, starts: _Offsets, ends: _Offsets) -> dict[str, _Offsets]:
        """Return which of the texts from `starts` to `ends` are repeated events, by their key."""
        last_word = len(content) - 8
        if len(starts) < _FEWEST_WORTHWHILE or last_word < 0:
            return {}
        words: _Words = np.ndarray((last_word + 1,), np.uint64, content, strides=(1,))
        found = {}
        for key, (offset, letters) in _KINDS.items():
            at = starts + offset
            is_kind = words[np.minimum(at, last_word)] == _word(letters)
            places = (is_kind & (at <= last_word)).nonzero()[0]
            if len(places) >= _FEWEST_WORTHWHILE:
                places = places[_has_usual_form(words, starts[places])]
                if self._are_events(key, content, starts[places] + _TAIL_AT, ends[places]):
                    found[key] = places
        return found

    def _are_events(self, key: str, content: bytes, starts: _Offsets, ends: _Offsets) -> bool:
        known = self._known[key]
        tails = [content[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        if not known.issuperset(tails):
            if len(known) > _MOST_TAILS:
                known.clear()
            known.update(tail for tail in set(tails) - known if self._key_of(_HEAD + b"1" * _DIGITS + tail) == key)
            return known.issuperset(tails)
        return True


def _has_usual_form(words: _Words, starts: _Offsets) -> npt.NDArray[np.bool_]:
    """Return where a text begins with the head and thirteen digits, the first of them not 0."""
    first_digits, last_digits = words[starts + len(_HEAD)], words[starts + _TAIL_AT - 8]
    is_usual: npt.NDArray[np.bool_] = (first_digits & 0xFF) != ord("0")
    is_usual &= _are_digits(first_digits) & _are_digits(last_digits)
    for offset in (0, 8, 16, len(_HEAD) - 8):
        is_usual &= words[starts + offset] == _word(_HEAD[offset : offset + 8])
    return is_usual


def _are_digits(words: _Words) -> npt.NDArray[np.bool_]:
    """Return where all eight characters of a word are digits: 3 as the upper half byte, also after adding 6."""
    upper, three, six = (np.uint64(int.from_bytes(bytes([value] * 8), "little")) for value in (0xF0, 0x30, 0x06))
    are_digits: npt.NDArray[np.bool_] = ((words & upper) == three) & (((words + six) & upper) == three)
    return are_digits


def _word(letters: bytes) -> np.uint64:
    word: np.uint64 = np.frombuffer(letters, np.uint64)[0]
    return word


def earliest_ms(content: bytes, starts: _Offsets) -> int:
    """Return the earliest time of repeated events, comparing their digits as letters."""
    words: _Words = np.ndarray((len(content) - 7,), np.uint64, content, strides=(1,))
    first = words[starts + len(_HEAD)].byteswap()
    earliest = first.min()
    last = words[starts[first == earliest] + _TAIL_AT - 8].byteswap().min()
    return int(int(earliest).to_bytes(8) + int(last).to_bytes(8)[16 - _DIGITS :])
