"""Tarballs made to order, sound and broken."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable, Iterable

import pytest

COMMIT = "0fdc28f013256aea84fa36fdaf1e0fa46094b18c"
TOP = f"training_results_v5.0-{COMMIT}"
LOG = "Acme/results/one/bert/result_0.txt"


def tar_of(members: Iterable[tarfile.TarInfo | tuple[str, bytes]], comment: str | None = COMMIT) -> bytes:
    """Return an uncompressed tarball; plain pairs are files below the usual top folder."""
    buffer = io.BytesIO()
    headers = {"comment": comment} if comment else {}
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT, pax_headers=headers) as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member, io.BytesIO(bytes(member.size)) if member.isreg() else None)
            else:
                header = tarfile.TarInfo(f"{TOP}/{member[0]}")
                header.size = len(member[1])
                tar.addfile(header, io.BytesIO(member[1]))
    return buffer.getvalue()


@pytest.fixture
def make_tarball() -> Callable[..., bytes]:
    """Give a function that makes a gzipped tarball of members."""

    def make(members: Iterable[tarfile.TarInfo | tuple[str, bytes]], comment: str | None = COMMIT) -> bytes:
        return gzip.compress(tar_of(members, comment), mtime=0)

    return make


@pytest.fixture
def sound_tarball(make_tarball: Callable[..., bytes]) -> bytes:
    """Give a tarball as the host serves it, with a log, a description and a file that no parser reads."""
    return make_tarball(
        [("Acme/LICENSE", b"free"), (LOG, b":::MLLOG {}\n" * 100), ("Acme/systems/one.json", b'{"system_name": "one"}')]
    )
