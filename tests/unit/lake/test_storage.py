"""Storage in a folder: drafts locked while their writers live, errors that name the file, scratch folders."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pipelines.lake.storage import LocalStorage, StorageError, scratch_folder


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    """Give an empty storage."""
    return LocalStorage(tmp_path / "root")


def names(folder: Path) -> list[str]:
    """Return what a folder holds, hidden files too."""
    return sorted(path.name for path in folder.iterdir())


def test_a_draft_leaves_no_file(storage: LocalStorage) -> None:
    storage.write("a/b", b"one")
    with storage.draft("a/b") as draft:
        draft.write(b"half")
    assert names(storage.root / "a") == ["b"]


def test_sweeping_takes_drafts_of_the_dead_and_not_of_the_living(storage: LocalStorage) -> None:
    storage.write("a/b", b"one")
    (storage.root / "a" / ".b.0123.draft").write_bytes(b"left")
    with storage.draft("a/b") as draft:
        draft.write(b"two")
        storage.sweep("a")
        draft.publish()
    assert storage.read("a/b") == b"two"
    assert names(storage.root / "a") == ["b"]


def test_a_full_disk_is_told(storage: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.write("a", b"one")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="the disk is full"):
        storage.write("a", b"two")
    monkeypatch.undo()
    assert storage.read("a") == b"one"
    assert names(storage.root) == ["a"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="cannot be written"):
        LocalStorage(tmp_path / "file").write("a", b"")


def test_a_scratch_folder_goes_and_takes_those_of_the_dead_with_it(tmp_path: Path) -> None:
    target = tmp_path / "warehouse.duckdb"
    left = tmp_path / ".warehouse.duckdb.0123.draft"
    left.mkdir()
    (left / "x").write_bytes(b"left")
    with scratch_folder(target) as first, scratch_folder(target) as second:
        (first / "y").write_bytes(b"")
        assert not left.exists()
        assert first.is_dir()
        assert second.is_dir()
    assert list(tmp_path.iterdir()) == []
