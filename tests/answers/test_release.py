"""A release of the embedded rounds: whole, described, attributed, the same bytes each time, safe to open."""

from __future__ import annotations

import csv
import hashlib
import json
import warnings
from pathlib import Path

import polars as pl
import pytest
import yaml

from pipelines.lake.queries import query
from pipelines.lake.storage import LakeError
from pipelines.lake.tables import Lake
from pipelines.publishing.differences import differences, open_state
from pipelines.publishing.release import NothingToReleaseError, for_csv, releases, write_release
from pipelines.schemas import TABLES
from pipelines.settings import REPOSITORY, Settings

SQL = Settings.from_environment({}).warehouse_sql
NAMES = [*TABLES]


@pytest.fixture(scope="module")
def lake(filled: Path) -> Lake:
    return Lake.at(str(filled / "lake"))


@pytest.fixture(scope="module")
def folder(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(lake, tmp_path_factory.mktemp("releases"), SQL).folder


def test_the_version_is_the_day_of_the_newest_source(folder: Path, lake: Lake) -> None:
    day = str(lake.read("core.sources")["retrieved_at"].max())[:10]
    assert folder.name == day.replace("-", ".")


def test_the_same_lake_gives_the_same_bytes(folder: Path, lake: Lake, tmp_path: Path) -> None:
    again = write_release(lake, tmp_path, SQL).folder
    files = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert files == {path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()}


def test_the_same_lake_is_released_once_and_no_release_is_replaced(folder: Path, lake: Lake) -> None:
    again = write_release(lake, folder.parent, SQL)
    assert (again.folder, again.is_new) == (folder, False)
    assert [path.name for path in releases(folder.parent)] == [folder.name]


def test_the_description_is_valid_by_the_frictionless_specification(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from frictionless import Package  # noqa: PLC0415 - its import warns
    text = json.loads((folder / "datapackage.json").read_text("utf-8"))
    assert list(Package.metadata_validate(text)) == []
    assert {resource["path"] for resource in text["resources"]} == {
        path.relative_to(folder).as_posix() for part in ("csv", "parquet") for path in (folder / part).iterdir()
    }


@pytest.mark.parametrize("name", ["core.sources", "core.systems", "mart.results", "mart.rack_audit", "mart.findings"])
def test_the_rows_are_valid_by_their_description(folder: Path, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from frictionless import Resource, system  # noqa: PLC0415 - its import warns

        text = json.loads((folder / "datapackage.json").read_text("utf-8"))
        (described,) = [entry for entry in text["resources"] if entry["path"] == f"csv/{name}.csv"]
        with system.use_context(trusted=True):
            report = Resource.from_descriptor(described, basepath=str(folder)).validate()
    assert report.valid, report.flatten(["rowNumber", "fieldName", "type", "note"])[:5]
    assert report.tasks[0].stats["rows"] == pl.read_parquet(folder / "parquet" / f"{name}.parquet").height


@pytest.mark.parametrize("name", NAMES)
def test_each_table_is_there_in_three_forms(folder: Path, lake: Lake, name: str) -> None:
    rows = lake.read(name).select(pl.exclude(pl.Binary)).sort(TABLES[name].schema.primary_key())
    assert pl.read_parquet(folder / "parquet" / f"{name}.parquet").equals(rows)
    with (folder / "csv" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    assert lines[0] == rows.columns
    assert len(lines) == rows.height + 1
    assert query(folder / "warehouse.duckdb", f"SELECT count(*) FROM {name}").item() == rows.height


def test_checksums_hold(folder: Path) -> None:
    lines = [line.split("  ") for line in (folder / "SHA256SUMS").read_text().splitlines()]
    assert {path for _, path in lines} == {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "SHA256SUMS"
    }
    for digest, path in lines:
        assert hashlib.sha256((folder / path).read_bytes()).hexdigest() == digest


def test_every_source_is_attributed_and_the_trademark_stands_everywhere(folder: Path) -> None:
    licences = (folder / "LICENCES.md").read_text("utf-8")
    assert "mlcommons/training_results_v5.0 | 0fdc28f013256aea84fa36fdaf1e0fa46094b18c" in licences
    assert "Apache-2.0" in licences
    cited = yaml.safe_load((folder / "CITATION.cff").read_text("utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert cited["version"] == folder.name
    assert {entry["title"] for entry in cited["references"]} == {"training-v5.0", "training-v5.1"}
    for name in ("README.md", "LICENCES.md", "CITATION.cff", "datapackage.json"):
        assert "trademark of MLCommons" in " ".join((folder / name).read_text("utf-8").split()), name
    assert "trademark" in query(folder / "warehouse.duckdb", "FROM about")["key"].to_list()


def test_a_second_release_says_what_changed(lake: Lake, tmp_path: Path) -> None:
    other = Lake.at(str(tmp_path / "lake"))
    made = {"inputs": {}, "code_version": "1"}
    for name in ("core.sources", "mart.results"):
        frame = lake.read(name).filter(round="training-v5.0")
        other.write(name, frame, "training-v5.0" if TABLES[name].by_round else None, **made)
    first = write_release(other, tmp_path / "releases", SQL)
    slower = other.read("mart.results").with_columns(score_minutes=pl.col("score_minutes") + 1)
    other.write("mart.results", slower, **made)
    second = write_release(other, tmp_path / "releases", SQL)
    assert second.version == f"{first.version}.1"
    assert f"| mart.results | changed | score_minutes | {slower.height} |" in (second.folder / "CHANGES.md").read_text()
    assert pl.read_csv(second.folder / "changes.csv").height == slower.height
    told = differences(open_state(first.folder), open_state(second.folder))
    assert set(told["column_name"]) == {"score_minutes"}
    other.write("mart.results", slower.head(1), **made)
    with pytest.raises(LakeError, match="a release is never replaced"):
        write_release(other, tmp_path / "releases", SQL, version=first.version)


def test_an_empty_lake_is_not_released(tmp_path: Path) -> None:
    with pytest.raises(NothingToReleaseError, match="holds no round"):
        write_release(Lake.at(str(tmp_path / "lake")), tmp_path / "releases", SQL)


def test_infinite_figures_are_written_as_the_specification_has_them() -> None:
    frame = pl.DataFrame({"a": [float("inf"), float("-inf"), float("nan"), 1.5]})
    assert for_csv(frame)["a"].to_list() == ["INF", "-INF", "NaN", "1.5"]


def test_releases_in_a_clone_are_not_taken_for_its_own_files() -> None:
    assert "releases/" in (REPOSITORY / ".gitignore").read_text("utf-8").splitlines()
