"""The command as a process: how it ends when a source, the lock or a port is at fault."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.lake.locks import exclusive_lock
from pipelines.settings import Settings
from tests.command import COMMAND, free_port, rackrecon, ui_answers


def test_a_source_that_cannot_be_read_ends_with_3_and_its_reason(settings: Settings, tmp_path: Path) -> None:
    broken = tmp_path / "training_results_v5.0.tar.gz"
    broken.write_bytes(b"this is no archive")
    result = rackrecon("refresh", "--from", str(broken), "--from", str(tmp_path / "missing"))
    assert result.returncode == 3
    assert f"{broken}: expected" in result.stderr
    assert f"{tmp_path / 'missing'}: expected a tarball or a checkout folder, found nothing" in result.stderr
    assert "Traceback" not in result.stderr
    assert not settings.warehouse.exists()


def test_what_failed_is_said_once_by_name_and_again_at_the_end(
    settings: Settings, tarball: Callable[..., Path], tmp_path: Path
) -> None:
    missing = tmp_path / "nope.tar.gz"
    arguments = [*COMMAND, "refresh", "--from", str(tarball()), "--from", str(missing)]
    told = subprocess.run(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=200
    )
    lines = told.stdout.splitlines()
    failure = f"failed: {missing}: expected a tarball or a checkout folder, found nothing"
    assert told.returncode == 3
    assert [number for number, line in enumerate(lines) if str(missing) in line] == [
        lines.index(failure),
        len(lines) - 1,
    ]
    assert lines[-1] == failure
    assert lines[-2].startswith(f"Where     {settings.warehouse}")


def test_who_holds_the_lock_is_said(settings: Settings) -> None:
    with exclusive_lock(settings.lock, 1.0):
        result = rackrecon("refresh", RACKRECON_LOCK_SECONDS="0.3")
    assert result.returncode == 2
    assert f"waiting for another refresh to end: process {os.getpid()}" in result.stderr
    assert f"held by process {os.getpid()}" in result.stderr


def test_a_second_refresh_waits_for_the_first(settings: Settings, tarball: Callable[..., Path]) -> None:
    arguments = [*COMMAND, "refresh", "--from", str(tarball())]
    both = [subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    told = [process.communicate(timeout=200)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    assert sum("waiting for another refresh to end: process" in text for text in told) == 1
    assert sum("training-v5.0: refreshed" in text for text in told) == 1
    assert sum("Nothing to do" in text for text in told) == 1


@pytest.mark.server
@pytest.mark.timeout(600)
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_the_ui_is_on_the_loopback_address_and_stops_with_its_children(settings: Settings, how: signal.Signals) -> None:
    port = free_port()
    with subprocess.Popen([*COMMAND, "ui", "--port", str(port)], stderr=subprocess.DEVNULL) as process:
        try:
            wait_for(lambda: ui_answers(port), seconds=240)
            session = children_of(process.pid)
            assert len(session) == 1
            assert len(members_of(session[0])) > 2
            assert listening_addresses(port) == {"127.0.0.1"}
            process.send_signal(how)
            assert process.wait(120) == 0
            wait_for(lambda: not members_of(session[0]), seconds=120)
        finally:
            process.kill()


def test_a_port_that_is_taken_is_an_error(settings: Settings) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        result = rackrecon("ui", "--port", str(listener.getsockname()[1]))
    assert result.returncode == 2
    assert "in use" in result.stderr


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.2)


def processes() -> list[tuple[int, int, int]]:
    """Return process, parent and group of every process that runs."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                found.append((int(entry.name), int(fields[1]), int(fields[2])))
    return found


def children_of(pid: int) -> list[int]:
    return [process for process, parent, _ in processes() if parent == pid]


def members_of(group: int) -> list[int]:
    return [process for process, _, of in processes() if of == group]


def listening_addresses(port: int) -> set[str]:
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            address, _, number = fields[1].rpartition(":")
            if int(number, 16) == port and fields[3] == "0A":
                found.add(socket.inet_ntoa(bytes.fromhex(address)[::-1]) if len(address) == 8 else address)
    return found
