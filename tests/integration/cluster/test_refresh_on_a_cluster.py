"""Two workers, an object store and PostgreSQL give the tables of this process, also when a worker dies."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest
from dagster_postgres.run_storage import PostgresRunStorage
from distributed import Client

from pipelines.assets.execution import project_instance, runner_of
from pipelines.assets.tables import asset_key
from pipelines.cluster.errors import ClusterError
from pipelines.definitions import build_definitions
from pipelines.lake.manifests import Manifest
from pipelines.refreshing import rounds
from pipelines.refreshing.flow import RunOutcome
from pipelines.refreshing.round_inputs import RoundInput, remember
from pipelines.refreshing.workshop import Workshop
from pipelines.settings import Settings
from tests.command import rackrecon
from tests.integration.cluster.conftest import DaskCluster
from tests.integration.cluster.holding import HELD_ROUND

pytestmark = pytest.mark.server

MOMENT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
ROUNDS = ("training-v5.0", "training-v5.1")


def workshop_of(settings: Settings, archives: Mapping[str, Path]) -> Workshop:
    workshop = Workshop(settings, lambda: MOMENT)
    for name, archive in archives.items():
        remember(workshop.lake, RoundInput(round=name, path=str(archive)))
    return workshop


def manifests(workshop: Workshop) -> dict[tuple[str, str], Manifest]:
    names = (*rounds.TAKEN_IN, *rounds.READ)
    found = {(name, key): workshop.lake.manifest(name, key) for name in names for key in ROUNDS}
    return {place: manifest for place, manifest in found.items() if manifest is not None}


def hashes(workshop: Workshop) -> dict[tuple[str, str], tuple[str, int, str | None]]:
    return {place: (one.sha256, one.rows, one.quarantine_sha256) for place, one in manifests(workshop).items()}


def refresh_on(
    cluster: DaskCluster, workshop: Workshop, instance: dg.DagsterInstance, names: tuple[str, ...] = ROUNDS
) -> dict[str, RunOutcome]:
    settings = replace(workshop.settings, cluster=cluster.address, cluster_seconds=2.0)
    runner = runner_of(settings, build_definitions(settings, {"workshop": workshop}), instance)
    with workshop.refreshing():
        return dict(runner.run_rounds(names))


def units_on_workers(client: Client) -> Iterator[tuple[str, str]]:
    """Give the address of the worker and the name of each unit of work that is being done now."""
    for address, keys in client.processing().items():
        for key in keys:
            yield address, str(key)


@contextmanager
def killing_the_first_worker_that_does(unit: str, cluster: DaskCluster) -> Iterator[list[str]]:
    """Kill the first worker that is seen to do a unit whose name starts so; give the names of the killed."""
    killed: list[str] = []

    def kill() -> None:
        with Client(cluster.address, set_as_default=False) as client:
            deadline = time.monotonic() + 240
            while time.monotonic() < deadline and not killed:
                at = [address for address, key in units_on_workers(client) if key.startswith(unit)]
                killed.extend(cluster.worker_at(address) for address in at[:1])
                for worker in killed:
                    cluster.kill_worker(worker)
                time.sleep(0.005)

    with meanwhile(kill):
        yield killed


@contextmanager
def meanwhile(work: Callable[[], None]) -> Iterator[None]:
    """Do something in a thread of its own, and wait for its end."""
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        thread.join()


@pytest.mark.timeout(600)
def test_two_workers_of_which_one_dies_give_the_tables_of_this_process(
    shared: Path, settings: Settings, s3_lake: str, postgres: None, dask_cluster: DaskCluster
) -> None:
    archives = {name: shared / "mlperf" / f"training_results_{name[-4:]}.tar.gz" for name in ROUNDS}
    here = workshop_of(settings, archives)
    for name in ROUNDS:
        rounds.take_in(here, name)
        rounds.read_round(here, name)

    there = workshop_of(replace(settings, lake=s3_lake), archives)
    dask_cluster.start_worker("first")
    dask_cluster.start_worker("second")
    with project_instance(settings.prepare_dagster_home()) as instance:
        assert isinstance(instance.run_storage, PostgresRunStorage)
        with killing_the_first_worker_that_does("_work_alike", dask_cluster) as killed:
            outcomes = refresh_on(dask_cluster, there, instance)
        assert outcomes == dict.fromkeys(ROUNDS, RunOutcome())
        assert len(killed) == 1, "no worker was seen to read"
        assert hashes(there) == hashes(here)
        assert len(hashes(here)) == len(ROUNDS) * (len(rounds.TAKEN_IN) + len(rounds.READ))
        states = {(run.tags["dagster/partition"], run.job_name, run.status.value) for run in instance.get_runs()}
        jobs = ("refresh_round", "read_round_on_cluster")
        assert states == {(name, job, "SUCCESS") for name in ROUNDS for job in jobs}
        assert set(instance.get_materialized_partitions(asset_key("core.runs"))) == set(ROUNDS)
    assert all(rounds.is_read(there, name) for name in ROUNDS), "the next refresh has nothing to do"
    assert not there.lake.storage.list("cluster"), "what the workers were asked is removed"


def test_a_cluster_that_loses_every_worker_ends_the_refresh(
    settings: Settings, tarball: Callable[..., Path], dask_cluster: DaskCluster
) -> None:
    name = HELD_ROUND
    workshop = workshop_of(settings, {name: tarball("training_results_v5.1.tar.gz")})
    dask_cluster.start_worker("only", hold_at="publishing a partition")

    def kill() -> None:
        dask_cluster.wait_until_held()
        dask_cluster.kill_worker("only")

    with project_instance(settings.prepare_dagster_home()) as instance:
        with pytest.raises(ClusterError) as error, meanwhile(kill):
            refresh_on(dask_cluster, workshop, instance, (name,))
        assert not dask_cluster.workers, "the one that was amid its work is dead"
        assert f"the cluster at {dask_cluster.address} had no worker for 2 s" in str(error.value)
        assert f"not read: {name}; answers and warehouse are as they were" in str(error.value)
    assert not workshop.lake.storage.list("cluster"), "the permit is withdrawn"
    dask_cluster.start_worker("next")
    ended = rackrecon("refresh", "--round", name, RACKRECON_CLUSTER=dask_cluster.address)
    assert (ended.returncode, f"{name}: refreshed" in ended.stderr) == (0, True), ended.stderr
    assert workshop.lake.read("core.runs").height == 3
    assert workshop.lake.read("mart.results").height == 1
