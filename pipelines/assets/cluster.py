"""Runs the rounds of a refresh on the Dask cluster of the settings, by the same assets and into the same instance.

A round's bytes are taken in by this process, which alone need see the archive or the hosts. Then one Dagster run for
each round, many at once, reads them: its step is done by a worker, which spreads the round's groups of logs over all
workers. The answers, which take seconds, and the warehouse, which is a local file, are made by this process.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial

import dagster as dg
from dagster._core.instance.ref import InstanceRef

from pipelines.assets.dask_steps import TASK_TAG, steps_on_dask, task_key
from pipelines.assets.execution import QUIET, InProcessRunner, failure, is_interruption
from pipelines.assets.rounds import ROUND_ASSETS, read_round, take_in_round
from pipelines.cluster.connecting import Cluster, connected
from pipelines.cluster.errors import ClusterError
from pipelines.cluster.permits import Permit, permitted
from pipelines.cluster.spreading import from_a_worker, require_versions
from pipelines.cluster.versions import versions
from pipelines.lake.storage import open_storage
from pipelines.lake.tables import Lake
from pipelines.refreshing.flow import RunOutcome
from pipelines.refreshing.workshop import Workshop
from pipelines.settings import Settings

READ_ON_CLUSTER = "read_round_on_cluster"

_LOOK_SECONDS = 1.0
_END_SECONDS = 20.0
"""How long the runs of readings that were given up may take to end."""

_PROBE = "rackrecon_cluster_probe"


class ClusterRunner(InProcessRunner):
    """Runs the assets for a refresh, the reading of rounds on the cluster of the settings."""

    def __init__(self, definitions: dg.Definitions, instance: dg.DagsterInstance, settings: Settings) -> None:
        super().__init__(definitions, instance)
        self._settings = settings
        self._address = settings.cluster or ""

    def run_rounds(self, round_names: Iterable[str]) -> Generator[tuple[str, RunOutcome]]:
        """Take in one round after another; read each on the cluster as soon as it is taken in.

        However it ends, nothing of what is still being read is written after that.

        Raises:
            ClusterError: the cluster or a worker cannot be used, and no round was begun; or the cluster was lost.
        """
        with connected(self._address, self._settings.cluster_seconds) as cluster:
            cluster.check_lake(self._settings.lake)
            _check_instance(cluster, self._instance)
            readings: dict[Future[RunOutcome], _Reading] = {}
            with ExitStack() as stack:
                pool = stack.enter_context(_ending(ThreadPoolExecutor(cluster.worker_count), readings, cluster))
                permit = stack.enter_context(permitted(open_storage(self._settings.lake)))
                try:
                    for name in round_names:
                        cluster.require()
                        outcome = self._run_assets_of(name, [take_in_round])
                        if outcome.reason is None:
                            work = _Reading(name)
                            readings[pool.submit(self._read, work, permit)] = work
                        else:
                            yield name, outcome
                    yield from _ends_of(readings, cluster)
                except ClusterError as error:
                    raise ClusterError(f"{error}; {_left(readings)}") from error

    def _read(self, work: _Reading, permit: str) -> RunOutcome:
        arguments = {"lake": self._settings.lake, "theirs": dict(versions()), "permit": permit}
        result = dg.execute_job(
            dg.build_reconstructable_job(__name__, reading_job.__name__, reconstructable_kwargs=arguments),
            self._instance,
            run_config={**QUIET, "execution": {"config": {"address": self._address}}},
            tags={"dagster/partition": work.round, TASK_TAG: work.task},
        )
        if any(is_interruption(event) for event in result.all_events):
            return RunOutcome(f"the cluster at {self._address} gave up reading it: refresh again")
        return RunOutcome() if result.success else failure(result.all_events)


class _Reading:
    """One round that is read on the cluster."""

    def __init__(self, round_name: str) -> None:
        self.round = round_name
        self.task = f"{round_name}-{secrets.token_hex(8)}"
        self.dask_key = task_key(self.task, read_round.op.name)


@contextmanager
def _ending(
    pool: ThreadPoolExecutor, readings: Mapping[Future[RunOutcome], _Reading], cluster: Cluster
) -> Iterator[ThreadPoolExecutor]:
    """Give up, at the end, what is still being read; its runs are ended while there is an instance to tell it to."""
    try:
        yield pool
    finally:
        cluster.cancel([work.dask_key for future, work in readings.items() if not future.done()])
        pool.shutdown(wait=False, cancel_futures=True)
        wait(readings, _END_SECONDS)


def _ends_of(readings: Mapping[Future[RunOutcome], _Reading], cluster: Cluster) -> Iterator[tuple[str, RunOutcome]]:
    """Give what came of each round as it ends.

    Raises:
        ClusterError: the cluster was lost, which is no fault of the rounds that are left.
    """
    waiting = set(readings)
    while waiting:
        ended, waiting = wait(waiting, _LOOK_SECONDS, FIRST_COMPLETED)
        for future in ended:
            outcome = future.result()
            if outcome.reason is not None:
                cluster.require()
            yield readings[future].round, outcome
        if waiting:
            cluster.require()


def _left(readings: Mapping[Future[RunOutcome], _Reading]) -> str:
    """Say what is kept of a refresh that the cluster was lost to, and how to go on."""
    ended = {work.round: future for future, work in readings.items() if future.done() and future.exception() is None}
    read = {name for name, future in ended.items() if future.result().reason is None}
    unread = {work.round for work in readings.values()} - read
    said = [f"{what}: {', '.join(sorted(names))}" for what, names in (("read", read), ("not read", unread)) if names]
    return "; ".join(
        [*said, "answers and warehouse are as they were; what was read is kept, refresh again for the rest"]
    )


def reading_job(lake: str, theirs: Mapping[str, str], permit: str) -> dg.JobDefinition:
    """Return the job that reads a round; every worker that takes a step of it makes the job again.

    Args:
        lake: Where the lake is; its credentials come from the worker's environment.
        theirs: Versions of the process that wants it done.
        permit: Name of the permit without which nothing is written.

    Raises:
        ClusterError: this machine has other code or libraries.
    """
    require_versions(theirs)
    workshop = Workshop(replace(Settings.from_environment(), lake=lake))
    workshop.only_stale = True
    storage = open_storage(lake)
    require = Permit(storage, permit).require
    workshop.lake = Lake(storage, workshop.clock, require)
    workshop.spread = partial(from_a_worker, require=require)
    job = dg.define_asset_job(
        READ_ON_CLUSTER, selection=dg.AssetSelection.assets(read_round), executor_def=steps_on_dask
    )
    definitions = dg.Definitions(assets=ROUND_ASSETS, jobs=[job], resources={"workshop": workshop})
    return definitions.resolve_job_def(READ_ON_CLUSTER)


def _check_instance(cluster: Cluster, instance: dg.DagsterInstance) -> None:
    token = secrets.token_hex(8)
    instance.run_storage.set_cursor_values({_PROBE: token})
    for worker, answer in cluster.ask(_probe_instance, instance.get_ref()).items():
        if answer != token:
            raise ClusterError(
                f"worker {worker} does not share Dagster's storage with this process "
                f"({answer if isinstance(answer, BaseException) else 'it has one of its own'}): keep it in PostgreSQL "
                f"(storage in {instance.root_directory}/dagster.yaml) and give the worker the variables that this names"
            )


def _probe_instance(reference: InstanceRef) -> str | None:
    with dg.DagsterInstance.from_ref(reference) as instance:
        return instance.run_storage.get_cursor_values({_PROBE}).get(_PROBE)
