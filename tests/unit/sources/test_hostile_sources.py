"""A log of two gigabytes and a bomb: refused by default after a few bytes of it, in a few bytes of memory."""

from __future__ import annotations

import os
import tarfile
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipelines.settings import Limits, Settings
from pipelines.sources.archives import Readable
from pipelines.sources.errors import SourceError
from pipelines.sources.repository import KeptFile, open_repository, open_tarball_stream

TWO_GIGABYTES = 2_000_000_000
COMMIT = "0123456789abcdef0123456789abcdef01234567"
LOG = "Acme/results/one/bert/result_0.txt"


@contextmanager
def memory_under(most_bytes: int) -> Iterator[None]:
    """Fail where the code within holds more at once."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most_bytes
    finally:
        tracemalloc.stop()


def keep(path: str) -> str:
    return "result_log"


def read_all(stream: Readable, limits: Limits) -> list[KeptFile]:
    return list(open_tarball_stream(stream, "it", limits).files(keep))


class Endless:
    """A tarball whose one log goes on for ever, made as it is read."""

    def __init__(self, size_bytes: int) -> None:
        header = tarfile.TarInfo(f"training_results_v5.0-{COMMIT}/{LOG}")
        header.size = size_bytes
        self._head = header.tobuf()
        self.taken = 0

    def read(self, size: int, /) -> bytes:
        chunk, self._head = self._head[:size], self._head[size:]
        chunk = chunk or b":::MLLOG {}\n" * (size // 12 + 1)
        self.taken += len(chunk[:size])
        return chunk[:size]


def test_two_gigabytes_in_a_tarball_are_refused_before_they_are_read() -> None:
    stream = Endless(TWO_GIGABYTES)
    with (
        memory_under(1 << 20),
        pytest.raises(SourceError, match=r"at most 134217728 bytes \(RACKRECON_MAX_MEMBER_BYTES\)"),
    ):
        open_tarball_stream(stream, "it", Settings.from_environment({}).limits)
    assert stream.taken < 10_000


def test_a_tarball_without_end_ends_at_the_limit() -> None:
    stream = Endless(1 << 30)
    with memory_under(64 << 20), pytest.raises(SourceError, match="RACKRECON_MAX_TOTAL_BYTES"):
        read_all(stream, Limits(member_bytes=1 << 41, total_bytes=10 << 20))
    assert stream.taken < 12 << 20


def test_two_gigabytes_in_a_folder_are_refused_before_they_are_read(tmp_path: Path) -> None:
    log = tmp_path / "training_results_v5.0" / LOG
    log.parent.mkdir(parents=True)
    log.touch()
    os.truncate(log, TWO_GIGABYTES)
    with memory_under(1 << 20), pytest.raises(SourceError, match=rf"{LOG}: expected at most 134217728 bytes"):
        list(open_repository(tmp_path / "training_results_v5.0", Limits()).files(keep))


def test_a_bomb_is_refused_while_it_is_unpacked() -> None:
    class Bomb:
        """Gzip of a tarball of zeros after one header: a megabyte becomes a gigabyte."""

        def __init__(self) -> None:
            self._packer = zlib.compressobj(9, wbits=31)
            header = tarfile.TarInfo(f"training_results_v5.0-{COMMIT}/{LOG}")
            header.size = 100 << 20
            self._waiting = self._packer.compress(header.tobuf()) + self._packer.flush(zlib.Z_SYNC_FLUSH)
            self.taken = 0

        def read(self, size: int, /) -> bytes:
            while len(self._waiting) < size and self.taken < 1 << 20:
                self._waiting += self._packer.compress(bytes(1 << 16)) + self._packer.flush(zlib.Z_SYNC_FLUSH)
            chunk, self._waiting = self._waiting[:size], self._waiting[size:]
            self.taken += len(chunk)
            return chunk

    bomb = Bomb()
    with memory_under(64 << 20), pytest.raises(SourceError, match="RACKRECON_MAX_TOTAL_BYTES"):
        read_all(bomb, Limits(total_bytes=8 << 20))
    assert bomb.taken < 1 << 20


def test_every_limit_is_a_setting_with_a_default() -> None:
    settings = {
        "RACKRECON_MAX_MEMBER_BYTES": "1",
        "RACKRECON_MAX_TOTAL_BYTES": "2",
        "RACKRECON_MAX_MEMBERS": "3",
        "RACKRECON_MAX_NAME_BYTES": "4",
        "RACKRECON_LINKS": "skip",
    }
    assert Settings.from_environment(settings).limits == Limits(1, 2, 3, 4, skip_links=True)
    assert Settings.from_environment({}).limits == Limits()
