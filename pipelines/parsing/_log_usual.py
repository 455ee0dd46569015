"""Event texts of the usual form, told and timed as columns of bytes before any is decoded.

What the bytes of the usual form say belongs here; which events need no more than that, does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipelines.parsing._log_lines import Flags, Offsets, Words, word, words_at, words_by_row

_HEAD = b'{"namespace": "", "time_ms": '
_DIGITS = 13
TAIL_AT = len(_HEAD) + _DIGITS
"""Where the tail of a text of the usual form begins: behind the head and the thirteen digits of the time."""

ANY_TIME_MS = int("1" * _DIGITS)
WITH_ANY_TIME = _HEAD + b"%d" % ANY_TIME_MS
"""Makes a text of the usual form out of a tail, with that time."""

_WORDS_OF_HEAD = 6
_WORD_OF_DIGITS, _SHIFT = divmod(len(_HEAD), 8)
_LETTERS = tuple(word(_HEAD[place : place + 8]) for place in range(0, len(_HEAD), 8))
_ARE_LETTERS = tuple(word(b"\xff" * min(8, len(_HEAD) - place)) for place in range(0, len(_HEAD), 8))
"""The first words of all usual texts, and which of their bytes are the same in all."""

_BEFORE_TYPE, _POINT, _BEFORE_KEY = ', "event_type": "', "POINT_IN_TIME", '", "key": "'
_KEY_AT = TAIL_AT + len(_BEFORE_TYPE + _POINT + _BEFORE_KEY)
"""Where the key of an event at one time begins; those of begins and ends stand a letter behind or before."""
SHORTEST = _KEY_AT + 8
"""No shorter text is looked at here, so that what is looked at lies within it."""


@dataclass(frozen=True, slots=True)
class Digits:
    """Thirteen digits of each text, as words: eight, and three zeros with the last five."""

    first: Words
    last: Words

    def only(self, places: Offsets | Flags) -> Digits:
        """Return those of the texts at these places."""
        return Digits(self.first[places], self.last[places])


def usual_heads(content: bytes, starts: Offsets) -> tuple[Flags, Digits]:
    """Return which texts begin with the head and thirteen digits of which the first is not 0, and these digits.

    Such a text is an event if the same text with other such digits is one. Its time may still be another: the tail may
    begin with further digits, or name the time again.
    """
    heads = words_by_row(content, starts, _WORDS_OF_HEAD)
    is_usual = (heads[:, 0] & _ARE_LETTERS[0]) == _LETTERS[0]
    for place in range(1, len(_LETTERS)):
        is_usual &= (heads[:, place] & _ARE_LETTERS[place]) == _LETTERS[place]
    low, middle, high = (heads[:, place] for place in range(_WORD_OF_DIGITS, _WORD_OF_DIGITS + 3))
    shift, rest = np.uint64(8 * _SHIFT), np.uint64(64 - 8 * _SHIFT)
    first_digits = (low >> shift) | (middle << rest)
    # Of the last digits' eight bytes three belong to what follows.
    last_digits = (((middle >> shift) | (high << rest)) << np.uint64(24)) | word(b"000")
    # The upper half byte of a digit, and of no other byte, is 3 before and after adding 6.
    upper, three, six = (word(bytes([value] * 8)) for value in (0xF0, 0x30, 0x06))
    is_usual &= (first_digits & (first_digits + six) & upper) == three
    is_usual &= (last_digits & (last_digits + six) & upper) == three
    is_usual &= (first_digits & np.uint64(0xFF)) != ord("0")
    return is_usual, Digits(first_digits, last_digits)


def times_ms(digits: Digits) -> Offsets:
    """Return the number that the digits write."""
    return _eight_digits(digits.first) * 100_000 + _eight_digits(digits.last)


def _eight_digits(digits: Words) -> Offsets:
    """Return the number that eight digits write, joining neighbours to pairs, fours and eight."""
    for width, mask in ((8, 0x000F_000F_000F_000F), (16, 0x0000_007F_0000_007F), (32, 0x0000_3FFF)):
        scale = np.uint64(10 ** (width // 8))
        digits = (digits & np.uint64(mask)) * scale + ((digits >> np.uint64(width)) & np.uint64(mask))
    return digits.view(np.int64)


def letters_about_keys(content: bytes, starts: Offsets) -> Words:
    """Return eight letters of each text, which tell keys apart, should it have the usual form."""
    (letters,) = words_at(content, starts + _KEY_AT, 1)
    return letters


def usual_letters(key: str) -> np.uint64:
    """Return the eight letters in a text of the usual form with that key."""
    event_type = "INTERVAL_START" if key.endswith("_start") else "INTERVAL_END" if key.endswith("_stop") else _POINT
    tail = f'{_BEFORE_TYPE}{event_type}{_BEFORE_KEY}{key}"'.encode()
    return word(tail[_KEY_AT - TAIL_AT :][:8])
