"""A file whose bytes are asked for range by range, as they are read.

Where the bytes are belongs to who gives the ranges.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import BinaryIO, cast

BUFFER_BYTES = 1 << 20
"""Least that is asked for at once, so that reading on in small pieces asks seldom."""


def buffered(size_bytes: int, get_range: Callable[[int, int], bytes]) -> BinaryIO:
    """Return a file for reading at any place.

    Args:
        size_bytes: Its length.
        get_range: Gives the bytes from a start on, as many as the second argument says.
    """
    return cast(BinaryIO, io.BufferedReader(RangedFile(size_bytes, get_range), BUFFER_BYTES))


class RangedFile(io.RawIOBase):
    """The file without the buffer."""

    def __init__(self, size_bytes: int, get_range: Callable[[int, int], bytes]) -> None:
        self._size = size_bytes
        self._place = 0
        self._get_range = get_range

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def seekable(self) -> bool:
        """Return that it can be read at any place."""
        return True

    def tell(self) -> int:
        """Return the place of the next byte."""
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a place and return it."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        self._place = max(0, start + offset)
        return self._place

    # RawIOBase takes any writable buffer, of which io hands over memoryviews only.
    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer as far as there are bytes and return how many."""
        length = min(len(buffer), max(0, self._size - self._place))
        if length:
            buffer[:length] = self._get_range(self._place, length)
            self._place += length
        return length
