"""A refresh that ends amid its work on the cluster: readers see the last good state, and nobody writes on.

The next one ends well. The end comes while a worker is held at a known place of the work on one round.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipelines.assets.execution import project_instance
from pipelines.lake.locks import read_holder
from pipelines.refreshing import rounds
from pipelines.refreshing.flow import RunOutcome
from pipelines.refreshing.round_inputs import RoundInput, remember
from pipelines.refreshing.workshop import Workshop
from pipelines.settings import Settings
from tests.integration.cluster.conftest import DaskCluster, running_scheduler, start_command
from tests.integration.cluster.holding import HELD_ROUND
from tests.integration.cluster.test_refresh_on_a_cluster import ROUNDS, hashes, refresh_on, workshop_of

pytestmark = pytest.mark.server

Tarball = Callable[..., Path]

OTHER_ROUND = "training-v5.0"
LAST_GOOD = b"the warehouse of the last refresh"


@pytest.fixture(scope="module")
def publishing_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """Give a scheduler whose worker stops before it publishes a partition of the held round."""
    with running_scheduler(tmp_path_factory.mktemp("cluster") / "dask") as cluster:
        cluster.start_worker("publisher", hold_at="publishing a partition")
        yield cluster


def read_here(workshop: Workshop, *names: str) -> None:
    """Bring rounds up to date in this process; this waits for nobody."""
    with workshop.refreshing():
        for name in names:
            rounds.take_in(workshop, name)
            rounds.read_round(workshop, name)


def clean(folder: Path, archives: dict[str, Path]) -> dict[tuple[str, str], object]:
    """Return what a lake holds that was never disturbed."""
    workshop = workshop_of(Settings.from_environment({"RACKRECON_DATA": str(folder)}), archives)
    read_here(workshop, *archives)
    return as_read(workshop)


def as_read(workshop: Workshop) -> dict[tuple[str, str], object]:
    """Return what the lake holds of every round, without the times at which bytes were read."""
    held: dict[tuple[str, str], object] = {}
    for (name, key), one in hashes(workshop).items():
        is_timed = name in rounds.TAKEN_IN
        held[name, key] = workshop.lake.read(name, [key]).drop("retrieved_at").rows() if is_timed else one
    return held


def with_last_good_state(settings: Settings, archives: dict[str, Path]) -> Workshop:
    workshop = workshop_of(settings, archives)
    read_here(workshop, *archives)
    settings.warehouse.write_bytes(LAST_GOOD)
    return workshop


def core_of(workshop: Workshop, round_name: str) -> dict[tuple[str, str], object]:
    return {place: one for place, one in hashes(workshop).items() if place[0] in rounds.READ and place[1] == round_name}


def bytes_of(workshop: Workshop) -> dict[Path, bytes]:
    """Return what readers of the lake see: every file but drafts and locks, which are hidden."""
    files = Path(workshop.settings.lake).rglob("*")
    return {path: path.read_bytes() for path in files if path.is_file() and not path.name.startswith(".")}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_worker_writes_for_a_refresh_that_has_ended(
    settings: Settings, tarball: Tarball, tmp_path: Path, publishing_worker: DaskCluster, how: signal.Signals
) -> None:
    cluster, name = publishing_worker, "training_results_v5.1.tar.gz"
    cluster.hold()
    workshop = with_last_good_state(settings, {HELD_ROUND: tarball(name)})
    before = core_of(workshop, HELD_ROUND)
    command = start_command(
        "refresh", "--from", str(tarball(name, minutes=(20.0, 21.0, 22.0))), RACKRECON_CLUSTER=cluster.address
    )
    cluster.wait_until_held(command)
    command.send_signal(how)
    output, complaint = command.communicate(timeout=240)

    if how is not signal.SIGKILL:
        assert command.returncode == 130, complaint
        assert complaint.splitlines()[-1] == "rackrecon: interrupted"
        assert read_holder(settings.lock) is None
        assert not workshop.lake.storage.list("cluster"), "the permit is withdrawn"
    assert "Where" not in output, "no answers are published"
    assert settings.warehouse.read_bytes() == LAST_GOOD
    assert core_of(workshop, HELD_ROUND) == before
    cluster.wait_until_given_up()

    newest = tarball(name, minutes=(30.0, 31.0, 32.0))
    remember(workshop.lake, RoundInput(round=HELD_ROUND, path=str(newest)))
    read_here(workshop, HELD_ROUND)
    there = bytes_of(workshop)
    assert "nothing of it is written" in cluster.let_go()
    cluster.wait_until_idle()
    assert bytes_of(workshop) == there
    assert as_read(workshop) == clean(tmp_path / "clean", {HELD_ROUND: newest})


def test_a_scheduler_that_dies_ends_the_refresh_and_the_next_goes_on(
    settings: Settings, tarball: Tarball, tmp_path: Path, dask_cluster: DaskCluster
) -> None:
    names = {round_name: f"training_results_{round_name[-4:]}.tar.gz" for round_name in ROUNDS}
    workshop = with_last_good_state(settings, {round_name: tarball(name) for round_name, name in names.items()})
    before = core_of(workshop, HELD_ROUND)
    archives = {round_name: tarball(name, minutes=(20.0, 21.0, 22.0)) for round_name, name in names.items()}
    expected = clean(tmp_path / "clean", archives)
    dask_cluster.start_worker("only", hold_at="reading a group of logs")
    command = start_command("refresh", RACKRECON_CLUSTER=dask_cluster.address)
    dask_cluster.wait_until_held(command)
    dask_cluster.kill_scheduler()
    _, complaint = command.communicate(timeout=240)

    assert command.returncode == 2, complaint
    said = complaint.splitlines()[-1]
    assert said.startswith(f"rackrecon: the Dask scheduler at {dask_cluster.address} was lost amid the work: ")
    assert "Traceback" not in complaint
    assert f"not read: {HELD_ROUND}; answers and warehouse are as they were" in said
    assert f"read: {OTHER_ROUND}; " in said
    assert "refresh again for the rest" in said
    assert read_holder(settings.lock) is None
    assert settings.warehouse.read_bytes() == LAST_GOOD
    assert core_of(workshop, HELD_ROUND) == before
    assert rounds.is_read(workshop, OTHER_ROUND)

    there = bytes_of(workshop)
    dask_cluster.let_go()
    dask_cluster.workers["only"].wait(timeout=240)
    assert bytes_of(workshop) == there, "what the scheduler left at work wrote nothing"

    dask_cluster.start_scheduler()
    dask_cluster.start_worker("next")
    with project_instance(settings.prepare_dagster_home()) as instance:
        states = [run.status.value for run in instance.get_runs() if run.job_name == "read_round_on_cluster"]
        assert sorted(states) == ["FAILURE", "SUCCESS"]
        assert refresh_on(dask_cluster, workshop, instance, (HELD_ROUND,)) == {HELD_ROUND: RunOutcome()}
    assert as_read(workshop) == expected
    assert workshop.lake.read("core.runs").height == 6
