"""A plan search that ends amid its work on the cluster ends at once, in one sentence, and leaves the workers idle."""

from __future__ import annotations

import signal
import subprocess

import pytest

from tests.integration.cluster.conftest import DaskCluster, start_command
from tests.integration.cluster.test_plan_on_a_cluster import ASKED

pytestmark = pytest.mark.server


def start_plan(cluster: DaskCluster) -> subprocess.Popen[str]:
    """Start a search and wait until a worker is amid it."""
    cluster.hold()
    command = start_command("plan", *ASKED, RACKRECON_CLUSTER=cluster.address, RACKRECON_CLUSTER_SECONDS="1")
    cluster.wait_until_held(command)
    return command


def test_whatever_ends_a_search_ends_it_at_once(dask_cluster: DaskCluster) -> None:
    dask_cluster.start_worker("first", hold_at="searching a share")
    for how in (signal.SIGINT, signal.SIGTERM):
        command = start_plan(dask_cluster)
        command.send_signal(how)
        output, complaint = command.communicate(timeout=240)
        assert (command.returncode, output) == (130, ""), complaint
        assert complaint.splitlines()[-1] == "rackrecon: interrupted"
        dask_cluster.wait_until_given_up()
        assert dask_cluster.let_go() == "done"
        dask_cluster.wait_until_idle()

    command = start_plan(dask_cluster)
    dask_cluster.kill_worker("first")
    output, complaint = command.communicate(timeout=240)
    assert (command.returncode, output) == (2, ""), complaint
    assert f"the cluster at {dask_cluster.address} had no worker for 1 s" in complaint

    dask_cluster.start_worker("second", hold_at="searching a share")
    command = start_plan(dask_cluster)
    dask_cluster.kill_scheduler()
    output, complaint = command.communicate(timeout=240)
    assert (command.returncode, output) == (2, ""), complaint
    assert complaint.splitlines()[-1].startswith(
        f"rackrecon: the Dask scheduler at {dask_cluster.address} was lost amid the work: look at its log"
    )
    assert "Traceback" not in complaint
