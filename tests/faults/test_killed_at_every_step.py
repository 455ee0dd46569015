"""A refresh killed at fifty random moments and at its every change: readers see good states, the next run completes."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from pathlib import Path

import pytest

from tests.faults.conftest import Forks, Worlds, assert_complete, assert_readable, objects_of_state
from tests.faults.steps import Watched

KILLS, KILLS_IN_TURN = 50, 25

_TABLE_OBJECTS = [f"{layer} {ending}" for layer in ("raw", "core", "mart") for ending in (".parquet", ".json")]
PUBLISHED = ("inputs .json", "warehouse .duckdb", *_TABLE_OBJECTS)
WRITTEN = ("inputs .json", "raw .parquet", "core .parquet", "mart .parquet", "mart .json")
KILLED_BEFORE = (
    *(f"os.rename object {kind}" for kind in PUBLISHED),
    *(f"write draft {kind}" for kind in WRITTEN),
    "os.remove object core .json",
    "os.remove object core of quarantine .parquet",
    "os.rmdir draft warehouse .duckdb",
)


@pytest.mark.timeout(600)
def test_killed_at_fifty_random_moments(forks: Forks, worlds: Worlds, tmp_path: Path) -> None:
    data = worlds.copy_of_first(tmp_path / "data")
    dice, wanted = random.Random(20250604), 1
    for _ in range(KILLS // KILLS_IN_TURN):
        # Measured again and again: how long a refresh takes depends on what else the machine does.
        whole_seconds = refreshed_seconds(forks, worlds, data, wanted)
        wanted, kills = 1 - wanted, 0
        while kills < KILLS_IN_TURN:
            moment = dice.uniform(0, whole_seconds)
            answer = forks.refresh(data, worlds.repository(wanted), kill_after_seconds=moment)
            if answer["killed"]:
                kills += 1
                assert_readable(data, (worlds.of_first, worlds.of_second))
            else:
                assert "error" not in answer, answer
                assert_complete(data, worlds.made(wanted))
                wanted = 1 - wanted
        refreshed_seconds(forks, worlds, data, wanted)
        wanted = 1 - wanted


def refreshed_seconds(forks: Forks, worlds: Worlds, data: Path, wanted: int) -> float:
    """Refresh to the end, from whatever state kills left, and return how long that took."""
    answer = forks.refresh(data, worlds.repository(wanted))
    assert "error" not in answer, answer
    assert_complete(data, worlds.made(wanted))
    return float(answer["seconds"])


def test_readers_find_a_good_state_at_every_change(forks: Forks, worlds: Worlds, tmp_path: Path) -> None:
    data = worlds.copy_of_first(tmp_path / "data")
    allowed = {key: [digest] for key, digest in objects_of_state(worlds.of_first).items()}
    for key, digest in objects_of_state(worlds.of_second).items():
        allowed.setdefault(key, []).append(digest)
    warehouse = (data / "warehouse.duckdb").read_bytes()
    allowed["warehouse.duckdb"] = [hashlib.sha256(warehouse).hexdigest()]
    (tmp_path / "allowed.json").write_text(json.dumps(allowed))
    answer = forks.refresh(data, worlds.second, watch=tmp_path / "allowed.json")
    assert answer["complaints"] == []
    assert {f"os.rename object {kind}" for kind in PUBLISHED} <= set(answer["steps"])
    assert_complete(data, worlds.of_second)


@pytest.mark.timeout(600)
def test_killed_at_each_kind_of_write_and_rename(forks: Forks, worlds: Worlds, tmp_path: Path) -> None:
    whole = forks.refresh(worlds.copy_of_first(tmp_path / "whole"), worlds.second)["steps"]
    dice = random.Random(11)
    for number, kind in enumerate(KILLED_BEFORE):
        data = worlds.copy_of_first(tmp_path / str(number))
        step = dice.choice([place for place, found in enumerate(whole, start=1) if found == kind])
        answer = forks.refresh(data, worlds.second, kill_at_step=step)
        assert answer["killed"], (kind, answer)
        assert_readable(data, (worlds.of_first, worlds.of_second))
        answer = forks.refresh(data, worlds.second)
        assert "error" not in answer, (kind, answer)
        assert_complete(data, worlds.of_second)
        shutil.rmtree(data)


def test_the_watch_sees_what_it_should(worlds: Worlds, tmp_path: Path) -> None:
    data = worlds.copy_of_first(tmp_path / "data")
    allowed = {key: [digest] for key, digest in objects_of_state(worlds.of_first).items()}
    allowed["warehouse.duckdb"] = [hashlib.sha256((data / "warehouse.duckdb").read_bytes()).hexdigest()]
    watched = Watched(data, data / "warehouse.duckdb", allowed)
    assert watched.complaints() == []
    place = Path("lake/core/runs/training-v5.0.parquet")
    shutil.copyfile(worlds.of_second / place, data / place)
    assert [told.partition(" ")[0] for told in watched.complaints()] == [
        "core/runs/training-v5.0.parquet",
        "core/runs/training-v5.0.json",
    ]
