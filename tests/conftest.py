"""Shared fixtures: where the real data is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The time of one example tells how busy a shared machine is, not whether the code is right.
settings.register_profile("no_deadline", deadline=None)
settings.load_profile("no_deadline")

REPOSITORY = Path(__file__).resolve().parents[1]


def shared_folder() -> Path:
    """Return the folder of real archives and golden figures; it need not exist."""
    return (REPOSITORY / os.environ.get("RACKRECON_SHARED", "../shared")).resolve()


@pytest.fixture(scope="session")
def shared() -> Path:
    """Give the folder of real data, or skip with the reason."""
    folder = shared_folder()
    if not (folder / "mlperf").is_dir():
        pytest.skip(f"no real data at {folder}: set RACKRECON_SHARED")
    return folder
