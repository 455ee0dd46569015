"""The published rounds as a benchmark needs them: result logs in memory, or a private copy of some submitters."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

from pipelines.parsing.layout import classify
from pipelines.parsing.published import PublishedFile
from pipelines.settings import Settings
from pipelines.sources.repository import open_repository

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = (REPOSITORY / os.environ.get("RACKRECON_SHARED", "../shared")).resolve()
ROUNDS = ("training-v5.0", "training-v5.1")


def archive(round_name: str) -> Path:
    """Return the round's archive."""
    usage, _, version = round_name.partition("-")
    return SHARED / "mlperf" / f"{usage}_results_{version}.tar.gz"


def files(round_name: str, kinds: set[str]) -> Iterator[PublishedFile]:
    """Give the files of those kinds as they stand in the archive, one in memory at a time."""
    repository = open_repository(archive(round_name), Settings.from_environment().limits)
    for file in repository.files(_kept(kinds)):
        yield PublishedFile(round_name, file.path, file.sha256, file.content)


def result_logs(round_name: str) -> list[PublishedFile]:
    """Return all result logs of the round."""
    return list(files(round_name, {"result_log"}))


def private_copy(round_name: str, submitters: tuple[str, ...] | None, folder: Path) -> Path:
    """Unpack those submitters' results, or all, below `folder`; the official tools rewrite files in their input."""
    root = folder / round_name
    with tarfile.open(archive(round_name)) as source:
        for member in source:
            path = member.name.partition("/")[2]
            if member.isfile() and "/" in path and (submitters is None or path.split("/")[0] in submitters):
                target = root / path
                target.parent.mkdir(parents=True, exist_ok=True)
                content = source.extractfile(member)
                assert content is not None
                target.write_bytes(content.read())
    return root


def _kept(kinds: set[str]) -> Callable[[str], str | None]:
    def keep(path: str) -> str | None:
        placed = classify(path)
        return placed.kind if placed is not None and placed.kind in kinds else None

    return keep
