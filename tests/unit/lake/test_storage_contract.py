"""What every storage promises, in a folder or in a bucket: whole objects or none, keys that are no paths, turns."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

import pytest

from pipelines.lake.storage import MissingObjectError, Storage, StorageError, open_storage


@pytest.fixture(params=["folder", pytest.param("bucket", marks=pytest.mark.server)])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """Give an empty storage in a folder, and one in a bucket."""
    return open_storage(str(tmp_path / "root") if request.param == "folder" else request.getfixturevalue("s3_lake"))


def test_reads_back_what_was_written(storage: Storage) -> None:
    storage.write("a/b", b"one")
    storage.write("a/b", b"two")
    assert storage.read("a/b") == b"two"
    assert storage.size("a/b") == 3
    assert storage.list("a") == ["a/b"]
    assert storage.url("a/b").endswith("/a/b")


def test_what_is_not_there(storage: Storage) -> None:
    with pytest.raises(MissingObjectError, match=r"a/b: no such (file|object)"):
        storage.read("a/b")
    assert (storage.size("a"), storage.list("a")) == (None, [])
    storage.delete("a/b")


def test_creates_only_once(storage: Storage) -> None:
    assert storage.create("a", b"first") is True
    assert storage.create("a", b"second") is False
    assert storage.read("a") == b"first"


def test_of_many_creators_one_wins(storage: Storage) -> None:
    wins: list[bool] = []
    threads = [
        threading.Thread(target=lambda name=name: wins.append(storage.create("a", name))) for name in (b"x", b"y", b"z")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(wins) == [False, False, True]


def test_an_open_object_stays_as_it_was(storage: Storage) -> None:
    storage.write("a", b"one")
    with storage.open("a") as file:
        storage.write("a", b"two")
        assert file.read() == b"one"


@pytest.mark.parametrize("key", ["", "/a", "a/../b", "a//b", ".a", "a/.", "a\\b", "a\x00b", "a\n"])
def test_keys_are_no_paths(storage: Storage, key: str) -> None:
    with pytest.raises(StorageError, match="not a key"):
        storage.write(key, b"")


def test_a_draft_that_is_not_published_leaves_nothing(storage: Storage) -> None:
    storage.write("a/b", b"one")
    with storage.draft("a/b") as draft:
        draft.write(b"half")
    with pytest.raises(ZeroDivisionError), storage.draft("a/b") as draft:
        draft.write(b"half" * (1 // 0))
    assert storage.read("a/b") == b"one"
    assert storage.list("a") == ["a/b"]


def test_a_draft_becomes_an_object_and_can_be_read_while_it_is_one(storage: Storage) -> None:
    with storage.draft("a/b") as draft:
        draft.write(b"one")
        draft.write(b"two")
        with draft.reopen() as file:
            file.seek(2)
            assert file.read(2) == b"et"
            assert file.read() == b"wo"
        draft.write(b"!")
        draft.publish()
        told = draft.sha256
    assert storage.read("a/b") == b"onetwo!"
    assert storage.size("a/b") == draft.size_bytes == 7
    assert hashlib.sha256(b"onetwo!").hexdigest() == told
    with storage.open("a/b") as file:
        file.seek(-3, os.SEEK_END)
        assert (file.tell(), file.read()) == (4, b"wo!")


def test_an_object_written_over_a_draft_and_a_draft_over_it(storage: Storage) -> None:
    for content in (b"one", b"two"):
        with storage.draft("a/b") as draft:
            draft.write(content)
            draft.publish()
        assert storage.read("a/b") == content
        storage.write("a/b", b"small")
        assert storage.read("a/b") == b"small"
    storage.delete("a/b")
    assert storage.list("a") == []


def test_only_what_is_directly_in_a_folder_is_listed(storage: Storage) -> None:
    for key in ("a/b", "a/c/d", "ab", "a/e %20ü"):
        storage.write(key, b"x")
    with storage.draft("a/f") as draft:
        draft.publish()
    assert storage.list("a") == ["a/b", "a/e %20ü", "a/f"]


def test_only_one_publishes_at_a_time(storage: Storage) -> None:
    order: list[str] = []
    inside = threading.Event()

    def second() -> None:
        inside.wait()
        with storage.exclusive("a"):
            order.append("second")

    thread = threading.Thread(target=second)
    thread.start()
    with storage.exclusive("a"):
        inside.set()
        thread.join(0.3)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
