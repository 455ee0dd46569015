"""The suites in a process of their own: it imports Great Expectations while other work goes on, and frees its memory.

Run as a program, this module is that process: frames come in on stdin, rows of `mart.checks` go out on stdout.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import BinaryIO

import msgspec
import polars as pl

from pipelines.ending import end_with
from pipelines.quality.gate import errored_outcomes, import_great_expectations, run_checks
from pipelines.quality.outcomes import outcomes_frame
from pipelines.quality.suites import CHECKS

_LONGEST_ERROR = 500


class SuitesProcess:
    """One process at a time, started before it is needed or when it is."""

    def __init__(self) -> None:
        self._waiting: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process, unless one waits already; it ends with this one."""
        if self._waiting is None:
            # -P: a folder that happens to be called like a module of ours is not imported.
            command = [sys.executable, "-P", "-m", "pipelines.quality.apart"]
            self._waiting = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )

    def run(self, frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        """Return the rows of `mart.checks` for every check of the suites; a process that breaks errors them all.

        Args:
            frames: The tables that the checks are about, by name.
        """
        self.start()
        process, self._waiting = self._waiting, None
        assert process is not None
        answer, complaint = process.communicate(_encode({name: frames[name] for name in frames if name in _CHECKED}))
        if process.returncode == 0:
            return _decode(answer)["mart.checks"]
        last = complaint.decode(errors="replace").strip()[-_LONGEST_ERROR:]
        return outcomes_frame(errored_outcomes(CHECKS, f"the process ended with {process.returncode}: {last}"))

    def stop(self) -> None:
        """End a process that waits for frames and will not get any."""
        if self._waiting is not None:
            self._waiting.kill()
            self._waiting.communicate()
            self._waiting = None


_CHECKED = frozenset(check.table for check in CHECKS)

SUITES = SuitesProcess()
"""The process of this program."""


def _encode(frames: Mapping[str, pl.DataFrame]) -> bytes:
    return msgspec.msgpack.encode({name: _ipc(frame) for name, frame in frames.items()})


def _ipc(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    # As a stream, since a file would be written by threads of Polars, which call back into Python.
    frame.write_ipc_stream(buffer)
    return buffer.getvalue()


def _decode(content: bytes) -> dict[str, pl.DataFrame]:
    frames = msgspec.msgpack.decode(content, type=dict[str, bytes])
    return {name: pl.read_ipc_stream(io.BytesIO(frame)) for name, frame in frames.items()}


def _answer(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    import_great_expectations()
    content = incoming.read()
    if content:
        outgoing.write(_encode({"mart.checks": outcomes_frame(run_checks(CHECKS, _decode(content)))}))


def _main() -> None:
    """Answer once; what libraries print goes to stderr and never between the bytes of the answer."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as outgoing:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        with suppress(KeyboardInterrupt):
            _answer(sys.stdin.buffer, outgoing)


if __name__ == "__main__":
    end_with(_main)
