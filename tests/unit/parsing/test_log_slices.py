"""Slices of a content, in plain Python and by Arrow."""

from __future__ import annotations

import math
import re
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing._log_slices import ArrowSlices, PlainSlices, Slices, as_ones

PARTS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([b"", b"a", b"a7", b"a8", b"ab" * 40, b"\x00", b"\xff0/:9"])),
    min_size=1,
)
both = pytest.mark.parametrize("kind", [PlainSlices, ArrowSlices])


def cut(kind: type[Slices], parts: list[tuple[int, bytes]], *, digits_alike: bool = False) -> Slices:
    content = b"".join(b"-" * gap + slice_ for gap, slice_ in parts) + b"."
    ends = np.cumsum([gap + len(slice_) for gap, slice_ in parts])
    starts = ends - [len(slice_) for _, slice_ in parts]
    return kind.with_digits_alike(content, starts, ends) if digits_alike else kind.of(content, starts, ends)


def as_list(slices: Slices) -> list[bytes]:
    distinct, numbers = slices.distinct()
    assert len(set(distinct)) == len(distinct)
    return [distinct[number] for number in numbers.tolist()]


@both
@given(parts=PARTS)
def test_distinct_slices_and_which_each_is(kind: type[Slices], parts: list[tuple[int, bytes]]) -> None:
    assert as_list(cut(kind, parts)) == [slice_ for _, slice_ in parts]


@both
@given(parts=PARTS)
def test_a_one_stands_for_every_digit(kind: type[Slices], parts: list[tuple[int, bytes]]) -> None:
    expected = [bytes(ord("1") if chr(letter) in "0123456789" else letter for letter in text) for _, text in parts]
    assert list(map(as_ones, as_list(cut(kind, parts, digits_alike=True)))) == expected


def test_blocks_of_characters_join_without_seam() -> None:
    parts = [(1, bytes(range(256)) * 700), (0, b"19" * 70_000)]
    by_arrow = map(as_ones, as_list(cut(ArrowSlices, parts, digits_alike=True)))
    assert list(by_arrow) == [re.sub(rb"[0-9]", b"1", slice_) for _, slice_ in parts]


@both
@given(numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_are_read_to_the_last_bit(kind: type[Slices], numbers: list[float]) -> None:
    read = cut(kind, [(1, repr(number).encode()) for number in numbers]).numbers()
    assert [struct.pack("d", number) for number in read.tolist()] == [struct.pack("d", number) for number in numbers]


@both
@pytest.mark.parametrize(
    ("text", "number"),
    [
        (b"0", 0.0),
        (b"-0", 0.0),
        (b"-0.0", -0.0),
        (b"-12", -12.0),
        (b"1E5", 1e5),
        (b"1e+05", 1e5),
        (b"0.1e-07", 1e-8),
        (b"999999999999999", 999_999_999_999_999.0),
        (b"2.50000000000000000000000000000000000000001", 2.5),
        (b"0.30000000000000004440892098500626", 0.30000000000000004),
        (b"9007199254740993.0000000000000000001", 9007199254740994.0),
    ],
)
def test_forms_of_numbers(kind: type[Slices], text: bytes, number: float) -> None:
    (read,) = cut(kind, [(0, text)]).numbers().tolist()
    assert read == number
    # A whole number has no sign at 0.
    assert math.copysign(1, read) == math.copysign(1, number) or text == b"-0"
