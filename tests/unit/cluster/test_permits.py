"""A permit lets workers write for as long as the command that gave it lasts; a killed command's goes with the next."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import polars as pl
import pytest

from pipelines.cluster.errors import ClusterError
from pipelines.cluster.permits import FOLDER, Permit, permitted, withdraw_all
from pipelines.lake.storage import StorageError
from pipelines.lake.tables import Lake
from pipelines.refreshing.workshop import Workshop
from pipelines.settings import Settings
from tests.unit.lake.conftest import sources as sources

ROUND = "training-v5.0"
MADE = {"inputs": {"a": "1"}, "code_version": "1"}
WITHDRAWN = "whoever sent this work has ended: nothing of it is written"


@pytest.fixture(params=["folder", pytest.param("bucket", marks=pytest.mark.server)])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    return Lake.at(str(tmp_path / "data" / "lake") if request.param == "folder" else request.getfixturevalue("s3_lake"))


def test_a_partition_is_published_under_a_permit_only(lake: Lake, sources: Callable[..., pl.DataFrame]) -> None:
    with permitted(lake.storage) as name:
        on_worker = Lake(lake.storage, before_publishing=Permit(lake.storage, name).require)
        on_worker.write("core.sources", sources({}), ROUND, **MADE)
    before = lake.manifest("core.sources", ROUND)
    assert before is not None
    assert lake.storage.list(FOLDER) == []

    with pytest.raises(ClusterError, match=WITHDRAWN):
        on_worker.write("core.sources", sources({"commit": "other"}), ROUND, **MADE)
    assert lake.manifest("core.sources", ROUND) == before
    assert lake.read("core.sources")["commit"].to_list() == ["c"]


def test_a_permit_ends_with_an_interruption(lake: Lake) -> None:
    permits = []
    with pytest.raises(KeyboardInterrupt), permitted(lake.storage) as name:  # noqa: PT012 - ends in it
        permits.append(Permit(lake.storage, name))
        permits[0].require()
        raise KeyboardInterrupt
    with pytest.raises(ClusterError, match=WITHDRAWN):
        permits[0].require()


def test_permits_of_killed_commands_are_withdrawn(lake: Lake) -> None:
    withdraw_all(lake.storage)
    with permitted(lake.storage) as name:
        withdraw_all(lake.storage)
        with pytest.raises(ClusterError, match=WITHDRAWN):
            Permit(lake.storage, name).require()


@pytest.mark.parametrize("locked", [Workshop.refreshing, Workshop.exclusive])
def test_whoever_takes_the_lock_withdraws_them(
    tmp_path: Path, locked: Callable[[Workshop], AbstractContextManager[None]]
) -> None:
    workshop = Workshop(Settings.from_environment({"RACKRECON_DATA": str(tmp_path / "data")}))
    with permitted(workshop.lake.storage) as name, locked(workshop), pytest.raises(ClusterError, match=WITHDRAWN):
        Permit(workshop.lake.storage, name).require()


def test_a_store_that_fails_at_the_end_hides_nothing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(key: str) -> None:
        raise StorageError(f"{key}: cannot be removed")

    monkeypatch.setattr(lake.storage, "delete", fail)
    with pytest.raises(KeyboardInterrupt), permitted(lake.storage):
        raise KeyboardInterrupt
