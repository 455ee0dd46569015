"""Runs the rounds of a refresh on the Dask cluster of the settings, by the same assets and into the same instance.

A round's bytes are taken in by this process, which alone need see the archive or the hosts. Then one Dagster run for
each round, many at once, reads them: its step is done by a worker, which spreads the round's groups of logs over all
workers. The answers, which take seconds, and the warehouse, which is a local file, are made by this process.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace

import dagster as dg
from dagster._core.instance.ref import InstanceRef

from pipelines.assets.dask_steps import TASK_TAG, steps_on_dask, task_key
from pipelines.assets.execution import QUIET, InProcessRunner, failure
from pipelines.assets.rounds import ROUND_ASSETS, read_round, take_in_round
from pipelines.cluster.connecting import Cluster, connected
from pipelines.cluster.errors import ClusterError
from pipelines.cluster.spreading import from_a_worker, require_versions
from pipelines.cluster.versions import versions
from pipelines.refreshing.flow import RunOutcome
from pipelines.refreshing.workshop import Workshop
from pipelines.settings import Settings

READ_ON_CLUSTER = "read_round_on_cluster"

_LOOK_SECONDS = 1.0
_PROBE = "rackrecon_cluster_probe"


class ClusterRunner(InProcessRunner):
    """Runs the assets for a refresh, the reading of rounds on the cluster of the settings."""

    def __init__(self, definitions: dg.Definitions, instance: dg.DagsterInstance, settings: Settings) -> None:
        super().__init__(definitions, instance)
        self._settings = settings
        self._address = settings.cluster or ""

    def run_rounds(self, round_names: Iterable[str]) -> Iterator[tuple[str, RunOutcome]]:
        """Take in one round after another; read each on the cluster as soon as it is taken in.

        Raises:
            ClusterError: the cluster or a worker cannot be used; no round was begun.
        """
        with connected(self._address) as cluster:
            cluster.check_lake(self._settings.lake)
            _check_instance(cluster, self._instance)
            reading: dict[Future[RunOutcome], _Reading] = {}
            pool = ThreadPoolExecutor(cluster.worker_count)
            try:
                for name in round_names:
                    outcome = self._run_assets_of(name, [take_in_round])
                    if outcome.reason is None:
                        work = _Reading(name)
                        reading[pool.submit(self._read, work)] = work
                    else:
                        yield name, outcome
                yield from self._ends_of(reading, cluster)
            finally:
                cluster.cancel([work.dask_key for future, work in reading.items() if not future.done()])
                pool.shutdown(wait=False, cancel_futures=True)

    def _read(self, work: _Reading) -> RunOutcome:
        arguments = {"lake": self._settings.lake, "theirs": dict(versions())}
        result = dg.execute_job(
            dg.build_reconstructable_job(__name__, reading_job.__name__, reconstructable_kwargs=arguments),
            self._instance,
            run_config={**QUIET, "execution": {"config": {"address": self._address}}},
            tags={"dagster/partition": work.round, TASK_TAG: work.task},
        )
        return RunOutcome() if result.success else failure(result.all_events)

    def _ends_of(
        self, reading: Mapping[Future[RunOutcome], _Reading], cluster: Cluster
    ) -> Iterator[tuple[str, RunOutcome]]:
        """Give what came of each round as it ends; where every worker is gone for long, what is left fails."""
        waiting, last_seen = set(reading), time.monotonic()
        while waiting:
            ended, waiting = wait(waiting, _LOOK_SECONDS, FIRST_COMPLETED)
            for future in ended:
                yield reading[future].round, future.result()
            if cluster.worker_count:
                last_seen = time.monotonic()
            elif time.monotonic() - last_seen > self._settings.cluster_seconds:
                for future in waiting:
                    yield reading[future].round, RunOutcome(self._abandoned())
                return

    def _abandoned(self) -> str:
        return (
            f"the cluster at {self._address} had no worker for {self._settings.cluster_seconds:g} s: look at "
            "the logs of the workers (one that needs more memory than there is gets killed), start them, refresh again"
        )


class _Reading:
    """One round that is read on the cluster."""

    def __init__(self, round_name: str) -> None:
        self.round = round_name
        self.task = f"{round_name}-{secrets.token_hex(8)}"
        self.dask_key = task_key(self.task, read_round.op.name)


def reading_job(lake: str, theirs: Mapping[str, str]) -> dg.JobDefinition:
    """Return the job that reads a round; every worker that takes a step of it makes the job again.

    Args:
        lake: Where the lake is; its credentials come from the worker's environment.
        theirs: Versions of the process that wants it done.

    Raises:
        ClusterError: this machine has other code or libraries.
    """
    require_versions(theirs)
    workshop = Workshop(replace(Settings.from_environment(), lake=lake))
    workshop.only_stale = True
    workshop.spread = from_a_worker
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
