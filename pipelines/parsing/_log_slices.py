"""Slices of a content: cut out, compared with one another and read as numbers.

How many slices are handled at once belongs here, in plain Python or by Arrow; what they say does not.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from pipelines.parsing._log_lines import Floats, Offsets

_BLOCK_BYTES = 2**18
_ZERO, _NINE = b"09"
_ALL_BYTES = bytes(range(256))
_NINES = np.full(_BLOCK_BYTES, _NINE - _ZERO, np.uint8)
"""One for each byte of a block: NumPy compares an array with another in a quarter of the time that a number takes."""
_ONES_OF_DIGITS = bytes(b"1"[0] if byte <= _NINE - _ZERO else (byte + _ZERO) % 256 for byte in _ALL_BYTES)


_decode_numbers = msgspec.json.Decoder(list[float]).decode


class PlainSlices:
    """Slices as a list of bytes, for where there are few."""

    def __init__(self, slices: list[bytes]) -> None:
        self._slices = slices

    @classmethod
    def of(cls, content: bytes, starts: Offsets, ends: Offsets) -> PlainSlices:
        """Cut them out of the content; they lie behind one another."""
        return cls([content[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)])

    @classmethod
    def with_digits_alike(cls, content: bytes, starts: Offsets, ends: Offsets) -> PlainSlices:
        """Cut them out of the content, in the letters that `as_ones` turns back, in which all digits are the same."""
        # To copy a whole content is faster than to look at each slice.
        alike = np.frombuffer(bytearray(content), np.uint8)
        _make_digits_alike(alike)
        return cls.of(alike.tobytes(), starts, ends)

    def distinct(self) -> tuple[list[bytes], Offsets]:
        """Return the distinct ones, and for each slice the number of the one it is equal to."""
        numbers: dict[bytes, int] = {}
        of_slices = [numbers.setdefault(slice_, len(numbers)) for slice_ in self._slices]
        return list(numbers), np.array(of_slices, np.int64)

    def numbers(self) -> Floats:
        """Return the numbers that they write, as JSON does."""
        return np.array(_decode_numbers(b"[" + b",".join(self._slices) + b"]"), np.float64)


class ArrowSlices:
    """Slices as an array of Arrow, which takes a quarter of the time."""

    def __init__(self, array: Any) -> None:
        self._array = array

    @classmethod
    def of(cls, content: bytes, starts: Offsets, ends: Offsets) -> ArrowSlices:
        """Cut them out of the content; they lie behind one another."""
        pa = arrow()
        # An array has no gaps, so first those between the slices are members of one too.
        bounds = np.empty(2 * len(starts) + 1, np.int64)
        bounds[:-1:2], bounds[1::2], bounds[-1] = starts, ends, len(content)
        buffers = [None, pa.py_buffer(bounds), pa.py_buffer(content)]
        with_gaps = pa.Array.from_buffers(pa.large_binary(), 2 * len(starts), buffers)
        chosen = pa.array(np.arange(0, 2 * len(starts), 2))
        return cls(pa.compute.take(with_gaps, chosen, memory_pool=pa.system_memory_pool()))

    @classmethod
    def with_digits_alike(cls, content: bytes, starts: Offsets, ends: Offsets) -> ArrowSlices:
        """Cut them out of the content, in the letters that `as_ones` turns back, in which all digits are the same."""
        slices = cls.of(content, starts, ends)
        *_, characters = slices._array.buffers()
        _make_digits_alike(np.frombuffer(characters, np.uint8))
        return slices

    def distinct(self) -> tuple[list[bytes], Offsets]:
        """Return the distinct ones, and for each slice the number of the one it is equal to."""
        pa = arrow()
        encoded = pa.compute.dictionary_encode(self._array, memory_pool=pa.system_memory_pool())
        # NumPy takes thrice the time to index with other integers than its own.
        return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)

    def numbers(self) -> Floats:
        """Return the numbers that they write, as JSON does."""
        pa = arrow()
        texts = self._array.view(pa.large_string())
        numbers: Floats = texts.cast(pa.float64(), memory_pool=pa.system_memory_pool()).to_numpy()
        return numbers


Slices = PlainSlices | ArrowSlices


@cache
def arrow() -> Any:
    """Return the module of Arrow."""
    import pyarrow.compute  # noqa: PLC0415  # loading it takes a third of what a small command may take

    return pyarrow


def as_ones(alike: bytes) -> bytes:
    """Return a slice of `with_digits_alike` as it stands in the content, but with a 1 in place of every digit."""
    return alike.translate(_ONES_OF_DIGITS)


def _make_digits_alike(characters: npt.NDArray[np.uint8]) -> None:
    """Count bytes from the digit 0 on, and take all digits for a 9; blocks stay in the processor's cache."""
    for first in range(0, len(characters), _BLOCK_BYTES):
        block = characters[first : first + _BLOCK_BYTES]
        np.subtract(block, np.uint8(_ZERO), out=block)
        np.maximum(block, _NINES[: len(block)], out=block)
