"""The embedded snapshot: whole, in today's form, and what a first refresh makes of it."""

from __future__ import annotations

import csv
import io
import subprocess
from pathlib import Path

import polars as pl
import pytest

from pipelines.lake.queries import query
from pipelines.schemas import table
from pipelines.snapshot import FOLDER, Snapshot, table_names
from tests.command import rackrecon as run_command

REGENERATE = "write it again: rackrecon refresh --from ARCHIVE..., then rackrecon snapshot"
WORKED_EXAMPLE = "training-v5.0/IBM+CoreWeave+NVIDIA/carina_ngpu2496_ngc25.04_nemo/llama31_405b"


def test_it_is_whole_small_and_has_todays_columns() -> None:
    snapshot = Snapshot()
    about = snapshot.about()
    assert set(about.tables) == set(table_names()), REGENERATE
    for name, entry in about.tables.items():
        frames = [snapshot.read(name, round_name) for round_name in snapshot.rounds()]
        assert sum(frame.height for frame in frames) == entry.rows
        schema = table(name).schema
        assert frames[0].schema == schema.create_empty().schema, f"{name}: {REGENERATE}"
        for frame in frames:
            schema.validate(frame)
    assert sum(file.stat().st_size for file in FOLDER.glob("*.parquet")) < 3_000_000


def test_it_says_where_each_round_came_from() -> None:
    rounds = {entry.round: entry for entry in Snapshot().about().rounds}
    assert set(rounds) == {"training-v5.0", "training-v5.1"}
    for entry in rounds.values():
        assert entry.source == f"mlcommons/{entry.round.replace('-', '_results_')}"
        assert len(entry.commit) == 40
        assert entry.licence == "Apache-2.0"
        assert entry.read_at.endswith("+00:00")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("embedded") / "data"


def rackrecon(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, RACKRECON_DATA=str(data))


@pytest.fixture(scope="module")
def first(data: Path) -> subprocess.CompletedProcess[str]:
    return rackrecon(data, "refresh")


def test_a_first_refresh_says_its_age_and_ends_with_the_headline(first: subprocess.CompletedProcess[str]) -> None:
    assert first.returncode == 0, first.stderr
    lines = first.stdout.splitlines()
    assert lines[0].startswith("Newest training round here: training-v5.1, read ")
    text = "\n".join(lines[1:])
    assert "385 scored of 385" in text
    assert WORKED_EXAMPLE in text
    assert "reported   27.33 min" in text
    assert "predicted  26.85 min with this run held out (-1.8 %" in text
    assert "39 stated, 35 by division, 39 by replica, 38 by model; 64 of 72 slots of each are used" in text
    assert "has 50: too close to call" in text
    assert "error" not in first.stderr.lower()


def test_a_second_refresh_has_nothing_to_do(data: Path, first: subprocess.CompletedProcess[str]) -> None:
    again = rackrecon(data, "refresh")
    assert again.returncode == 0
    assert again.stderr.splitlines() == ["Nothing to do: inputs and code of 2 rounds and of all answers are unchanged."]
    assert again.stdout == first.stdout


def test_checks_are_shown_and_none_blocks(data: Path, first: subprocess.CompletedProcess[str]) -> None:
    shown = rackrecon(data, "check", "--format", "csv")
    assert shown.returncode == 0
    rows = list(csv.DictReader(io.StringIO(shown.stdout)))
    statuses = [row["status"] for row in rows]
    assert "failed" in statuses
    assert statuses == sorted(statuses), "what failed stands before what passed"
    assert "0 blocking" in shown.stderr
    (empty,) = [row for row in rows if row["checked_count"] == "0"]
    assert empty["explanation"].startswith("There was no row to check that the score on MLCommons' own table")


@pytest.mark.parametrize("command", ["report", "release", "snapshot"])
def test_a_folder_that_cannot_be_written_is_named(
    data: Path, first: subprocess.CompletedProcess[str], command: str
) -> None:
    done = rackrecon(data, command, "--output", "/dev/null/it")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "rackrecon: /dev/null/it: cannot be written: /dev/null is no folder\n"


def test_the_chain_behind_a_score(data: Path, first: subprocess.CompletedProcess[str]) -> None:
    shown = rackrecon(data, "explain", WORKED_EXAMPLE)
    assert shown.returncode == 0
    assert "score 27.3346558757 min = 26.9899666667 min on the clock x 1.01277101277" in shown.stdout
    assert "line 3491: run_stop at 1746159033527 ms" in shown.stdout
    assert "llama31_405b/scaling.json" in shown.stdout


@pytest.mark.parametrize("round_name", ["training-v5.0", "training-v5.1"])
def test_every_official_score_is_met(
    data: Path, first: subprocess.CompletedProcess[str], shared: Path, round_name: str
) -> None:
    golden = pl.read_csv(shared / "mlperf" / "golden" / f"{round_name}.csv")
    scores = query(
        data / "warehouse.duckdb",
        "SELECT submitter, system, benchmark, score_minutes FROM mart.results WHERE round = ?",
        [round_name],
    )
    keys = ["submitter", "system", "benchmark"]
    held = golden.rename({"score_minutes": "golden_minutes"}).join(scores, on=keys, how="full", coalesce=True)
    assert held.height == golden.height == scores.height
    wrong = held.filter((pl.col("score_minutes") / pl.col("golden_minutes") - 1).abs().fill_null(1.0) > 1e-9)
    assert wrong.is_empty(), wrong
