"""The connection to an S3-compatible bucket: objects put on conditions, ranges read, errors told in words.

What an object means to the lake belongs in `storage_objects`. No message shows a credential or what a host answered.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import S3Store

from pipelines.lake.storage import MissingObjectError, StorageError
from pipelines.setting_values import ConfigurationError, address

if TYPE_CHECKING:
    from obstore.store import S3Config

_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
"""Variables that name the host, the first that is set winning."""

_RETRIES = 6
_RETRY_SECONDS = 20
"""Less than a lease lasts, so that its holder learns in time that the host is gone."""

_REQUEST_SECONDS = 60
_PART_BYTES = 8 << 20
_PARTS_AT_ONCE = 2

_REFUSED = {
    "AccessDenied",
    "ExpiredToken",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "InvalidToken",
    "SignatureDoesNotMatch",
}
_ELSEWHERE = {"AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "PermanentRedirect"}


class ChangedError(StorageError):
    """Another writer put or removed the object since it was seen."""


@dataclass(frozen=True)
class Stored:
    """An object's bytes and which version of it they are."""

    content: bytes
    version: str
    changed_at: datetime


@dataclass(frozen=True)
class Listed:
    """What a listing says of an object."""

    key: str
    version: str
    changed_at: datetime


class Bucket:
    """The objects of a bucket under a prefix. Every method raises `StorageError`."""

    def __init__(self, location: str) -> None:
        """Take endpoint, region and credentials from the environment, under the names that AWS's own tools use.

        Args:
            location: Bucket and prefix, as `s3://bucket/prefix`.

        Raises:
            ConfigurationError: something of that cannot be used.
        """
        self.location = location
        parts = urlsplit(location)
        self._bucket = parts.netloc
        endpoint = _endpoint(os.environ)
        self._host = endpoint or "AWS"
        self._store = _client(parts.netloc, parts.path.strip("/"), endpoint)

    def url(self, key: str) -> str:
        """Return the address of an object."""
        return f"{self.location}/{key}"

    def get(self, key: str) -> Stored:
        """Return an object as it is."""
        with self._told(key, "read"):
            found = obstore.get(self._store, key)
            return Stored(bytes(found.bytes()), str(found.meta["e_tag"]), found.meta["last_modified"])

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """Return some bytes of an object; `length` is above 0."""
        with self._told(key, "read"):
            return bytes(obstore.get_range(self._store, key, start=start, length=length))

    def version(self, key: str) -> str | None:
        """Return which version of an object there is, null where there is none."""
        try:
            with self._told(key, "read"):
                return str(obstore.head(self._store, key)["e_tag"])
        except MissingObjectError:
            return None

    def create(self, key: str, content: bytes) -> str:
        """Put an object where there is none and return its version.

        Raises:
            ChangedError: there is one.
        """
        with self._told(key, "written"):
            return str(obstore.put(self._store, key, content, mode="create")["e_tag"])

    def replace(self, key: str, content: bytes, version: str) -> str:
        """Put an object in place of that version of it and return the new version.

        Raises:
            ChangedError: there is another version, or none.
        """
        with self._told(key, "written"):
            return str(obstore.put(self._store, key, content, mode={"e_tag": version})["e_tag"])

    def check_conditions(self, key: str) -> None:
        """Put an object twice under a key that is used for nothing else, both times on conditions that do not hold.

        Raises:
            StorageError: the store put it.
        """
        content = b"Put once, to see that the store honours conditions.\n"
        with suppress(ChangedError):
            self.create(key, content)
        with suppress(ChangedError):
            self.create(key, content)
            raise self._ignores("If-None-Match")
        with suppress(ChangedError):
            self.replace(key, content, '"no such version"')
            raise self._ignores("If-Match")

    def upload(self, key: str, file: BinaryIO) -> None:
        """Put what a file holds from its start, in parts, under a key that nobody else uses."""
        file.seek(0)
        with self._told(key, "written"):
            obstore.put(self._store, key, file, chunk_size=_PART_BYTES, max_concurrency=_PARTS_AT_ONCE)

    def list(self, folder: str) -> list[Listed]:
        """Return the objects directly under a folder."""
        with self._told(folder, "listed"):
            found = obstore.list_with_delimiter(self._store, folder)["objects"]
            return [Listed(str(meta["path"]), str(meta["e_tag"]), meta["last_modified"]) for meta in found]

    def delete(self, key: str) -> None:
        """Remove an object, if there is one."""
        with self._told(key, "removed"):
            obstore.delete(self._store, key)

    @contextmanager
    def _told(self, key: str, action: str) -> Iterator[None]:
        """Turn the client's error into a sentence.

        The client's own text holds the host's answer, which names access keys: it must not be shown as a cause either.
        """
        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            raise self._in_words(error, key, action) from None

    def _in_words(self, error: Exception, key: str, action: str) -> StorageError:
        text = str(error)
        code = _match(r"<Code>(\w+)</Code>", text) or _match(r"status code: (\d+)", text)
        if code == "NoSuchBucket":
            advice = "create it, or correct RACKRECON_LAKE or AWS_ENDPOINT_URL"
            return StorageError(f"{self.location}: there is no bucket {self._bucket!r} at {self._host}: {advice}")
        if isinstance(error, FileNotFoundError):
            return MissingObjectError(f"{self.url(key)}: no such object")
        if isinstance(error, AlreadyExistsError | PreconditionError):
            return ChangedError(f"{self.url(key)}: cannot be {action}: another writer changed it meanwhile")
        return StorageError(f"{self.url(key)}: cannot be {action}: {self._reason(text, code)}")

    def _ignores(self, condition: str) -> StorageError:
        return StorageError(
            f"{self.location}: expected a store that puts on conditions, found that {self._host} ignores {condition}: "
            "it cannot keep two writers apart; use another store"
        )

    def _reason(self, text: str, code: str | None) -> str:
        if "169.254." in text or "CredentialsNotLoaded" in text or "AssumeRole" in text:
            return (
                "no credentials are known: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role"
            )
        if code in _REFUSED or code in ("401", "403"):
            return (
                f"{self._host} refuses the credentials ({code}): correct AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY "
                f"and AWS_SESSION_TOKEN, or let this key read, write, list and delete in bucket {self._bucket!r}"
            )
        if code in _ELSEWHERE or code == "301":
            return f"bucket {self._bucket!r} is in another region ({code}): correct AWS_REGION or AWS_ENDPOINT_URL"
        if code == "RequestTimeTooSkewed":
            return f"{self._host} finds this machine's clock wrong: set it"
        if code is None:
            return f"{self._host} cannot be reached, or broke off: correct AWS_ENDPOINT_URL, or try again later"
        return f"{self._host} answered {code}"


def _client(bucket: str, prefix: str, endpoint: str) -> S3Store:
    config: S3Config = {"conditional_put": "etag"}
    if endpoint:
        config["endpoint"] = endpoint
    try:
        return S3Store(
            bucket,
            prefix=prefix or None,
            config=config,
            client_options={
                "allow_http": endpoint.startswith("http://"),
                "connect_timeout": timedelta(seconds=5),
                "timeout": timedelta(seconds=_REQUEST_SECONDS),
            },
            retry_config={"max_retries": _RETRIES, "retry_timeout": timedelta(seconds=_RETRY_SECONDS)},
        )
    except (BaseError, ValueError) as error:
        raise _as_configuration(str(error), os.environ) from None


def _as_configuration(text: str, environ: Mapping[str, str]) -> ConfigurationError:
    """Return the client's complaint without the values in it."""
    if "SecretAccessKey" in text:
        return ConfigurationError("AWS_SECRET_ACCESS_KEY", "the key that belongs to AWS_ACCESS_KEY_ID", "nothing")
    if "AccessKeyId" in text:
        return ConfigurationError("AWS_ACCESS_KEY_ID", "the name of AWS_SECRET_ACCESS_KEY", "nothing")
    names = ", ".join(sorted(name for name in environ if name.startswith("AWS_")))
    return ConfigurationError(names, "values that an S3 client can read", "one that it cannot")


def _endpoint(environ: Mapping[str, str]) -> str:
    """Return the address of the host, blank for AWS's own."""
    name, text = next(((name, text) for name in _ENDPOINTS if (text := environ.get(name, "").strip())), ("", ""))
    return address(name, text) if text else ""


def _match(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text)
    return found[1] if found else None
