"""One data folder, filled from the embedded snapshot, for all tests here; nobody writes to it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.lake.locks import exclusive_lock
from tests.command import COMMAND
from tests.command import rackrecon as run_command


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder; with several test processes the first one fills it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    data = shared / "filled"
    with exclusive_lock(shared / "filled.lock", 280.0):
        if not (data / "warehouse.duckdb").is_file():
            environment = {**os.environ, "RACKRECON_DATA": str(data)}
            subprocess.run([*COMMAND, "refresh"], env=environment, check=True, capture_output=True, timeout=270)
    return data


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def rackrecon(filled: Path) -> Run:
    """Give the command as a process on that folder."""

    def run(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        return run_command(*arguments, cwd=cwd, **{"RACKRECON_DATA": str(filled), "COLUMNS": "100", **environment})

    return run
