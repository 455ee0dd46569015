"""What a table was made by: a digest of the modules that make it, so that a changed rule is a reason to work again."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_READ_ENDINGS = (".py", ".toml", ".csv", ".json")


@cache
def code_version(*places: str) -> str:
    """Return a digest of the named modules and packages of `pipelines`, with the data files beside them.

    Args:
        places: Paths inside the package, such as `parsing` or `schemas/core.py`; `.` is the whole package.
    """
    digest = hashlib.sha256()
    for path in sorted(path for place in places for path in _files(_PACKAGE / place)):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise FileNotFoundError(f"{place}: no such module or package")
    return [path for path in place.rglob("*") if path.suffix in _READ_ENDINGS and path.is_file()]
