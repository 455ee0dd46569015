"""The connection to the cluster of the settings, and what is asked of its workers before any work is sent.

A cluster that would fail later, or write other tables, is refused here with one sentence that says what to change.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import metadata
from typing import TYPE_CHECKING, Any

from pipelines.cluster.errors import ClusterError
from pipelines.cluster.permits import FOLDER
from pipelines.cluster.spreading import Spread, spread_over
from pipelines.cluster.versions import SAME_INSTALL, differences, versions
from pipelines.lake.storage import LakeError, open_storage
from pipelines.settings import Settings

if TYPE_CHECKING:
    from distributed import Client, Future

_ANSWER_SECONDS = 10
_SILENT_SECONDS = 60
"""How long a scheduler that is connected may leave a question without an answer."""


class Cluster:
    """A scheduler whose workers can do our work."""

    def __init__(self, client: Client, address: str, wait_seconds: float) -> None:
        self._client = client
        self._wait_seconds = wait_seconds
        self._without_worker_since: float | None = None
        self._witness = _future("rackrecon-connection", client)
        self.address = address

    @property
    def spread(self) -> Spread:
        """Return what works off units on the workers."""
        return spread_over(self._client, self.require)

    @property
    def worker_count(self) -> int:
        """Return how many workers there are now."""
        return len(self._client.nthreads(callback_timeout=_SILENT_SECONDS))

    def require(self) -> None:
        """Make sure that what was sent is still being worked on.

        Raises:
            ClusterError: the connection was lost, and with it all that was sent; or there was no worker for long.
        """
        # A scheduler forgets a client that it loses, also one that comes back; then every future is cancelled.
        if self._witness.status == "cancelled":
            raise self._lost()
        try:
            count = self.worker_count
        except (OSError, TimeoutError) as error:
            raise self._lost() from error
        if count:
            self._without_worker_since = None
            return
        now = time.monotonic()
        since = self._without_worker_since = self._without_worker_since or now
        if now - since > self._wait_seconds:
            raise ClusterError(
                f"the cluster at {self.address} had no worker for {self._wait_seconds:g} s: look at the logs of the "
                "workers (one that needs more memory than there is gets killed) and start them"
            )

    def _lost(self) -> ClusterError:
        return ClusterError(
            f"the Dask scheduler at {self.address} was lost amid the work: look at its log, start it and the workers "
            "again, or unset RACKRECON_CLUSTER to work in this process"
        )

    def cancel(self, keys: list[str]) -> None:
        """Give up work that anyone sent under these keys; without a scheduler there is none."""
        # Whatever hinders this ends the work as well, and what made the caller give it up must not be hidden.
        with suppress(Exception):
            self._client.cancel([_future(key, self._client) for key in keys], force=True)

    def ask(self, question: Callable[..., Any], *arguments: object) -> dict[str, Any]:
        """Return each worker's answer, or the exception that it gave, by the worker's address."""
        asked = self._client.run(question, *arguments, on_error="return")
        return dict(sorted(asked.items()))

    def check_lake(self, location: str) -> None:
        """Make sure that every worker reads and writes the same lake as this process.

        Args:
            location: Where the lake is, as in the setting RACKRECON_LAKE.

        Raises:
            ClusterError: one does not.
        """
        token = secrets.token_hex(8)
        storage = open_storage(location)
        storage.write(_probe_key(token), token.encode())
        try:
            for worker, answer in self.ask(_probe_lake, location, token).items():
                if answer is not None:
                    raise ClusterError(
                        f"worker {worker} does not share the lake at {location} ({_said(answer)}): mount that folder "
                        "there under the same path for reading and writing, or keep the lake in an object store "
                        "(RACKRECON_LAKE=s3://BUCKET/PREFIX) and give the worker the store's address and credentials"
                    )
        finally:
            storage.delete(_probe_key(token))


@contextmanager
def connected(address: str, wait_seconds: float) -> Iterator[Cluster]:
    """Give the cluster at an address while the context lasts.

    Args:
        address: Of the scheduler, as in the setting RACKRECON_CLUSTER.
        wait_seconds: How long work may wait for a worker, as in the setting RACKRECON_CLUSTER_SECONDS.

    Raises:
        ClusterError: nothing answers there, there is no worker, or one has other code.
    """
    client = _client(address)
    try:
        cluster = Cluster(client, address, wait_seconds)
        _check_versions(cluster)
        yield cluster
    finally:
        client.close()


@contextmanager
def spread_of(settings: Settings) -> Iterator[Spread | None]:
    """Give what works off units on the cluster of the settings, null where they name none.

    Raises:
        ClusterError: the cluster cannot be used.
    """
    if settings.cluster is None:
        yield None
        return
    with connected(settings.cluster, settings.cluster_seconds) as cluster:
        yield cluster.spread


def _client(address: str) -> Client:
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise ClusterError(
            f"RACKRECON_CLUSTER needs the extra `cluster`, and {error.name} is missing here: make cluster installs it"
        ) from None
    # what a lost connection means is said by us; the library would print a page about it
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        return Client(address, timeout=_ANSWER_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(
            f"RACKRECON_CLUSTER: no Dask scheduler answers at {address} within {_ANSWER_SECONDS} s ({_said(error)}): "
            "start one there (dask scheduler), correct the address, or unset the variable to work in this process"
        ) from error


def _future(key: str, client: Client) -> Future[Any]:
    from distributed import Future

    return Future(key, client)


def _check_versions(cluster: Cluster) -> None:
    if not cluster.worker_count:
        raise ClusterError(
            f"the scheduler at {cluster.address} has no worker: start some with "
            f"dask worker {cluster.address} --nworkers 2 --nthreads 1"
        )
    for worker, answer in cluster.ask(metadata.version, "rackrecon").items():
        if isinstance(answer, BaseException):
            raise ClusterError(f"worker {worker} has no rackrecon ({_said(answer)}): {SAME_INSTALL}")
    ours = versions()
    for worker, answer in cluster.ask(versions).items():
        if not isinstance(answer, Mapping):
            raise ClusterError(f"worker {worker} cannot run rackrecon ({_said(answer)}): {SAME_INSTALL}")
        different = differences(answer, ours)
        if different:
            raise ClusterError(f"worker {worker} has {', '.join(different)}: {SAME_INSTALL}")


def _probe_lake(location: str, token: str) -> str | None:
    """Read what the asking process wrote, write it again and remove it; return what went wrong."""
    try:
        storage, own_key = open_storage(location), _probe_key(secrets.token_hex(8))
        if storage.read(_probe_key(token)) != token.encode():
            return "what was written there a moment ago reads otherwise"
        storage.write(own_key, token.encode())
        storage.delete(own_key)
    except LakeError as error:
        return str(error)
    return None


def _probe_key(token: str) -> str:
    return f"{FOLDER}/{token}"


def _said(error: object) -> str:
    return " ".join(str(error).split()) or type(error).__name__
