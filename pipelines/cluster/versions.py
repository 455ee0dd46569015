"""What must be the same on every machine of a cluster, so that tables are too: our code and what it rests on."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib import metadata

from pipelines.lake.code_versions import code_version

_LIBRARIES = ("polars", "pyarrow", "dataframely", "msgspec", "dagster", "dagster-dask", "dask", "distributed")
OURS = "rackrecon's code"
SAME_INSTALL = "install the same checkout and requirements-cluster.lock there and restart it"
"""What to do with a machine that differs."""


@cache
def versions() -> Mapping[str, str]:
    """Return the version of Python, of each library that decides what is written or sent, and a digest of our code."""
    return {
        OURS: code_version("."),
        "Python": ".".join(platform.python_version_tuple()[:2]),
        **{name: metadata.version(name) for name in _LIBRARIES},
    }


def differences(theirs: Mapping[str, str], ours: Mapping[str, str]) -> list[str]:
    """Return what another machine has otherwise, each as words such as `polars 2.1.0 (here 2.2.0)`."""
    return [f"{name} {theirs.get(name, 'none')} (here {ours[name]})" for name in ours if theirs.get(name) != ours[name]]
