"""The host of `published_host.py` as a process, and settings that point at it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.settings import Settings
from pipelines.sources.http import Http, host_of


class Host:
    """Talks to the process that plays the host."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self.other_address = f"http://localhost:{port}"

    def hold(self, **state: Any) -> None:
        """Tell the host what it holds."""
        self._send("PUT", "/_state", state)

    def plan(self, path: str, *answers: dict[str, Any]) -> None:
        """Tell the host how to answer the next requests for a path."""
        self._send("PUT", "/_plan", {"path": path, "answers": answers})

    def forget(self) -> None:
        """Empty the host's log and plans."""
        self._send("DELETE", "/_log")

    def log(self) -> list[dict[str, Any]]:
        """Return the requests since then."""
        found: list[dict[str, Any]] = json.loads(self._send("GET", "/_log"))
        return found

    def paths(self) -> list[str]:
        """Return the paths of those requests, each with its status."""
        return [f"{entry['path']} {entry.get('status')}" for entry in self.log()]

    def _send(self, method: str, path: str, content: object = None) -> bytes:
        body = None if content is None else json.dumps(content).encode()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        request = urllib.request.Request(self.address + path, data=body, method=method)
        with opener.open(request, timeout=30) as answer:
            return bytes(answer.read())


@pytest.fixture(scope="session")
def host_process() -> Iterator[Host]:
    command = [sys.executable, str(Path(__file__).with_name("published_host.py"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        yield Host(int(process.stdout.readline()))
        process.kill()


@pytest.fixture
def host(host_process: Host) -> Iterator[Host]:
    host_process.forget()
    host_process.hold(page_size=2, repositories=[], pages={})
    yield host_process
    host_process.forget()


@pytest.fixture
def environment(tmp_path: Path, host: Host) -> dict[str, str]:
    """Give the variables under which everything is asked of the host, in a hurry."""
    return {
        "RACKRECON_DATA": str(tmp_path / "data"),
        "RACKRECON_RESULTS_API": host.address,
        "RACKRECON_RESULTS_ARCHIVES": host.address,
        "RACKRECON_RETRY_SECONDS": "0.01",
        "RACKRECON_HTTP_SECONDS": "2",
        "RACKRECON_WAIT_SECONDS": "3",
        "RACKRECON_CONTACT": "https://example.org/rackrecon",
    }


@pytest.fixture
def live_settings(environment: dict[str, str]) -> Settings:
    return Settings.from_environment(environment)


@pytest.fixture
def told() -> list[str]:
    """Give the list that lines on what is tried again go to."""
    return []


@pytest.fixture
def http(live_settings: Settings, told: list[str]) -> Iterator[Http]:
    with Http(live_settings, tell=told.append) as client:
        yield client


__all__ = ["Host", "host_of"]
