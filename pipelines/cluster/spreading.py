"""How units of work are worked off: one after another in this process, or many at once on a cluster.

The same units give the same results in the same order either way. What a unit is belongs to whose work it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pipelines.cluster.errors import ClusterError
from pipelines.cluster.versions import differences, versions

if TYPE_CHECKING:
    from distributed import Client, Future

Unit = TypeVar("Unit")
Result = TypeVar("Result")

_UNITS_AHEAD = 2
"""How many units each thread of the cluster has before it, so that it need not wait for the next."""


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


def spread_over(client: Client) -> Spread:
    """Return the `Spread` of a cluster; a unit whose worker dies is worked by another one.

    Args:
        client: Connection to the scheduler.
    """

    def spread(work: Callable[[Unit], Result], units: Iterable[Unit], /) -> Iterator[Result]:
        ours = dict(versions())
        sent: deque[Future[Any]] = deque()
        try:
            for unit in units:
                sent.append(client.submit(_work_alike, ours, work, unit, pure=False))
                if len(sent) >= _units_ahead(client):
                    yield sent.popleft().result()
            while sent:
                yield sent.popleft().result()
        finally:
            client.cancel(list(sent))

    return spread


def from_a_worker(work: Callable[[Unit], Result], units: Iterable[Unit], /) -> Iterator[Result]:
    """Spread units from within work that a worker does, whose thread is free for them meanwhile."""
    from distributed import worker_client

    with worker_client() as client:
        yield from spread_over(client)(work, units)


def require_versions(theirs: Mapping[str, str]) -> None:
    """Refuse work that was sent by another version; a worker may have joined after the others were looked at.

    Raises:
        ClusterError: this machine has other code or libraries.
    """
    different = differences(versions(), theirs)
    if different:
        raise ClusterError(
            f"a worker joined the cluster with {', '.join(different)}: "
            "install the same checkout and requirements-cluster.lock there and restart it"
        )


def _work_alike(theirs: Mapping[str, str], work: Callable[[Unit], Result], unit: Unit) -> Result:
    require_versions(theirs)
    return work(unit)


def _units_ahead(client: Client) -> int:
    threads: dict[str, int] = client.nthreads()
    return _UNITS_AHEAD * max(1, sum(threads.values()))
