"""The refresh lock: one holder, named; a dead one is no obstacle."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipelines.lake.locks import Holder, LockedError, exclusive_lock, read_holder
from pipelines.lake.storage import StorageError

HOLD = """
import sys, time
from pathlib import Path
from pipelines.lake.locks import exclusive_lock
with exclusive_lock(Path(sys.argv[1]), 0):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def hold(path: Path, seconds: float) -> subprocess.Popen[str]:
    """Start a process that holds the lock, and wait until it does."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path), str(seconds)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    """Wait for a process and close what it wrote to."""
    process.communicate(timeout=200)


def test_the_lock_says_who_holds_it_and_since_when(tmp_path: Path) -> None:
    path = tmp_path / "data" / "refresh.lock"
    with exclusive_lock(path, 0, clock=lambda: datetime(2026, 6, 1, 12, tzinfo=UTC)):
        holder = read_holder(path)
        assert holder is not None
        assert (holder.pid, holder.since) == (os.getpid(), "2026-06-01T12:00:00+00:00")
        assert holder.host
        assert holder.command.startswith(shlex.quote(sys.argv[0]))
    assert read_holder(path) is None
    with exclusive_lock(path, 0):
        assert read_holder(path) is not None


def test_a_second_process_is_told_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "refresh.lock"
    process = hold(path, 60)
    told: list[Holder | None] = []
    start = time.monotonic()
    with pytest.raises(LockedError) as caught, exclusive_lock(path, 0.3, on_wait=told.append):
        pass
    assert 0.3 <= time.monotonic() - start < 50
    assert len(told) == 1
    assert told[0] is not None
    assert told[0].pid == process.pid
    assert f"held by process {process.pid} on " in str(caught.value)
    assert "waited 0.3 s" in str(caught.value)
    process.kill()
    end(process)


def test_a_second_process_waits_its_turn(tmp_path: Path) -> None:
    path = tmp_path / "refresh.lock"
    process = hold(path, 0.5)
    with exclusive_lock(path, 200):
        holder = read_holder(path)
        assert holder is not None
        assert holder.pid == os.getpid()
    end(process)


def test_a_killed_holder_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "refresh.lock"
    process = hold(path, 60)
    process.send_signal(signal.SIGKILL)
    end(process)
    left = read_holder(path)
    assert left is not None
    assert left.pid == process.pid
    with exclusive_lock(path, 0):
        pass


def test_an_error_frees_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "refresh.lock"
    with pytest.raises(ZeroDivisionError), exclusive_lock(path, 0):
        _ = 1 // 0
    with exclusive_lock(path, 0):
        pass


def test_junk_in_the_lock_file(tmp_path: Path) -> None:
    path = tmp_path / "refresh.lock"
    path.write_bytes(b"\xffjunk")
    with exclusive_lock(path, 0):
        assert read_holder(path) is not None


def test_a_lock_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with (
        pytest.raises(StorageError, match="the lock file cannot be opened"),
        exclusive_lock(tmp_path / "file" / "x", 0),
    ):
        pass
