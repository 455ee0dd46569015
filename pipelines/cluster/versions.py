"""What must be the same on every machine of a cluster, so that tables are too: our code and what it rests on."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_READ_ENDINGS = (".py", ".toml", ".csv", ".json")
_LIBRARIES = ("polars", "pyarrow", "dataframely", "msgspec", "dagster", "dagster-dask", "dask", "distributed")
OURS = "rackrecon's code"


@cache
def versions() -> Mapping[str, str]:
    """Return the version of Python, of each library that decides what is written or sent, and a digest of our code."""
    return {
        OURS: _code_digest(),
        "Python": ".".join(platform.python_version_tuple()[:2]),
        **{name: metadata.version(name) for name in _LIBRARIES},
    }


def differences(theirs: Mapping[str, str], ours: Mapping[str, str]) -> list[str]:
    """Return what another machine has otherwise, each as words such as `polars 2.1.0 (here 2.2.0)`."""
    return [f"{name} {theirs.get(name, 'none')} (here {ours[name]})" for name in ours if theirs.get(name) != ours[name]]


def _code_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in _PACKAGE.rglob("*") if path.suffix in _READ_ENDINGS and path.is_file()):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]
