"""The warehouse of a shared lake: published whole, copied by hash, the path a link that leads to what is pointed to."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pipelines.lake.storage import StorageError, open_storage
from pipelines.lake.warehouse_copy import current_warehouse, new_warehouse


def publish(location: str, path: Path, content: bytes) -> None:
    with new_warehouse(open_storage(location), path) as built:
        built.write_bytes(content)


def test_a_lake_in_a_folder_has_its_warehouse_where_the_settings_say(tmp_path: Path) -> None:
    path = tmp_path / "warehouse.duckdb"
    with new_warehouse(open_storage(str(tmp_path / "lake")), path) as built:
        assert built == path
    assert current_warehouse(str(tmp_path / "lake"), path) == path
    assert list(tmp_path.iterdir()) == []


@pytest.mark.server
def test_every_machine_has_what_was_published_last(s3_lake: str, tmp_path: Path) -> None:
    here, there = tmp_path / "here" / "w.duckdb", tmp_path / "there" / "w.duckdb"
    for content in (b"one", b"two", b"one"):
        publish(s3_lake, here, content)
        assert here.read_bytes() == content
        assert current_warehouse(s3_lake, there).read_bytes() == content
        assert here.resolve().name == there.resolve().name
    assert sorted(path.name for path in there.parent.iterdir()) == [".w.duckdb.copies", "w.duckdb"]


@pytest.mark.server
def test_a_copy_is_fetched_once(s3_lake: str, tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    publish(s3_lake, tmp_path / "elsewhere" / "w.duckdb", b"content")
    fetched = current_warehouse(s3_lake, path).resolve()
    os.utime(fetched, (1, 1))
    assert current_warehouse(s3_lake, path).resolve() == fetched
    assert fetched.stat().st_mtime == 1
    path.unlink()
    assert current_warehouse(s3_lake, path).resolve() == fetched
    assert fetched.stat().st_mtime == 1


@pytest.mark.server
def test_older_copies_stay_for_an_hour(s3_lake: str, tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    copies = []
    for content in (b"one", b"two", b"three"):
        publish(s3_lake, path, content)
        copies.append(path.resolve())
    assert all(copy.is_file() for copy in copies)
    an_hour_ago = time.time() - 3601
    os.utime(copies[0], (an_hour_ago, an_hour_ago))
    os.utime(copies[2], (an_hour_ago, an_hour_ago))
    publish(s3_lake, path, b"three")
    assert [copy.is_file() for copy in copies] == [False, True, True]


@pytest.mark.server
def test_a_build_that_fails_publishes_nothing(s3_lake: str, tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    publish(s3_lake, path, b"good")
    with pytest.raises(ZeroDivisionError), new_warehouse(open_storage(s3_lake), path) as built:
        built.write_bytes(b"half" * (1 // 0))
    assert current_warehouse(s3_lake, path).read_bytes() == b"good"
    assert sorted(found.name for found in tmp_path.iterdir()) == [".w.duckdb.copies", "w.duckdb"]


@pytest.mark.server
def test_what_is_of_another_lake_is_not_asked(s3_lake: str, tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    path.write_bytes(b"of a lake in a folder")
    assert not current_warehouse(s3_lake, path).exists()
    path.write_bytes(b"of a lake in a folder")
    publish(s3_lake, tmp_path / "elsewhere" / "w.duckdb", b"of this lake")
    assert current_warehouse(s3_lake, path).read_bytes() == b"of this lake"
    assert not current_warehouse(f"{s3_lake}/other", path).exists()


@pytest.mark.server
def test_a_data_folder_that_cannot_be_written_is_named(s3_lake: str, tmp_path: Path) -> None:
    publish(s3_lake, tmp_path / "w.duckdb", b"content")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match=r"file/w\.duckdb: cannot be written"):
        current_warehouse(s3_lake, tmp_path / "file" / "w.duckdb")
