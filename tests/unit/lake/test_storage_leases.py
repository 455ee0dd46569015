"""Locks that machines share: held by one, renewed while it lives, taken over when it is dead, told when it is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import pytest

from pipelines.lake.locks import Holder, LockedError
from pipelines.lake.storage import StorageError
from pipelines.lake.storage_bucket import Bucket, ChangedError
from pipelines.lake.storage_leases import Lease, LostLockError, leased_lock

pytestmark = pytest.mark.server

KEY = ".locks/refresh"

HOLDER = """
import sys, time
from pipelines.lake.storage_bucket import Bucket
from pipelines.lake.storage_leases import leased_lock
with leased_lock(Bucket(sys.argv[1]), ".locks/refresh", 0, lease_seconds=float(sys.argv[2])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def bucket(s3_lake: str) -> Bucket:
    """Give an empty bucket."""
    return Bucket(s3_lake)


def told_holder(bucket: Bucket) -> Holder | None:
    return msgspec.convert(msgspec.json.decode(bucket.get(KEY).content)["holder"], Holder | None)


def test_the_holder_is_told_and_goes_with_the_lock(bucket: Bucket) -> None:
    moment = datetime(2026, 6, 1, 12, tzinfo=UTC)
    with leased_lock(bucket, KEY, 0, lease_seconds=30, clock=lambda: moment):
        holder = told_holder(bucket)
        assert holder is not None
        assert (holder.pid, holder.since) == (os.getpid(), "2026-06-01T12:00:00+00:00")
        told: list[Holder | None] = []
        message = rf"{KEY}: held by process {os.getpid()} on .* since 2026-06-01T12:00:00\+00:00 .*; waited 0.3 s"
        with (
            pytest.raises(LockedError, match=message),
            leased_lock(Bucket(bucket.location), KEY, 0.3, lease_seconds=30, on_wait=told.append),
        ):
            pass
        assert told == [holder]
    assert told_holder(bucket) is None
    with leased_lock(bucket, KEY, 0, lease_seconds=30, on_wait=lambda holder: pytest.fail(f"{holder}")):
        assert told_holder(bucket) is not None


def test_a_lock_is_free_after_an_error(bucket: Bucket) -> None:
    with pytest.raises(ZeroDivisionError), leased_lock(bucket, KEY, 0, lease_seconds=30):
        _ = 1 // 0
    with leased_lock(bucket, KEY, 0, lease_seconds=30):
        pass


def test_the_lock_of_a_dead_process_ends_with_its_lease(bucket: Bucket) -> None:
    arguments = [sys.executable, "-c", HOLDER, bucket.location, "1.5"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        process.send_signal(signal.SIGKILL)
    told: list[Holder | None] = []
    with pytest.raises(LockedError), leased_lock(bucket, KEY, 0, lease_seconds=30):
        pass
    with leased_lock(bucket, KEY, 60, lease_seconds=30, on_wait=told.append):
        holder = told_holder(bucket)
    assert [waited_for.pid for waited_for in told if waited_for] == [process.pid]
    assert holder is not None
    assert holder.pid == os.getpid()


def test_a_lock_is_renewed_while_its_holder_lives(bucket: Bucket) -> None:
    # As long as a busy machine may hold this process up, and watched for longer than that.
    with leased_lock(bucket, KEY, 0, lease_seconds=9) as lease:
        with pytest.raises(LockedError), leased_lock(Bucket(bucket.location), KEY, 10.0, lease_seconds=9):
            pass
        lease.check()


def test_a_lock_of_long_ago_is_no_obstacle(bucket: Bucket) -> None:
    with leased_lock(bucket, KEY, 0, lease_seconds=30):
        held = bucket.get(KEY)
    bucket.replace(KEY, held.content, bucket.get(KEY).version)
    with pytest.raises(LockedError), leased_lock(bucket, KEY, 0, lease_seconds=30):
        pass
    later = datetime.fromtimestamp(held.changed_at.timestamp() + 16 * 60, UTC)
    with leased_lock(bucket, KEY, 0, lease_seconds=30, clock=lambda: later):
        pass


def test_a_damaged_lock_is_no_obstacle(bucket: Bucket) -> None:
    bucket.create(KEY, b"\xff{")
    with leased_lock(bucket, KEY, 0, lease_seconds=30):
        assert told_holder(bucket) is not None


def taken_over(bucket: Bucket, lease: Lease) -> bytes:
    """Put another's record in place of the lock's, as one does who took it for dead; wait until that is noticed."""
    other = msgspec.json.decode(bucket.get(KEY).content) | {"token": "another"}
    content = msgspec.json.encode(other)
    while True:
        try:
            bucket.replace(KEY, content, str(bucket.version(KEY)))
            break
        except ChangedError:
            continue
    wait_until(lambda: lease._is_lost)
    return content


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.02)


def test_a_lock_that_was_taken_over_is_lost_and_stays_the_others(bucket: Bucket) -> None:
    content = b""

    def hold() -> None:
        nonlocal content
        with leased_lock(bucket, KEY, 0, lease_seconds=3) as lease:
            content = taken_over(bucket, lease)
            with pytest.raises(LostLockError):
                lease.check()

    with pytest.raises(LostLockError, match="another process may hold it now"):
        hold()
    assert bucket.get(KEY).content == content


def test_a_lock_that_cannot_be_renewed_is_lost(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object) -> str:
        raise StorageError("nobody answers")

    def hold() -> None:
        with leased_lock(bucket, KEY, 0, lease_seconds=2) as lease:
            monkeypatch.setattr(bucket, "replace", unreachable)
            lease.check()
            time.sleep(2.1)

    with pytest.raises(LostLockError):
        hold()


def test_an_answer_that_was_lost_does_not_lose_the_lock(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(put: object, *arguments: object) -> str:
        assert callable(put)
        put(*arguments)
        raise ChangedError("the client sent it again")

    create, replace = bucket.create, bucket.replace
    monkeypatch.setattr(bucket, "create", lambda *arguments: lost(create, *arguments))
    monkeypatch.setattr(bucket, "replace", lambda *arguments: lost(replace, *arguments))
    with leased_lock(bucket, KEY, 0, lease_seconds=9) as lease:
        wait_until(lambda: lease._record.renewals == 2)
        lease.check()


def test_one_at_a_time_of_many(bucket: Bucket) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        own = Bucket(bucket.location)
        for _ in range(3):
            with leased_lock(own, KEY, 120, lease_seconds=30):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.01)
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 12
