"""A lake or snapshot of another program: an older one is rebuilt or carried over, a newer one refused and told of."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import msgspec
import polars as pl
import pytest

from pipelines.lake.gate import ColumnsError
from pipelines.lake.tables import Lake
from pipelines.publishing.snapshot import write_snapshot
from pipelines.refreshing.flow import listed_rounds, rounds_read
from pipelines.refreshing.workshop import Workshop
from pipelines.schemas import TABLES
from pipelines.settings import Settings
from pipelines.snapshot import ABOUT, Snapshot, SnapshotError
from tests.faults.conftest import Forks, Worlds, assert_complete, objects, objects_of_state, scores

REBUILT = ("core.runs", "core.systems", "mart.results", "mart.findings")


def of_older_program(data: Path, name: str, without: str) -> None:
    """Rewrite the one partition of a table as a program wrote it that knew a column less."""
    entry = TABLES[name]
    place = data / "lake" / entry.layer / entry.short_name
    (rows,) = place.glob("*.parquet")
    pl.read_parquet(rows).drop(without).write_parquet(rows)
    manifest = rows.with_suffix(".json")
    told = json.loads(manifest.read_bytes())
    manifest.write_text(json.dumps(told | {"columns_sha256": "0" * 64, "size_bytes": rows.stat().st_size}))


def last_nullable(name: str) -> str:
    return [column for column, rule in TABLES[name].schema.columns().items() if rule.nullable][-1]


def test_a_lake_of_an_older_program_is_rebuilt(forks: Forks, worlds: Worlds, tmp_path: Path) -> None:
    data = worlds.copy_of_first(tmp_path / "data")
    for name in REBUILT:
        of_older_program(data, name, last_nullable(name))
        with pytest.raises(ColumnsError, match=f"written with other columns than {name} has now; a refresh rebuilds"):
            Lake.at(str(data / "lake")).read(name)
    assert scores(data) == scores(worlds.of_first), "the warehouse is read meanwhile"
    answer = forks.refresh(data)
    assert answer["parts"] == {"training-v5.0": "refreshed", "answers": "refreshed"}
    assert_complete(data, worlds.of_first)


def test_what_nothing_in_the_lake_can_rebuild_is_carried_over(forks: Forks, worlds: Worlds, tmp_path: Path) -> None:
    data = worlds.copy_of_first(tmp_path / "data")
    lake = Lake.at(str(data / "lake"))
    known = {"round": "training-v4.0", "repository": "r", "default_branch": "main", "commit": "c"}
    row = pl.DataFrame([known | {"first_listed_at": "2026-01-01T00:00:00+00:00"}])
    lake.write("core.known_rounds", row.select(lake.read("core.known_rounds").columns), inputs={}, code_version="1")
    (data / "lake/inputs/training-v5.0.json").unlink()  # the repository is not at hand any more
    for name, column in (("core.known_rounds", "commit"), ("raw.files", "licence"), ("core.sources", "licence")):
        of_older_program(data, name, column)
    answer = forks.refresh(data)
    assert "error" not in answer, answer
    assert lake.read("core.known_rounds").drop("commit").equals(row.drop("commit").select(pl.all()))
    assert lake.read("raw.files")["licence"].to_list() == [None] * lake.read("raw.files").height
    as_before, made = objects_of_state(worlds.of_first), objects(data)
    changed = {key.partition("/")[0] for key in made if made[key] != as_before.get(key)}
    assert changed <= {"raw", "core"}
    assert scores(data) == scores(worlds.of_first)
    assert forks.refresh(data)["parts"] == {"training-v5.0": "unchanged", "answers": "unchanged"}


def test_the_age_of_an_older_lake_is_told_from_what_can_be_read(worlds: Worlds, tmp_path: Path) -> None:
    data = worlds.copy_of_first(tmp_path / "data")
    workshop = Workshop(Settings.from_environment({"RACKRECON_DATA": str(data)}))
    workshop.snapshot = Snapshot(data / "no-snapshot")
    assert rounds_read(workshop) == {"training-v5.0": "2026-01-02T03:04:05+00:00"}
    of_older_program(data, "core.sources", "licence")
    assert (rounds_read(workshop), listed_rounds(workshop)) == ({"training-v5.0": None}, [])


@pytest.mark.parametrize("name", ["raw.files", "core.runs", "mart.results"])
def test_a_lake_of_a_newer_program_is_left_alone(forks: Forks, worlds: Worlds, tmp_path: Path, name: str) -> None:
    data = worlds.copy_of_first(tmp_path / "data")
    (manifest,) = (data / "lake" / name.replace(".", "/")).glob("*.json")
    manifest.write_text(json.dumps(json.loads(manifest.read_bytes()) | {"schema_version": 99}))
    before = objects(data)
    answer = forks.refresh(data, worlds.first)
    assert answer["error"] == "LakeVersionError"
    assert answer["message"] == (f"{manifest}: written with schema version 99; this program reads up to 1: update it")
    assert objects(data) == before
    assert scores(data) == scores(worlds.of_first)


@pytest.fixture
def snapshot(worlds: Worlds, tmp_path: Path) -> Path:
    write_snapshot(Lake.at(str(worlds.of_first / "lake")), tmp_path / "snapshot")
    return tmp_path / "snapshot"


def test_a_snapshot_of_a_newer_program_is_refused(snapshot: Path) -> None:
    about = msgspec.json.decode((snapshot / ABOUT).read_bytes())
    (snapshot / ABOUT).write_bytes(msgspec.json.encode(about | {"schema_version": 2}))
    with pytest.raises(SnapshotError, match="expected schema version 1 or older, found 2: update this program"):
        Snapshot(snapshot).rounds()


def test_a_snapshot_of_an_older_program_says_what_to_do(snapshot: Path) -> None:
    path = snapshot / "core.runs.parquet"
    pl.read_parquet(path).drop("status").write_parquet(path)
    about = Snapshot(snapshot).about()
    digest = Snapshot(snapshot).digest("training-v5.0")
    renewed = msgspec.structs.replace(about.tables["core.runs"], sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    (snapshot / ABOUT).write_bytes(
        msgspec.json.encode(msgspec.structs.replace(about, tables={**about.tables, "core.runs": renewed}))
    )
    assert Snapshot(snapshot).digest("training-v5.0") != digest
    with pytest.raises(SnapshotError, match=r"without status: write it again with `rackrecon snapshot`"):
        Snapshot(snapshot).read("core.runs", "training-v5.0")
