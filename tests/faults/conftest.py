"""Two states of one small round, the process that forks refreshes between them, and what a reader must find."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pipelines.lake.queries import query
from pipelines.lake.tables import Lake
from tests.integration.conftest import published_files, write_tarball

REPOSITORY = Path(__file__).resolve().parents[2]
ROUND = "training-v5.0"


class Forks:
    """The process that forks children, each of which refreshes once."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def refresh(self, data: Path, repository: Path | None = None, **order: Any) -> dict[str, Any]:
        """Refresh in one child and return what it answered."""
        (answer,) = self.refresh_at_once([{"data": data, "repository": repository or "", **order}])
        return answer

    def refresh_at_once(self, orders: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Refresh in as many children as there are orders."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(orders, default=str) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the forking process has ended"
        answers: list[dict[str, Any]] = json.loads(line)
        return answers


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """Start the process that forks; it ends with its stdin."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.faults.forking"],
        cwd=REPOSITORY,
        # One thread: so little work is only slowed down by more.
        env={**os.environ, "POLARS_MAX_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert "ready" in json.loads(process.stdout.readline())
        yield Forks(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=200) == 0


def repository_of(folder: Path, minutes: tuple[float, ...], *, with_a_bad_run: bool = False) -> Path:
    """Write the round with runs of so many minutes, the last with a batch of 1 where one is to go to quarantine."""
    files = {
        name.replace("llama31_405b", "bert"): text.replace("llama31_405b", "bert")
        for name, text in published_files(minutes).items()
    }
    if with_a_bad_run:
        last = max(name for name in files if name.endswith(".txt"))
        files[last] = files[last].replace('"value": 1152', '"value": 1')
    folder.mkdir(parents=True)
    return write_tarball(folder / "training_results_v5.0.tar.gz", files)


@dataclass(frozen=True)
class Worlds:
    """Two repositories of one round, and the data folder that an undisturbed refresh makes of each."""

    first: Path
    second: Path
    of_first: Path
    of_second: Path

    def repository(self, number: int) -> Path:
        return (self.first, self.second)[number]

    def made(self, number: int) -> Path:
        return (self.of_first, self.of_second)[number]

    def copy_of_first(self, place: Path) -> Path:
        """Return a data folder of one's own in the first state."""
        return Path(shutil.copytree(self.of_first, place))


@pytest.fixture(scope="session")
def worlds(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Worlds:
    folder = tmp_path_factory.mktemp("worlds")
    folder.chmod(0o755)
    first = repository_of(folder / "a", (27.0, 26.9, 27.2, 28.0), with_a_bad_run=True)
    second = repository_of(folder / "b", (20.0, 21.0, 22.0))
    answers = forks.refresh(folder / "of-a", first), forks.refresh(folder / "of-b", second)
    assert [answer["parts"] for answer in answers] == [{ROUND: "refreshed", "answers": "refreshed"}] * 2
    made = Worlds(first, second, folder / "of-a", folder / "of-b")
    quarantine = f"core/runs__quarantine/{ROUND}.parquet"
    assert [quarantine in objects_of_state(state) for state in (made.of_first, made.of_second)] == [True, False]
    return made


def objects(data: Path) -> dict[str, str]:
    """Return the SHA-256 of every table's rows in the lake, by key: what must be the same in the end."""
    lake = data / "lake"
    return {
        path.relative_to(lake).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(lake.rglob("*.parquet"))
        if not path.name.startswith(".")
    }


@cache
def objects_of_state(data: Path) -> dict[str, str]:
    """Return the objects of a data folder that nothing changes any more."""
    return objects(data)


def scores(data: Path) -> list[float]:
    """Return the scores as a reader of the warehouse finds them."""
    found: list[float] = query(data / "warehouse.duckdb", "SELECT score_minutes FROM mart.results")[
        "score_minutes"
    ].to_list()
    return found


@cache
def scores_of_state(data: Path) -> list[float]:
    """Return the scores of a data folder that nothing changes any more."""
    return scores(data)


def assert_readable(data: Path, states: tuple[Path, ...]) -> None:
    """Every table is byte for byte that of one of the states; so are the answers of the warehouse, all of one."""
    allowed = [objects_of_state(state) for state in states]
    for key, digest in objects(data).items():
        assert digest in [state.get(key) for state in allowed], key
    lake = Lake.at(str(data / "lake"))
    for name in ("core.runs", "mart.results"):
        assert lake.read(name).height > 0, name
    assert scores(data) in [scores_of_state(state) for state in states]


def assert_complete(data: Path, state: Path) -> None:
    """Nothing is lost, doubled or left over: the lake holds byte for byte what an undisturbed refresh makes."""
    assert objects(data) == objects_of_state(state)
    assert scores(data) == scores_of_state(state)
    assert list(data.rglob("*.draft*")) == []
