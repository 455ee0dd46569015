"""`rackrecon plan` on a cluster prints what it prints without one."""

from __future__ import annotations

import pytest

from tests.command import rackrecon
from tests.integration.cluster.conftest import DaskCluster

pytestmark = pytest.mark.server

ASKED = ["--platform", "gb200-nvl72", "--workload", "llama31_405b", "--precision", "fp8", "--target-minutes", "30"]


def plan(**environment: str) -> str:
    ended = rackrecon("plan", *ASKED, "--format", "json", **environment)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_plan_is_the_same(dask_cluster: DaskCluster) -> None:
    dask_cluster.start_worker("planner")
    on_cluster = plan(RACKRECON_CLUSTER=dask_cluster.address)
    assert '"candidates"' in on_cluster
    assert on_cluster == plan()
    log = (dask_cluster.folder / "scheduler.log").read_text()
    assert "Receive client connection" in log
