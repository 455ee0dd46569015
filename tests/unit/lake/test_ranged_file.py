"""A file read range by range: any place, any length, nothing asked for that is not there."""

from __future__ import annotations

import os

from pipelines.lake.ranged_file import BUFFER_BYTES, RangedFile, buffered


def test_a_ranged_file_is_a_file() -> None:
    content = bytes(range(100))
    asked: list[tuple[int, int]] = []

    def get_range(start: int, length: int) -> bytes:
        asked.append((start, length))
        return content[start : start + length]

    file = RangedFile(len(content), get_range)
    assert file.read(3) == b"\x00\x01\x02"
    assert (file.seek(-2, os.SEEK_END), file.read()) == (98, b"\x62\x63")
    assert (file.seek(200), file.read(5)) == (200, b"")
    assert (file.seek(10), file.seek(5, os.SEEK_CUR), file.read(1)) == (10, 15, b"\x0f")
    assert asked[0] == (0, 3)
    assert all(length > 0 for _, length in asked)


def test_reading_on_in_small_pieces_asks_seldom() -> None:
    content, asked = bytes(3 * BUFFER_BYTES), list[int]()

    def get_range(start: int, length: int) -> bytes:
        asked.append(length)
        return content[start : start + length]

    with buffered(len(content), get_range) as file:
        while file.read(1000):
            pass
    assert asked == [BUFFER_BYTES] * 3
