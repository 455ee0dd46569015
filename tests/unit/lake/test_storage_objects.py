"""Objects of a bucket: who lost its turn puts nothing over another's, readers keep what they opened, sweeping."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest

from pipelines.lake import storage_objects
from pipelines.lake.storage import StorageError
from pipelines.lake.storage_bucket import Bucket, ChangedError
from pipelines.lake.storage_objects import ObjectStorage

NewStorage = Callable[..., ObjectStorage]


@pytest.fixture
def new_storage(s3_lake: str) -> NewStorage:
    """Give a function that opens the same storage as another process would, at a later time if asked to."""

    def open_again(later: timedelta = timedelta()) -> ObjectStorage:
        return ObjectStorage(Bucket(s3_lake), lease_seconds=30, clock=lambda: datetime.now(UTC) + later)

    return open_again


def publish(storage: ObjectStorage, key: str, content: bytes) -> None:
    with storage.draft(key) as draft:
        draft.write(content)
        draft.publish()


def uploaded(s3_lake: str, folder: str) -> list[str]:
    """Return the names of the long objects of a folder."""
    return sorted(found.key.rpartition("/")[2] for found in Bucket(s3_lake).list(f"{folder}/.objects"))


def take_over(storage: ObjectStorage, change: Callable[[], None]) -> None:
    """Do in the folder what another process does that took this one for dead, past its lock."""
    assert storage._seen
    change()


@pytest.mark.server
@pytest.mark.parametrize("before", [None, b"first"])
def test_who_lost_its_turn_puts_nothing_over_anothers(
    s3_lake: str, new_storage: NewStorage, before: bytes | None
) -> None:
    slow, quick = new_storage(), new_storage()
    if before is not None:
        publish(slow, "a/x.parquet", before)
        slow.write("a/x.json", before)
    with slow.exclusive("a", "b"):
        take_over(slow, lambda: publish(quick, "a/x.parquet", b"theirs"))
        quick.write("a/x.json", b"theirs")
        quick.write("b/y.json", b"theirs")
        with pytest.raises(ChangedError, match=r"a/x.parquet: cannot be written: another writer changed it"):
            publish(slow, "a/x.parquet", b"ours, too late")
        with pytest.raises(ChangedError):
            slow.write("a/x.json", b"ours, too late")
        with pytest.raises(ChangedError):
            slow.write("b/y.json", b"ours, too late")
        if before is None:
            slow.delete("a/x.json")
        else:
            with pytest.raises(ChangedError, match=r"a/x.json: cannot be removed"):
                slow.delete("a/x.json")
        slow.write("a/z.json", b"nobody's")
        slow.write("a/z.json", b"ours")
    assert [slow.read(key) for key in ("a/x.parquet", "a/x.json", "b/y.json", "a/z.json")] == [b"theirs"] * 3 + [
        b"ours"
    ]
    assert len(uploaded(s3_lake, "a")) == (1 if before is None else 2), "what came too late is removed at once"


@pytest.mark.server
def test_in_its_turn_a_process_puts_and_removes_what_it_likes(new_storage: NewStorage) -> None:
    storage = new_storage()
    storage.write("a/x", b"1")
    with storage.exclusive("a"):
        storage.delete("a/x")
        storage.delete("a/x")
        storage.write("a/x", b"2")
        storage.write("a/x", b"3")
        publish(storage, "a/x", b"4")
    storage.write("a/x", b"5")
    assert storage.read("a/x") == b"5"


@pytest.mark.server
def test_a_writer_killed_before_its_key_points_leaves_an_object_that_is_swept_a_day_later(
    s3_lake: str, new_storage: NewStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = new_storage()
    publish(storage, "a/x", b"good")
    (kept,) = uploaded(s3_lake, "a")
    with monkeypatch.context() as killed:
        killed.setattr(storage, "_put", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            publish(storage, "a/x", b"never pointed to")
    with monkeypatch.context() as killed:
        killed.setattr(storage, "_put", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            publish(storage, "a/new", b"never pointed to")
    assert storage.list("a") == ["a/x"]
    storage.sweep("a")
    assert len(uploaded(s3_lake, "a")) == 3, "a writer that lives may be about to point to it"
    new_storage(timedelta(days=1, minutes=1)).sweep("a")
    assert uploaded(s3_lake, "a") == [kept]
    assert storage.read("a/x") == b"good"


@pytest.mark.server
def test_a_pointer_whose_answer_was_lost_still_leads_to_its_object(
    new_storage: NewStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = new_storage()
    put = storage._put_over

    def put_without_answer(key: str, content: bytes, version: str | None) -> str:
        put(key, content, version)
        raise StorageError("the connection broke off")

    monkeypatch.setattr(storage, "_put_over", put_without_answer)
    with pytest.raises(StorageError, match="broke off"):
        publish(storage, "a/x", b"content")
    assert new_storage().read("a/x") == b"content"


@pytest.mark.server
def test_a_put_that_was_sent_twice_is_put(new_storage: NewStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = new_storage()
    create = storage._bucket.create

    def create_twice(key: str, content: bytes) -> str:
        create(key, content)
        return create(key, content)

    monkeypatch.setattr(storage._bucket, "create", create_twice)
    publish(storage, "a/x", b"content")
    assert storage.read("a/x") == b"content"


@pytest.mark.server
def test_what_was_replaced_stays_for_a_day_after_that(
    s3_lake: str, new_storage: NewStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_objects, "_AT_ONCE_BYTES", 0)
    storage = new_storage()
    publish(storage, "a/x", b"first")
    with storage.open("a/x") as reader:
        publish(storage, "a/x", b"second")
        new_storage(timedelta(hours=23, minutes=59)).sweep("a")
        assert reader.read() == b"first"
    new_storage(timedelta(days=1, minutes=1)).sweep("a")
    assert len(uploaded(s3_lake, "a")) == 1
    assert storage.read("a/x") == b"second"


@pytest.mark.server
def test_a_key_that_points_to_nothing_is_named(s3_lake: str, new_storage: NewStorage) -> None:
    storage = new_storage()
    publish(storage, "a/x", b"content")
    (name,) = uploaded(s3_lake, "a")
    Bucket(s3_lake).delete(f"a/.objects/{name}")
    with pytest.raises(StorageError, match=rf"a/x: expected its bytes in .*/a/\.objects/{name}, found no such object"):
        storage.read("a/x")


@pytest.mark.server
def test_other_bytes_than_those_pointed_to_are_found(s3_lake: str, new_storage: NewStorage) -> None:
    storage, bucket = new_storage(), Bucket(s3_lake)
    publish(storage, "a/x", b"content")
    (name,) = uploaded(s3_lake, "a")
    bucket.delete(f"a/.objects/{name}")
    bucket.create(f"a/.objects/{name}", b"c0ntent")
    expected, found = sha256(b"content").hexdigest(), sha256(b"c0ntent").hexdigest()
    told = (
        rf"{s3_lake}/a/x: expected bytes with SHA-256 {expected} in {s3_lake}/a/\.objects/{name}, found {found}: remove"
    )
    for read in (storage.read, storage.open):
        with pytest.raises(StorageError, match=told):
            read("a/x")


@pytest.mark.server
def test_content_that_looks_like_a_pointer_is_refused(s3_lake: str, new_storage: NewStorage) -> None:
    storage = new_storage()
    publish(storage, "a/x", b"content")
    with pytest.raises(StorageError, match="found what looks like a pointer"):
        storage.write("a/y", Bucket(s3_lake).get("a/x").content)
    storage.write("a/y", b'{"kind":"rackrecon object"')
    assert storage.read("a/y") == b'{"kind":"rackrecon object"'


@pytest.mark.server
def test_a_long_draft_is_uploaded_in_parts_and_read_in_ranges(new_storage: NewStorage) -> None:
    content = os.urandom(1 << 20) * 19
    storage = new_storage()
    publish(storage, "a/x", content)
    assert storage.size("a/x") == len(content)
    with storage.open("a/x") as file:
        file.seek(18 << 20)
        assert file.read() == content[18 << 20 :]
        file.seek(5)
        assert file.read(9 << 20) == content[5 : (9 << 20) + 5]


@pytest.mark.server
def test_the_temporary_folder_is_named_when_it_is_full(
    new_storage: NewStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(storage_objects.tempfile, "TemporaryFile", full)
    with pytest.raises(StorageError, match=r"No space left on device.*TMPDIR"), new_storage().draft("a/x"):
        pass
