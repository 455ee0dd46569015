"""Local storage: whole objects or none, keys that are no paths, errors that name the file."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from pipelines.lake.storage import LocalStorage, MissingObjectError, StorageError, scratch_folder


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    """Give an empty storage."""
    return LocalStorage(tmp_path / "root")


def names(folder: Path) -> list[str]:
    """Return what a folder holds, hidden files too."""
    return sorted(path.name for path in folder.iterdir())


def test_reads_back_what_was_written(storage: LocalStorage) -> None:
    storage.write("a/b", b"one")
    storage.write("a/b", b"two")
    assert storage.read("a/b") == b"two"
    assert storage.size("a/b") == 3
    assert storage.list("a") == ["a/b"]
    assert Path(storage.url("a/b")).read_bytes() == b"two"


def test_what_is_not_there(storage: LocalStorage) -> None:
    with pytest.raises(MissingObjectError, match="no such file"):
        storage.read("a/b")
    assert (storage.size("a"), storage.list("a")) == (None, [])
    storage.delete("a/b")


def test_creates_only_once(storage: LocalStorage) -> None:
    assert storage.create("a", b"first") is True
    assert storage.create("a", b"second") is False
    assert storage.read("a") == b"first"


def test_of_many_creators_one_wins(storage: LocalStorage) -> None:
    wins: list[bool] = []
    threads = [
        threading.Thread(target=lambda name=name: wins.append(storage.create("a", name))) for name in (b"x", b"y", b"z")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(wins) == [False, False, True]


def test_an_open_object_stays_as_it_was(storage: LocalStorage) -> None:
    storage.write("a", b"one")
    with storage.open("a") as file:
        storage.write("a", b"two")
        assert file.read() == b"one"


@pytest.mark.parametrize("key", ["", "/a", "a/../b", "a//b", ".a", "a/.", "a\\b", "a\x00b", "a\n"])
def test_keys_are_no_paths(storage: LocalStorage, key: str) -> None:
    with pytest.raises(StorageError, match="not a key"):
        storage.write(key, b"")


def test_a_draft_that_is_not_published_leaves_nothing(storage: LocalStorage) -> None:
    storage.write("a/b", b"one")
    with storage.draft("a/b") as draft:
        draft.write(b"half")
    with pytest.raises(ZeroDivisionError), storage.draft("a/b") as draft:
        draft.write(b"half" * (1 // 0))
    assert storage.read("a/b") == b"one"
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


def test_only_one_publishes_at_a_time(storage: LocalStorage) -> None:
    order: list[str] = []
    inside = threading.Event()

    def second() -> None:
        inside.wait()
        with LocalStorage(storage.root).exclusive("a"):
            order.append("second")

    thread = threading.Thread(target=second)
    thread.start()
    with storage.exclusive("a"):
        inside.set()
        thread.join(0.2)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


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
