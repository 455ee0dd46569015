"""Refreshes at once, readers that hold what is replaced, a wrong clock: one state or the other, never a mixture."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.lake.locks import exclusive_lock
from pipelines.lake.tables import Lake
from pipelines.settings import Settings
from tests.faults.conftest import ROUND, Forks, Worlds, assert_complete, objects, objects_of_state, scores


@pytest.mark.parametrize("count", [2, 8])
def test_refreshes_at_once_take_turns(forks: Forks, worlds: Worlds, tmp_path: Path, count: int) -> None:
    data = worlds.copy_of_first(tmp_path / "data")
    orders = [{"data": data, "repository": worlds.repository(1 - number % 2)} for number in range(count)]
    answers = forks.refresh_at_once(orders)
    assert [answer.get("error") for answer in answers] == [None] * count, answers
    waited = [answer["waited_for"] for answer in answers if answer["waited_for"]]
    assert len(waited) >= count // 2
    assert all(told[0].startswith("process ") or "no name" in told[0] or told[0] == "None" for told in waited)
    ended_in = 0 if objects(data) == objects_of_state(worlds.of_first) else 1
    assert_complete(data, worlds.made(ended_in))
    answer = forks.refresh(data, worlds.repository(ended_in))
    assert answer["parts"] == {ROUND: "unchanged", "answers": "unchanged"}


def test_one_that_may_not_wait_says_who_it_waited_for(forks: Forks, worlds: Worlds, tmp_path: Path) -> None:
    data = worlds.copy_of_first(tmp_path / "data")
    lock = Settings.from_environment({"RACKRECON_DATA": str(data)}).lock
    with exclusive_lock(lock, 0):
        refused = forks.refresh(data, worlds.second, environment={"RACKRECON_LOCK_SECONDS": "0"})
    assert refused["error"] == "LockedError"
    assert f"process {os.getpid()}" in refused["message"]
    assert "waited 0 s: try again when it has ended" in refused["message"]
    assert forks.refresh(data, worlds.second)["parts"] == {ROUND: "refreshed", "answers": "refreshed"}
    assert_complete(data, worlds.of_second)


READER = """
import sys
import duckdb
with duckdb.connect(sys.argv[1], read_only=True) as warehouse:
    for _ in sys.stdin:
        rows = warehouse.execute("SELECT score_minutes FROM mart.results").fetchall()
        print([score for (score,) in rows], flush=True)
"""


def test_readers_hold_what_they_opened(forks: Forks, worlds: Worlds, tmp_path: Path) -> None:
    data = worlds.copy_of_first(tmp_path / "data")
    lake = Lake.at(str(data / "lake"))
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(data / "warehouse.duckdb")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with reader, lake.open_partition("core.runs", ROUND) as groups:
        assert asked(reader) == str(scores(worlds.of_first))
        answer = forks.refresh(data, worlds.second)
        assert answer["parts"] == {ROUND: "refreshed", "answers": "refreshed"}
        assert asked(reader) == str(scores(worlds.of_first))
        assert groups.read().height == Lake.at(str(worlds.of_first / "lake")).read("core.runs").height
        assert scores(data) == scores(worlds.of_second)
    assert_complete(data, worlds.of_second)


def asked(reader: subprocess.Popen[str]) -> str:
    """Return what the reader finds now."""
    assert reader.stdin is not None
    assert reader.stdout is not None
    reader.stdin.write("\n")
    reader.stdin.flush()
    return reader.stdout.readline().strip()


def test_a_clock_that_moved_back_changes_no_answer(forks: Forks, worlds: Worlds, tmp_path: Path) -> None:
    data = worlds.copy_of_first(tmp_path / "data")
    answer = forks.refresh(data, worlds.second, moment="1999-12-31T23:59:59+00:00")
    assert answer["parts"] == {ROUND: "refreshed", "answers": "refreshed"}
    differing = {
        key
        for key, digest in objects(data).items()
        if digest != objects_of_state(worlds.of_second).get(key) and not key.startswith("raw/files/")
    }
    assert differing <= {f"core/sources/{ROUND}.parquet"}
    assert scores(data) == scores(worlds.of_second)
    assert Lake.at(str(data / "lake")).read("core.sources")["retrieved_at"].to_list() == ["1999-12-31T23:59:59+00:00"]
    answer = forks.refresh(data, worlds.second)
    assert answer["parts"] == {ROUND: "unchanged", "answers": "unchanged"}, "freshness is not told by times"
    forks.refresh(data, worlds.first)
    assert_complete(data, worlds.of_first)
