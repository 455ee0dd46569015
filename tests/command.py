"""The command in a process of its own, as a shell runs it, and the Dagster UI that it serves."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

COMMAND = [sys.executable, "-m", "pipelines"]


def rackrecon(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end, with these variables beside those that are set."""
    return subprocess.run(
        [*COMMAND, *arguments],
        env={**os.environ, **environment},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


def free_port() -> int:
    """Return a port of the loopback address that nobody listens on, and that nobody takes before it is bound.

    It is below those that the system hands out, and another process of tests looks among a thousand of its own.
    """
    first = 10_000 + 1000 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    for port in secrets.SystemRandom().sample(range(first, first + 1000), 1000):
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError(f"no port is free from {first} on")


def ui_answers(port: int) -> bool:
    """Say whether the Dagster UI answers on a port of this machine."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/server_info", timeout=2) as response:
            return b"dagster" in response.read()
    except OSError:
        return False
