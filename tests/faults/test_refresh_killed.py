"""A refresh that is killed at any moment: lake and warehouse stay readable, the next refresh completes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from pipelines.lake.queries import query
from pipelines.lake.tables import Lake
from pipelines.schemas import TABLES
from tests.command import COMMAND

KILLS = 3
SUBMITTERS = ("Lambda", "tinycorp")


@pytest.fixture(scope="module")
def repositories(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Cut the files of two small submitters out of a published round; the second is the first with a run less."""
    folder = tmp_path_factory.mktemp("repositories")
    whole = shared / "mlperf" / "training_results_v5.0.tar.gz"
    first, second = folder / "first.tar.gz", folder / "second.tar.gz"
    with tarfile.open(whole) as published, tarfile.open(first, "w:gz") as cut, tarfile.open(second, "w:gz") as less:
        for member in published:
            if member.isfile() and member.name.split("/")[1] in SUBMITTERS:
                content = published.extractfile(member)
                assert content is not None
                cut.addfile(member, content)
                if not member.name.endswith("result_1.txt"):
                    less.addfile(member, published.extractfile(member))
    return [first, second]


def start_refresh(data: Path, repository: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, "refresh", "--from", str(repository)],
        env={**os.environ, "RACKRECON_DATA": str(data)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[bytes]) -> str:
    output, complaint = process.communicate(timeout=200)
    assert process.returncode == 0, complaint.decode()
    return output.decode()


def assert_readable(data: Path) -> None:
    lake = Lake.at(str(data / "lake"))
    for name in TABLES:
        lake.read(name)
    warehouse = data / "warehouse.duckdb"
    if warehouse.exists():
        assert query(warehouse, "SELECT count(*) AS results FROM mart.results")["results"][0] > 0


def children_of(pid: int) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text()
            except OSError:
                continue
            if int(status.rpartition(")")[2].split()[1]) == pid:
                yield int(entry.name)


def answers(data: Path) -> dict[str, pl.DataFrame]:
    lake = Lake.at(str(data / "lake"))
    return {name: lake.read(name) for name in TABLES if name.startswith(("mart.", "core."))}


@pytest.mark.timeout(600)
def test_a_refresh_can_be_killed_at_any_moment(repositories: list[Path], tmp_path: Path) -> None:
    first, second = repositories
    undisturbed, data = tmp_path / "undisturbed", tmp_path / "data"
    start = time.monotonic()
    finish(start_refresh(undisturbed, first))
    whole_seconds = time.monotonic() - start
    finish(start_refresh(data, second))

    moments, children = random.Random(20250604), list[int]()
    for attempt in range(KILLS):
        process = start_refresh(data, repositories[attempt % 2])
        # Most of a refresh is loading; the moments are spread over what comes after.
        time.sleep(whole_seconds * moments.uniform(0.15, 1.0))
        children += children_of(process.pid)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert_readable(data)

    finish(start_refresh(data, first))
    expected, found = answers(undisturbed), answers(data)
    for name, frame in expected.items():
        if name != "core.sources":
            assert found[name].equals(frame), name
    assert_gone(children)


def assert_gone(pids: list[int]) -> None:
    """What a killed refresh had started must end by itself, once it has imported what it was importing."""
    deadline = time.monotonic() + 200
    while alive := [pid for pid in pids if is_alive(pid)]:
        assert time.monotonic() < deadline, f"still running: {alive}"
        time.sleep(0.1)


def is_alive(pid: int) -> bool:
    """Whether the process runs: one that has ended may stay listed until what took it over looks after it."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
