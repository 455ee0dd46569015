"""The host of `published_host.py` as a process, and settings that point at it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pipelines.refreshing import answers, flow, rounds
from pipelines.refreshing.flow import Report, RunOutcome
from pipelines.refreshing.live import take_in_from_hosts
from pipelines.refreshing.workshop import Workshop
from pipelines.settings import Settings
from pipelines.snapshot import Snapshot
from pipelines.sources.errors import SourceError
from pipelines.sources.http import Http
from tests.integration.conftest import published_files

MOMENT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
"""When everything happens in tests that compare bytes."""


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

    def forget_log(self) -> None:
        """Empty the host's log and keep its plans."""
        self._send("PUT", "/_forget_log", {})

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
    return on_host(host, tmp_path / "data")


def on_host(host: Host, data: Path) -> dict[str, str]:
    """Return the variables under which everything is asked of the host, in a hurry."""
    return {
        "RACKRECON_DATA": str(data),
        "RACKRECON_RESULTS_API": host.address,
        "RACKRECON_RESULTS_ARCHIVES": host.address,
        "RACKRECON_RETRY_SECONDS": "0.01",
        "RACKRECON_HTTP_SECONDS": "60",
        "RACKRECON_WAIT_SECONDS": "3",
        "RACKRECON_CONTACT": "https://example.org/rackrecon",
        "RACKRECON_PAGES": "all",
    }


@pytest.fixture
def live_settings(environment: dict[str, str]) -> Settings:
    return Settings.from_environment(environment)


@pytest.fixture
def settings(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Settings:
    """Give settings that point at the host, also for processes that the test starts; no page is watched."""
    catalogue = tmp_path / "catalogue.toml"
    catalogue.write_text("")
    for name, value in {"RACKRECON_CATALOGUE": str(catalogue), **environment}.items():
        monkeypatch.setenv(name, value)
    return Settings.from_environment()


@pytest.fixture
def workshop(settings: Settings) -> Workshop:
    """Give a workshop whose clock stands still and that has no snapshot."""
    return workshop_of(settings)


def workshop_of(settings: Settings) -> Workshop:
    workshop = Workshop(settings, lambda: MOMENT)
    workshop.snapshot = Snapshot(settings.data / "no-snapshot")
    return workshop


FEW = ("judge_runs", "score_results", "sum_up_inference", "read_specifications", "resolve_facts")
"""Stations whose answers these tests look at; the others take seconds and are tested elsewhere."""


class DirectRunner:
    """Runs the stations of a refresh without Dagster, whose bookkeeping is most of the time on a small repository."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop

    def run_rounds(self, round_names: Iterable[str]) -> Iterator[tuple[str, RunOutcome]]:
        for name in round_names:
            yield name, _outcome(partial(self._run_round, name))

    def _run_round(self, name: str) -> None:
        rounds.take_in(self._workshop, name)
        rounds.read_round(self._workshop, name)

    def run_sheets(self) -> RunOutcome:
        return _outcome(lambda: take_in_from_hosts(self._workshop))

    def run_answers(self) -> RunOutcome:
        for station in flow.STATIONS:
            answers.bring_up_to_date(self._workshop, station)
        return RunOutcome()


def _outcome(run: Callable[[], object]) -> RunOutcome:
    try:
        run()
    except SourceError as error:
        return RunOutcome(str(error), is_source=True)
    return RunOutcome()


@pytest.fixture
def few_stations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "STATIONS", tuple(one for one in flow.STATIONS if one.name in FEW))
    monkeypatch.setattr(flow, "is_published", lambda workshop: True)


Live = Callable[..., Report]


@pytest.fixture
def live(workshop: Workshop, few_stations: None, told: list[str]) -> Live:
    """Refresh the workshop's lake from the host, in this process."""

    def run(*paths: Path, only: tuple[str, ...] = (), is_live: bool = True, at: Workshop = workshop) -> Report:
        with ExitStack() as stack:
            stack.enter_context(at.refreshing())
            if is_live:
                stack.enter_context(at.asking_hosts(told.append))
            return flow.refresh(at, paths, only, DirectRunner(at), told.append)

    return run


def commit(number: int) -> str:
    """Return the name of a commit."""
    return f"{number:040x}"


def write_repository(folder: Path, name: str, number: int, files: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Write a results repository at a commit as the host serves it, and return how the host is told of it."""
    path = folder / f"{name}-{number}.tar.gz"
    headers = {"comment": commit(number)}
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT, pax_headers=headers) as archive:
        for file, text in (files or published_files()).items():
            member = tarfile.TarInfo(f"{name}-{commit(number)}/{file}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return {"name": name, "commit": commit(number), "file": str(path)}


def files_of(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder by its path, locks left out."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture
def told() -> list[str]:
    """Give the list that lines on what is tried again go to."""
    return []


@pytest.fixture
def http(live_settings: Settings, told: list[str]) -> Iterator[Http]:
    with Http(live_settings, tell=told.append) as client:
        yield client
