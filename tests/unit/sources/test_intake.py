"""From a repository to `raw.files` and back: every byte, once; nothing of what is refused."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from pipelines.lake import partitions
from pipelines.lake.row_groups import RowGroups
from pipelines.lake.tables import Lake
from pipelines.settings import Limits
from pipelines.sources import intake
from pipelines.sources.errors import SourceError
from pipelines.sources.intake import read_file, read_files, store_repository
from pipelines.sources.repository import open_repository

COMMIT = "0fdc28f013256aea84fa36fdaf1e0fa46094b18c"
LOG = "Acme/results/one/bert/result_0.txt"


def keep(path: str) -> str | None:
    """Return what a parser calls a file."""
    return {"txt": "result_log", "json": "system_description"}.get(path.rpartition(".")[2])


def noon() -> datetime:
    """Return a fixed time."""
    return datetime(2026, 6, 1, 12, tzinfo=UTC)


def store(lake: Lake, path: Path) -> pl.DataFrame:
    """Put a repository into the lake."""
    return store_repository(open_repository(path, Limits()), lake, keep, noon, code_version="1")


def test_stores_files_and_says_where_they_came_from(tmp_path: Path, sound_tarball: bytes) -> None:
    path, lake = tmp_path / "a", Lake.at(str(tmp_path / "lake"))
    path.write_bytes(sound_tarball)
    assert store(lake, path).to_dicts() == [
        {
            "round": "training-v5.0",
            "source": "mlcommons/training_results_v5.0",
            "commit": COMMIT,
            "retrieved_at": "2026-06-01T12:00:00+00:00",
            "licence": "Apache-2.0",
            "file_count": 2,
            "size_bytes": 1222,
            "skipped_count": 1,
        }
    ]
    rows = lake.read("raw.files").sort("path").to_dicts()
    assert [(row["path"], row["kind"], row["size_bytes"]) for row in rows] == [
        (LOG, "result_log", 1200),
        ("Acme/systems/one.json", "system_description", 22),
    ]
    assert rows[0]["content"] == b":::MLLOG {}\n" * 100
    manifest = lake.manifest("raw.files", "training-v5.0")
    assert manifest is not None
    assert manifest.inputs == {"mlcommons/training_results_v5.0": hashlib.sha256(sound_tarball).hexdigest()}


def test_gives_every_file_back_though_equal_bytes_are_stored_once(
    tmp_path: Path, make_tarball: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "BATCH_BYTES", 4000)
    logs = {f"Acme/results/one/b{index:02}/result_{index}.txt": bytes([index % 3]) * 1500 for index in range(20)}
    path, lake = tmp_path / "a", Lake.at(str(tmp_path / "lake"))
    path.write_bytes(make_tarball([*logs.items(), ("Acme/systems/one.json", b"{}")]))
    store(lake, path)
    found = {file.path: file.content for file in read_files(lake, "training-v5.0", {"result_log"})}
    assert found == logs
    files = {path: read_file(lake, "training-v5.0", path) for path in logs}
    assert {path: file and file.content for path, file in files.items()} == logs
    assert not any(read_file(lake, "training-v5.0", path) for path in ("A", f"{min(logs)}a", "Acme/systems/two.json"))
    stored = lake.read("raw.files").filter(pl.col("content").is_not_null(), kind="result_log")
    assert stored.height == 3
    with lake.open_partition("raw.files", "training-v5.0") as groups:
        assert groups.row_counts == [3, 18]


@pytest.mark.parametrize("most_small", [1, 1000])
def test_reads_no_group_for_small_bytes_that_it_has_just_given(
    tmp_path: Path, make_tarball: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch, most_small: int
) -> None:
    monkeypatch.setattr(partitions, "BATCH_BYTES", 4000)
    monkeypatch.setattr(intake, "_MOST_SMALL", most_small)
    logs = {f"Acme/results/one/b{index:02}/result_0.txt": bytes([index]) * 3000 for index in range(6)}
    logs |= {f"Acme/results/two/b{index:02}/result_0.txt": bytes([index % 6]) * 3000 for index in range(30)}
    path, lake = tmp_path / "a", Lake.at(str(tmp_path / "lake"))
    path.write_bytes(make_tarball([*logs.items(), ("Acme/systems/one.json", b"{}")]))
    store(lake, path)
    contents_read = []
    read_group = RowGroups.read_group

    def counted(groups: RowGroups, index: int, columns: Sequence[str] | None = None) -> pl.DataFrame:
        contents_read.extend([index] * ("content" in (columns or ())))
        return read_group(groups, index, columns)

    monkeypatch.setattr(RowGroups, "read_group", counted)
    assert {file.path: file.content for file in read_files(lake, "training-v5.0", {"result_log"})} == logs
    holders = len(set(contents_read))
    assert holders > 2
    assert (len(contents_read) == holders) is (most_small == 1000)


def test_a_tarball_and_its_checkout_give_the_same_bytes(tmp_path: Path, sound_tarball: bytes) -> None:
    tarball, folder = tmp_path / "a", tmp_path / f"training_results_v5.0-{COMMIT}"
    tarball.write_bytes(sound_tarball)
    lakes = [Lake.at(str(tmp_path / name)) for name in ("one", "two")]
    store(lakes[0], tarball)
    for file in open_repository(tarball, Limits()).files(lambda path: "result_log"):
        (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / file.path).write_bytes(file.content)
    store(lakes[1], folder)
    first, second = (lake.manifest("raw.files", "training-v5.0") for lake in lakes)
    assert first is not None
    assert second is not None
    assert first.sha256 == second.sha256


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.99])
def test_a_broken_tarball_leaves_no_trace(tmp_path: Path, sound_tarball: bytes, cut: float) -> None:
    path, lake = tmp_path / "a", Lake.at(str(tmp_path / "lake"))
    path.write_bytes(sound_tarball[: int(len(sound_tarball) * cut)])
    with pytest.raises(SourceError):
        store(lake, path)
    assert [entry for entry in tmp_path.rglob("*") if entry.is_file()] == [path]


def test_a_broken_tarball_leaves_the_round_as_it_was(
    tmp_path: Path, sound_tarball: bytes, make_tarball: Callable[..., bytes]
) -> None:
    path, lake = tmp_path / "a", Lake.at(str(tmp_path / "lake"))
    path.write_bytes(sound_tarball)
    store(lake, path)
    before = {entry: entry.read_bytes() for entry in (tmp_path / "lake").rglob("*") if entry.is_file()}
    tar = gzip.decompress(make_tarball([(f"Acme/results/one/bert/result_{index}.txt", b"x") for index in range(9)]))
    path.write_bytes(gzip.compress(tar[: tar.index(b"result_8.txt")]))
    with pytest.raises(SourceError):
        store(lake, path)
    assert {entry: entry.read_bytes() for entry in (tmp_path / "lake").rglob("*") if entry.is_file()} == before
