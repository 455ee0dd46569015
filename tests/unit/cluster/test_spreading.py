"""Work spread over workers: results in the order of the units, few units in flight, other versions refused."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from distributed import KilledWorker

from pipelines.cluster import spreading
from pipelines.cluster.errors import ClusterError
from pipelines.cluster.spreading import one_by_one, require_versions, spread_over
from pipelines.cluster.versions import OURS, differences, versions


class Sent:
    """A unit that was sent and is worked when its result is asked for."""

    def __init__(self, client: OneThread, work: Any, arguments: tuple[Any, ...]) -> None:
        self._client, self._work, self._arguments = client, work, arguments

        self.status = "pending"

    def exception(self, timeout: float) -> None:
        """Wait for the end, which has come."""
        self._client.asked += 1
        if self._client.asked <= len(self._client.before):
            raise self._client.before[self._client.asked - 1]

    def result(self, timeout: float) -> Any:
        self._client.in_flight -= 1
        try:
            return self._work(*self._arguments)
        except Exception:
            self.status = "error"
            raise


class OneThread:
    """What a client of a cluster with one thread gives; what a real one gives is tested in tests/integration."""

    def __init__(self) -> None:
        self.in_flight = self.most_in_flight = 0
        self.cancelled: list[Sent] = []
        self.before: list[Exception] = []
        """What is told of the first unit before its end, one time after another."""
        self.asked = 0

    def submit(self, work: Any, *arguments: Any, pure: bool) -> Sent:
        assert not pure, "the same unit sent by another refresh is another unit"
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        return Sent(self, work, arguments)

    def nthreads(self) -> dict[str, int]:
        return {"tcp://127.0.0.1:1": 1}

    def cancel(self, units: list[Sent]) -> None:
        self.cancelled += units


def still_wanted() -> None:
    """Make sure that the work is wanted, which it is."""


def silent(unit: int) -> None:
    raise TimeoutError("the host is silent")


def power(exponent: int, base: int) -> int:
    return int(base**exponent)


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_results_come_in_the_order_of_the_units(count: int) -> None:
    client: Any = OneThread()
    square = partial(power, 2)
    assert list(spread_over(client, still_wanted)(square, range(count))) == list(one_by_one(square, range(count)))
    assert client.most_in_flight == min(count, 2)


def test_units_are_taken_when_there_is_room() -> None:
    taken = []

    def units() -> Iterator[int]:
        for unit in range(100):
            taken.append(unit)
            yield unit

    client: Any = OneThread()
    results = spread_over(client, still_wanted)(partial(power, 2), units())
    assert next(results) == 0
    assert taken == [0, 1]
    results.close()  # type: ignore[attr-defined]
    assert len(client.cancelled) == 1, "what nobody waits for is given up"


def test_a_unit_that_fails_gives_up_the_rest() -> None:
    client: Any = OneThread()
    with pytest.raises(ZeroDivisionError):
        list(spread_over(client, still_wanted)(partial(power, -1), [0, 1]))
    assert len(client.cancelled) == 2


def test_what_waits_for_a_result_asks_whether_it_is_still_wanted() -> None:
    client: Any = OneThread()
    client.before = [TimeoutError(), OSError("a connection broke"), TimeoutError()]
    asked = []
    assert list(spread_over(client, lambda: asked.append(len(asked)))(partial(power, 2), [3])) == [9]
    assert len(asked) == 1 + len(client.before), "once before the unit is sent"


def test_work_that_is_no_longer_wanted_is_given_up() -> None:
    client: Any = OneThread()
    client.before = [TimeoutError()]

    def require() -> None:
        if client.in_flight:
            raise ClusterError("whoever sent this work has ended")

    with pytest.raises(ClusterError, match="has ended"):
        list(spread_over(client, require)(partial(power, 2), [3]))
    assert len(client.cancelled) == 1


def test_a_time_limit_of_the_work_itself_is_its_own_failure() -> None:
    client: Any = OneThread()
    with pytest.raises(TimeoutError, match="the host is silent"):
        list(spread_over(client, still_wanted)(silent, [0]))


def test_a_unit_that_takes_workers_with_it_is_named() -> None:
    client: Any = OneThread()
    client.before = [KilledWorker("a unit", SimpleNamespace(address="tcp://10.0.0.2:1"), 3)]
    with pytest.raises(ClusterError, match=r"4 workers died .* the last at tcp://10\.0\.0\.2:1: look at its log"):
        list(spread_over(client, still_wanted)(partial(power, 2), [3]))


def test_work_of_another_version_is_refused() -> None:
    require_versions(dict(versions()))
    other = {**versions(), OURS: "0" * 12, "polars": "0.1"}
    with pytest.raises(ClusterError, match=r"a worker joined the cluster with rackrecon's code .*, polars .*0\.1"):
        require_versions(other)
    assert differences({}, {"polars": "2.1"}) == ["polars none (here 2.1)"]


def test_only_few_units_are_ahead_of_a_cluster_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    client: Any = OneThread()
    monkeypatch.setattr(client, "nthreads", dict)
    assert spreading._units_ahead(client) == 2
