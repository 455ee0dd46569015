"""A cluster that cannot do the work is refused before any is sent, in a sentence that says what to change."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines._cli.refresh import refresh_and_report
from pipelines.assets.cluster import _check_instance
from pipelines.assets.execution import project_instance
from pipelines.cluster import connecting
from pipelines.cluster.connecting import connected, spread_of
from pipelines.cluster.errors import ClusterError
from pipelines.lake.locks import read_holder
from pipelines.refreshing.round_inputs import recall
from pipelines.refreshing.workshop import Workshop
from pipelines.settings import Settings
from tests.integration.cluster.conftest import REPOSITORY, DaskCluster

pytestmark = pytest.mark.server


def said(error: pytest.ExceptionInfo[ClusterError]) -> str:
    return str(error.value)


def test_without_a_cluster_this_process_works(settings: Settings) -> None:
    with spread_of(settings) as spread:
        assert spread is None


@pytest.fixture
def refused(
    settings: Settings,
    tarball: Callable[[], Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[[str], str]:
    """Give what refreshes on the cluster at an address and returns why that is refused."""

    def refresh(address: str) -> str:
        monkeypatch.setenv("RACKRECON_CLUSTER", address)
        with pytest.raises(ClusterError) as error:
            refresh_and_report([str(tarball())], [])
        assert recall(Workshop(settings).lake, "training-v5.0") is None, "no round was begun"
        assert read_holder(settings.lock) is None
        assert capsys.readouterr().err == ""
        return said(error)

    return refresh


def test_an_address_where_nothing_answers(monkeypatch: pytest.MonkeyPatch, refused: Callable[[str], str]) -> None:
    monkeypatch.setattr(connecting, "_ANSWER_SECONDS", 1)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        why = refused(address)
    assert f"RACKRECON_CLUSTER: no Dask scheduler answers at {address}" in why
    assert "unset the variable to work in this process" in why


def test_a_scheduler_without_a_worker_and_one_of_another_version(
    dask_cluster: DaskCluster, tmp_path: Path, refused: Callable[[str], str]
) -> None:
    why = refused(dask_cluster.address)
    assert f"has no worker: start some with dask worker {dask_cluster.address}" in why

    other = tmp_path / "other"
    shutil.copytree(REPOSITORY / "pipelines", other / "pipelines", ignore=shutil.ignore_patterns("__pycache__"))
    changed = other / "pipelines" / "parsing" / "names.py"
    changed.write_text(changed.read_text("utf-8") + "\n", "utf-8")
    dask_cluster.start_worker("other", {"PYTHONPATH": os.pathsep.join([str(other), os.environ.get("PYTHONPATH", "")])})
    with pytest.raises(ClusterError) as error, connected(dask_cluster.address, 1):
        pass
    assert "has rackrecon's code " in said(error)
    assert "requirements-cluster.lock there and restart it" in said(error)


def test_a_worker_that_sees_neither_the_lake_nor_dagsters_storage(
    dask_cluster: DaskCluster, s3_lake: str, postgres: None, settings: Settings
) -> None:
    alone = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "RACKRECON_POSTGRES_PASSWORD": "another"}
    dask_cluster.start_worker("alone", alone)
    with connected(dask_cluster.address, 1) as cluster, project_instance(settings.prepare_dagster_home()) as instance:
        with pytest.raises(ClusterError) as error:
            cluster.check_lake(s3_lake)
        assert f"does not share the lake at {s3_lake}" in said(error)
        assert "give the worker the store's address and credentials" in said(error)
        with pytest.raises(ClusterError) as error:
            _check_instance(cluster, instance)
        assert "does not share Dagster's storage" in said(error)
        assert "keep it in PostgreSQL" in said(error)
        assert os.environ["RACKRECON_POSTGRES_PASSWORD"] not in said(error)
