"""The Dagster UI as a child process: started on the loopback address, stopped with all of its own children."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from pipelines._cli.messages import say

if TYPE_CHECKING:
    from types import FrameType

    from pipelines.settings import Settings

HOST = "127.0.0.1"
_SECONDS_TO_STOP = 20.0


def serve(settings: Settings, port: int) -> int:
    """Run the webserver and the daemon until interrupted; return the exit code of `dagster dev`."""
    from pipelines.settings import REPOSITORY

    environment = {
        **os.environ,
        "DAGSTER_HOME": str(settings.prepare_dagster_home()),
        "RACKRECON_DATA": str(settings.data),
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, "-m", "dagster", "dev", "-w", str(REPOSITORY / "workspace.yaml")]
    command += ["-h", HOST, "-p", str(port), "--log-level", "warning"]
    say(f"Dagster UI on http://{HOST}:{port} (stop it with Ctrl-C)")
    with subprocess.Popen(command, cwd=REPOSITORY, env=environment, start_new_session=True) as server:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda _number, _frame: _ask_to_stop(server, _number, _frame))
        code = server.wait()
        _stop_group(server)
    return 0 if code in (0, -signal.SIGTERM, -signal.SIGINT) else code


def _ask_to_stop(server: subprocess.Popen[bytes], _number: int, _frame: FrameType | None) -> None:
    """Interrupt the server once; a second request, or one that takes too long, ends the whole group."""
    if server.poll() is not None:
        return
    server.send_signal(signal.SIGTERM)
    signal.signal(signal.SIGALRM, lambda *_: _stop_group(server))
    signal.setitimer(signal.ITIMER_REAL, _SECONDS_TO_STOP)
    for again in (signal.SIGINT, signal.SIGTERM):
        signal.signal(again, lambda *_: _stop_group(server))


def _stop_group(server: subprocess.Popen[bytes]) -> None:
    """End what is left of the server's own session: the code server, the daemon, runs under way."""
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
