"""The lake on an object store: small objects under their keys, long ones under names of their own that keys point to.

An object that a key points to is never changed, so who reads it goes on reading what it was. How a bucket is asked
belongs in `storage_bucket`, how writers take turns in `storage_leases`.
"""

from __future__ import annotations

import hashlib
import io
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import BinaryIO

import msgspec

from pipelines.lake.drafts import DigestedFile
from pipelines.lake.locks import Holder
from pipelines.lake.ranged_file import buffered
from pipelines.lake.storage import MissingObjectError, StorageError, check_key
from pipelines.lake.storage_bucket import Bucket, ChangedError
from pipelines.lake.storage_leases import LEASE_SECONDS, Lease, leased_lock

KEPT = timedelta(days=1)
"""How long an object stays that no key points to any more, for those who still read it."""

_OBJECTS = ".objects"
_LOCKS = ".locks"
_AT_ONCE_BYTES = 8 << 20
"""An object up to this length is fetched by one request; a longer one range by range."""

_PUBLISH_SECONDS = 600.0


class Pointer(msgspec.Struct, frozen=True, kw_only=True, tag="rackrecon object", tag_field="kind"):
    """What is stored under the key of a long object."""

    object: str
    """Name of the object in the hidden folder beside the key."""
    size_bytes: int
    sha256: str


class ObjectDraft(DigestedFile):
    """A file without a name on this machine, uploaded when it is published."""

    def __init__(self, storage: ObjectStorage, key: str) -> None:
        self._storage = storage
        self._key = key
        with _spooling():
            file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `discard`
        super().__init__(file, _spooling)

    def reopen(self) -> BinaryIO:
        """Open what was written so far for reading; it can be read until the draft ends."""
        self.flush()
        descriptor = self._file.fileno()
        return buffered(self.size_bytes, lambda start, length: os.pread(descriptor, length, start))

    def publish(self) -> None:
        """Upload the file and let its key point to it."""
        self.flush()
        self._storage.publish(self._key, self._file, self.size_bytes, self.sha256)


class ObjectStorage:
    """Objects of a bucket, under a prefix."""

    def __init__(
        self,
        bucket: Bucket,
        *,
        lease_seconds: float,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._bucket = bucket
        self._lease_seconds = lease_seconds
        self._clock = clock
        self._leases: list[Lease] = []
        self._seen: dict[str, dict[str, str]] = {}
        """Versions of the objects of each folder in which this process alone publishes, as it last saw them."""

    def read(self, key: str) -> bytes:
        """Return an object's bytes."""
        content = self._bucket.get(check_key(key)).content
        pointer = _pointer(content)
        return self._bytes_of(key, pointer) if pointer else content

    def open(self, key: str) -> BinaryIO:
        """Open an object for reading at any place; what is open stays as it was when the object is replaced."""
        content = self._bucket.get(check_key(key)).content
        pointer = _pointer(content)
        if pointer is None:
            return io.BytesIO(content)
        if pointer.size_bytes <= _AT_ONCE_BYTES:
            return io.BytesIO(self._bytes_of(key, pointer))
        return buffered(pointer.size_bytes, lambda start, length: self._range_of(key, pointer, start, length))

    def write(self, key: str, content: bytes) -> None:
        """Put `content` under `key`, in place of what is there."""
        self._put(check_key(key), _not_a_pointer(key, content))

    def create(self, key: str, content: bytes) -> bool:
        """Put `content` under `key` unless an object is there; return whether it was put."""
        try:
            self._bucket.create(check_key(key), _not_a_pointer(key, content))
        except ChangedError:
            return False
        return True

    @contextmanager
    def draft(self, key: str) -> Iterator[ObjectDraft]:
        """Give a file to write into; it is thrown away unless it is published before the context ends."""
        draft = ObjectDraft(self, check_key(key))
        try:
            yield draft
        finally:
            draft.discard()

    def publish(self, key: str, file: BinaryIO, size_bytes: int, sha256: str) -> None:
        """Upload a file under a name of its own, then let `key` point to it."""
        name = f"{key.rpartition('/')[2]}.{sha256[:16]}-{secrets.token_hex(8)}"
        self._check_leases()
        self._bucket.upload(_object_key(key, name), file)
        try:
            self._put(key, msgspec.json.encode(Pointer(object=name, size_bytes=size_bytes, sha256=sha256)))
        except ChangedError:
            # After any other error the pointer may have been put all the same; then the object is not ours to remove.
            with suppress(StorageError):
                self._bucket.delete(_object_key(key, name))
            raise

    def digest(self, key: str) -> str:
        """Return the SHA-256 of an object's bytes, in hexadecimal, without reading them where a draft became it."""
        content = self._bucket.get(check_key(key)).content
        pointer = _pointer(content)
        return pointer.sha256 if pointer else hashlib.sha256(content).hexdigest()

    def list(self, prefix: str) -> list[str]:
        """Return the keys directly under the folder `prefix`, sorted."""
        keys = [found.key for found in self._bucket.list(check_key(prefix))]
        return sorted(key for key in keys if not key.rpartition("/")[2].startswith("."))

    def delete(self, key: str) -> None:
        """Remove the object under `key`, if there is one; in an exclusive section only as it was seen there."""
        seen = self._seen.get(_folder(check_key(key)))
        self._check_leases()
        if seen is not None:
            if key not in seen:
                return
            if self._bucket.version(key) not in (seen.pop(key), None):
                raise ChangedError(f"{self.url(key)}: cannot be removed: another writer changed it meanwhile")
        self._bucket.delete(key)

    def size(self, key: str) -> int | None:
        """Return an object's length in bytes; null where there is no object."""
        try:
            content = self._bucket.get(check_key(key)).content
        except MissingObjectError:
            return None
        pointer = _pointer(content)
        return pointer.size_bytes if pointer else len(content)

    def url(self, key: str) -> str:
        """Return the address of an object, for messages."""
        return self._bucket.url(key)

    @contextmanager
    def exclusive(self, prefix: str, *others: str) -> Iterator[None]:
        """Keep other writers from publishing under the folder `prefix`, in which nothing may change meanwhile.

        Should this process be held up for so long that another takes the lock, no put of it succeeds over what the
        other has put in these folders.
        """
        folders = (prefix, *others)
        with self._leased(check_key(prefix).replace("/", "."), _PUBLISH_SECONDS, lambda holder: None):
            self._seen |= {
                folder: {found.key: found.version for found in self._bucket.list(folder)} for folder in folders
            }
            try:
                yield
            finally:
                for folder in folders:
                    del self._seen[folder]

    @contextmanager
    def lock(
        self, name: str, wait_seconds: float, on_wait: Callable[[Holder | None], None] = lambda holder: None
    ) -> Iterator[None]:
        """Hold the lock of that name, which all machines share; while it is held nothing is put once it is lost.

        Raises:
            LockedError: another process still holds it after `wait_seconds`.
            StorageError: the store ignores conditions, so that a lock would keep nobody out.
        """
        self._bucket.check_conditions(f"{_LOCKS}/conditions")
        with self._leased(name, wait_seconds, on_wait):
            yield

    @contextmanager
    def _leased(self, name: str, wait_seconds: float, on_wait: Callable[[Holder | None], None]) -> Iterator[None]:
        key = f"{_LOCKS}/{name}"
        with leased_lock(
            self._bucket, key, wait_seconds, lease_seconds=self._lease_seconds, on_wait=on_wait, clock=self._clock
        ) as lease:
            self._leases.append(lease)
            try:
                yield
            finally:
                self._leases.remove(lease)

    def sweep(self, prefix: str) -> None:
        """Remove the objects of the folder `prefix` that no key has pointed to for a day."""
        objects = self._bucket.list(f"{check_key(prefix)}/{_OBJECTS}")
        if not objects:
            return
        keys = {found.key: found for found in self._bucket.list(prefix)}
        limit = self._clock() - KEPT
        for found in objects:
            name = found.key.rpartition("/")[2]
            key = f"{prefix}/{name.rpartition('.')[0]}"
            replaced_at = keys[key].changed_at if key in keys else found.changed_at
            if max(found.changed_at, replaced_at) < limit and not self._is_pointed_to(key, name):
                self._bucket.delete(found.key)

    def _is_pointed_to(self, key: str, name: str) -> bool:
        try:
            pointer = _pointer(self._bucket.get(key).content)
        except MissingObjectError:
            return False
        return pointer is not None and pointer.object == name

    def _put(self, key: str, content: bytes) -> None:
        """Put a small object or a pointer in place of the version seen, or of the present one outside a section."""
        self._check_leases()
        seen = self._seen.get(_folder(key))
        if seen is not None:
            version = seen.get(key)
            seen[key] = self._put_over(key, content, version)
            return
        while True:
            try:
                self._put_over(key, content, self._bucket.version(key))
                return
            except ChangedError:
                continue

    def _put_over(self, key: str, content: bytes, version: str | None) -> str:
        try:
            if version is None:
                return self._bucket.create(key, content)
            return self._bucket.replace(key, content, version)
        except ChangedError:
            # The answer to a put can be lost; the client sends it again and finds its own object there.
            with suppress(MissingObjectError):
                found = self._bucket.get(key)
                if found.content == content:
                    return found.version
            raise

    def _check_leases(self) -> None:
        for lease in self._leases:
            lease.check()

    def _bytes_of(self, key: str, pointer: Pointer) -> bytes:
        place = _object_key(key, pointer.object)
        with self._told_as_damaged(key, pointer):
            content = self._bucket.get(place).content
        found = hashlib.sha256(content).hexdigest()
        if found != pointer.sha256:
            raise StorageError(
                f"{self.url(key)}: expected bytes with SHA-256 {pointer.sha256} in {self.url(place)}, found {found}: "
                f"remove {self.url(key)}, and a refresh makes it again"
            )
        return content

    def _range_of(self, key: str, pointer: Pointer, start: int, length: int) -> bytes:
        with self._told_as_damaged(key, pointer):
            return self._bucket.get_range(_object_key(key, pointer.object), start, length)

    @contextmanager
    def _told_as_damaged(self, key: str, pointer: Pointer) -> Iterator[None]:
        try:
            yield
        except MissingObjectError:
            place = self.url(_object_key(key, pointer.object))
            raise StorageError(f"{self.url(key)}: expected its bytes in {place}, found no such object") from None


def open_object_storage(location: str) -> ObjectStorage:
    """Return the storage at `location`, such as `s3://bucket/prefix`.

    Raises:
        ConfigurationError: the address of the host, from the environment, cannot be used.
    """
    return ObjectStorage(Bucket(location), lease_seconds=LEASE_SECONDS)


def _pointer(content: bytes) -> Pointer | None:
    """Return what a small object says is stored under its key, null where it is no pointer."""
    if not content.startswith(_POINTER_START):
        return None
    try:
        return msgspec.json.decode(content, type=Pointer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


_POINTER_START = msgspec.json.encode(Pointer(object="", size_bytes=0, sha256="")).partition(b",")[0]


def _not_a_pointer(key: str, content: bytes) -> bytes:
    if _pointer(content) is not None:
        raise StorageError(f"{key}: expected content, found what looks like a pointer to an object")
    return content


def _object_key(key: str, name: str) -> str:
    return f"{_folder(key)}/{_OBJECTS}/{name}".removeprefix("/")


def _folder(key: str) -> str:
    return key.rpartition("/")[0]


@contextmanager
def _spooling() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{tempfile.gettempdir()}: cannot be written: {error.strerror or error}: "
            "a partition is kept there until it is uploaded; TMPDIR may name a folder with more room"
        ) from error
