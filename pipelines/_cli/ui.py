"""The Dagster UI as a child process: started on the loopback address, stopped with all of its own children."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from pipelines._cli.messages import Exit, UsageError, say

if TYPE_CHECKING:
    from pipelines.settings import Settings

HOST = "127.0.0.1"
_SECONDS_TO_STOP = 20.0
_REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LINES_SHOWN = 20


def serve(settings: Settings, port: int) -> int:
    """Run the webserver and the daemon until interrupted; return the exit code."""
    from pipelines.assets.databases import make_databases
    from pipelines.settings import REPOSITORY

    _refuse_a_taken_port(port)
    home = settings.prepare_dagster_home()
    make_databases(home)
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(home),
        "RACKRECON_DATA": str(settings.data),
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, "-m", "dagster", "dev", "-w", str(REPOSITORY / "workspace.yaml")]
    command += ["-h", HOST, "-p", str(port), "--log-level", "warning"]
    log = home / "ui.log"
    address = f"http://{HOST}:{port}"
    say(f"Dagster UI on {address} in a moment; stop it with Ctrl-C. Its log: {log}")
    say(f"Lineage is at {address}/asset-groups, what was run at {address}/runs")
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, cwd=REPOSITORY, env=environment, stdout=output, stderr=output, start_new_session=True
        ) as server,
    ):
        _stop_when_told(server)
        code = server.wait()
        _stop_group(server)
    if code not in (0, -signal.SIGKILL):
        say("\n".join(log.read_text("utf-8", errors="replace").splitlines()[-_LINES_SHOWN:]))
        return int(Exit.usage)
    return int(Exit.fine)


def _refuse_a_taken_port(port: int) -> None:
    """Say so at once; `dagster dev` would wait without a word."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise UsageError(
                f"port {port} on {HOST} cannot be used: {error.strerror}; choose another: --port"
            ) from None


def _stop_when_told(server: subprocess.Popen[bytes]) -> None:
    """Pass the first request to stop on to the server; a second one, or a slow stop, ends its whole session."""

    def end_at_once(*_: object) -> None:
        _stop_group(server)

    def ask(*_: object) -> None:
        server.send_signal(signal.SIGTERM)
        for number in (*_REQUESTS, signal.SIGALRM):
            signal.signal(number, end_at_once)
        signal.setitimer(signal.ITIMER_REAL, _SECONDS_TO_STOP)

    for number in _REQUESTS:
        signal.signal(number, ask)


def _stop_group(server: subprocess.Popen[bytes]) -> None:
    """End what is left of the server's own session: the code server, the daemon, runs under way."""
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
