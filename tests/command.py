"""The command in a process of its own, as a shell runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-c", "from pipelines.cli import main; main()"]


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
