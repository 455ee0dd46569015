"""How units of work are worked off: one after another in this process, or many at once on a cluster.

The same units give the same results in the same order either way. What a unit is belongs to whose work it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pipelines.cluster.errors import ClusterError
from pipelines.cluster.versions import SAME_INSTALL, differences, versions

if TYPE_CHECKING:
    from distributed import Client, Future

Unit = TypeVar("Unit")
Result = TypeVar("Result")

_UNITS_AHEAD = 2
"""How many units each thread of the cluster has before it, so that it need not wait for the next."""

_LOOK_SECONDS = 1.0
_TRANSFER_SECONDS = 60.0
"""How long a result may take to come here before it is asked whether the cluster is still there."""


class Spread(Protocol):
    """Works off units and gives their results in the order of the units."""

    def __call__(self, work: Callable[[Unit], Result], units: Iterable[Unit], /) -> Iterator[Result]:
        """Give the result of each unit.

        Args:
            work: What to do with a unit: a function of a module, or `functools.partial` of one, so that it can be sent.
            units: Taken as they are needed; each can be sent.
        """


def one_by_one(work: Callable[[Unit], Result], units: Iterable[Unit], /) -> Iterator[Result]:
    """Work off the units in this process; the default `Spread`."""
    return map(work, units)


def spread_over(client: Client, require: Callable[[], None]) -> Spread:
    """Return the `Spread` of a cluster; a unit whose worker dies is worked by another one.

    What it gives ends with a `ClusterError` where the cluster is lost, or one unit takes worker after worker with it.

    Args:
        client: Connection to the scheduler.
        require: Called before each unit is sent and time and again while a result is waited for; what it raises
            gives up all units.
    """

    def spread(work: Callable[[Unit], Result], units: Iterable[Unit], /) -> Iterator[Result]:
        ours = dict(versions())
        sent: deque[Future[Any]] = deque()

        def next_result() -> Any:
            result = _result(sent[0], require)
            sent.popleft()
            return result

        try:
            for unit in units:
                require()
                sent.append(client.submit(_work_alike, ours, work, unit, pure=False))
                if len(sent) >= _units_ahead(client):
                    yield next_result()
            while sent:
                yield next_result()
        finally:
            # A client whose scheduler is gone cannot say so, and what made this end must not be hidden.
            with suppress(Exception):
                client.cancel(list(sent))

    return spread


def from_a_worker(
    work: Callable[[Unit], Result], units: Iterable[Unit], /, *, require: Callable[[], None]
) -> Iterator[Result]:
    """Spread units from within work that a worker does, whose thread is free for them meanwhile.

    Args:
        work: As of a `Spread`.
        units: As of a `Spread`.
        require: As of `spread_over`.
    """
    from distributed import worker_client

    with worker_client() as client:
        yield from spread_over(client, require)(work, units)


def require_versions(theirs: Mapping[str, str]) -> None:
    """Refuse work that was sent by another version; a worker may have joined after the others were looked at.

    Raises:
        ClusterError: this machine has other code or libraries.
    """
    different = differences(versions(), theirs)
    if different:
        raise ClusterError(f"a worker joined the cluster with {', '.join(different)}: {SAME_INSTALL}")


def _work_alike(theirs: Mapping[str, str], work: Callable[[Unit], Result], unit: Unit) -> Result:
    require_versions(theirs)
    return work(unit)


def _result(future: Future[Any], require: Callable[[], None]) -> Any:
    from distributed import KilledWorker

    while True:
        try:
            # Waits for the end of the work alone; the result takes its own time to come.
            future.exception(timeout=_LOOK_SECONDS)
            return future.result(timeout=_TRANSFER_SECONDS)
        except KilledWorker as error:
            raise ClusterError(
                f"{error.allowed_failures + 1} workers died one after another of the same unit of work, the last at "
                f"{error.last_worker.address}: look at its log; one that needs more memory than it may have gets killed"
            ) from error
        except (CancelledError, OSError) as error:
            if future.status == "error":
                raise
            require()
            if future.status == "cancelled":
                raise ClusterError(f"the cluster gave up a unit of work: {error}") from error


def _units_ahead(client: Client) -> int:
    threads: dict[str, int] = client.nthreads()
    return _UNITS_AHEAD * max(1, sum(threads.values()))
