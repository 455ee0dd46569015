"""What lets workers put into the lake what they made: an object there, which goes when whoever sent the work ends.

A step that a worker has begun cannot be stopped from outside. Without this it would go on and write when nobody holds
the lock of a refresh for it any more. What is written under a permit belongs elsewhere.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pipelines.cluster.errors import ClusterError
from pipelines.lake.storage import Storage, StorageError

FOLDER = "cluster"
"""Folder of the lake whose objects last as long as the command that put them there."""


class Permit:
    """A permit as a worker sees it."""

    def __init__(self, storage: Storage, name: str) -> None:
        self._storage = storage
        self._key = f"{FOLDER}/{name}"

    def require(self) -> None:
        """Make sure that the work is still wanted.

        Raises:
            ClusterError: it is not.
            StorageError: the lake cannot be asked.
        """
        if self._storage.size(self._key) is None:
            raise ClusterError("whoever sent this work has ended: nothing of it is written")


@contextmanager
def permitted(storage: Storage) -> Iterator[str]:
    """Give the name of a permit that lasts as long as the context; the lock of a refresh must be held."""
    name = secrets.token_hex(8)
    storage.write(f"{FOLDER}/{name}", b"")
    try:
        yield name
    finally:
        # Where the store cannot be asked, workers cannot ask it either; the next refresh withdraws what is left.
        with suppress(StorageError):
            storage.delete(f"{FOLDER}/{name}")


def withdraw_all(storage: Storage) -> None:
    """Withdraw the permits that killed commands left; the lock of a refresh must be held."""
    for key in storage.list(FOLDER):
        storage.delete(key)
