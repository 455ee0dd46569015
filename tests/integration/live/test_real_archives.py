"""Whole rounds through the host: the same lake as from the archives, and a gigabyte in bounded memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.refreshing import flow
from pipelines.refreshing.flow import Report
from pipelines.refreshing.workshop import Workshop
from pipelines.settings import Settings
from pipelines.sources.repository import open_repository
from tests.integration.conftest import log_line, result_log
from tests.integration.live.conftest import DirectRunner, Host, commit, files_of, on_host, workshop_of

pytestmark = [pytest.mark.server, pytest.mark.timeout(900)]

MOST_MEGABYTES = 450
GIGABYTE = 10**9

LEFT_OUT = ("check_answers", "gather_findings")
"""Stations that hold the others' answers against expectations; they take longer than all others."""

LIVE_ONLY = ("inputs/", "core/known_rounds/", "raw/sheets/")
"""What of a lake tells where it came from, or of hosts."""


@dataclass(frozen=True)
class Lakes:
    """The lake that was fetched and the one that was read from the archives, with what the host was asked again."""

    fetched: Workshop
    given: Workshop
    first: Report
    again: Report
    asked_again: list[dict[str, Any]]
    times: tuple[Mapping[str, int], Mapping[str, int]]
    """When each file of the fetched lake was written, before and after it was refreshed again."""


@pytest.fixture(scope="module")
def lakes(shared: Path, host_process: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lakes]:
    """Refresh from the host, refresh again, and refresh another lake from the archives."""
    folder = tmp_path_factory.mktemp("rounds")
    (folder / "catalogue.toml").write_text("")
    archives = sorted((shared / "mlperf").glob("*_results_v*.tar.gz"))
    host_process.forget()
    host_process.hold(pages={}, repositories=[_held(path) for path in archives])

    def workshop(name: str) -> Workshop:
        watched = {"RACKRECON_CATALOGUE": str(folder / "catalogue.toml")}
        return workshop_of(Settings.from_environment({**on_host(host_process, folder / name), **watched}))

    fetched, given = workshop("fetched"), workshop("given")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow, "STATIONS", tuple(one for one in flow.STATIONS if one.name not in LEFT_OUT))
        patch.setattr(flow, "is_published", lambda workshop: True)
        first = _refresh(fetched, [])
        before = _written_at(fetched)
        host_process.forget()
        again = _refresh(fetched, [])
        asked_again = host_process.log()
        after = _written_at(fetched)
        _refresh(given, archives)
    yield Lakes(fetched, given, first, again, asked_again, (before, after))
    host_process.hold(repositories=[])


def _held(path: Path) -> dict[str, Any]:
    repository = open_repository(path, Settings.from_environment({}).limits)
    return {"name": repository.source.rpartition("/")[2], "commit": repository.commit, "file": str(path)}


def _refresh(workshop: Workshop, paths: list[Path]) -> Report:
    with ExitStack() as stack:
        stack.enter_context(workshop.refreshing())
        if not paths:
            stack.enter_context(workshop.asking_hosts(lambda message: None))
        return flow.refresh(workshop, paths, [], DirectRunner(workshop), lambda message: None)


def _written_at(workshop: Workshop) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in Path(workshop.settings.lake).rglob("*")}


def test_the_lake_is_that_of_the_archives_byte_for_byte(lakes: Lakes) -> None:
    assert lakes.first.failed == []
    fetched, given = (
        {path: content for path, content in files_of(Path(one.settings.lake)).items() if not path.startswith(LIVE_ONLY)}
        for one in (lakes.fetched, lakes.given)
    )
    assert set(fetched) == set(given)
    assert [path for path in given if fetched[path] != given[path]] == []
    rounds = ["inference-v5.1", "training-v5.0", "training-v5.1"]
    assert {f"core/steps/{name}.parquet" for name in rounds} | {"mart/reconciled_runs/all.parquet"} < set(given)
    assert lakes.given.lake.read("core.sources").sort("round").select("round", "file_count", "size_bytes").rows() == [
        ("inference-v5.1", 126, 2_457_092),
        ("training-v5.0", 2_497, 226_089_047),
        ("training-v5.1", 2_755, 373_786_009),
    ]


def test_a_second_run_makes_only_conditional_requests_and_writes_nothing(lakes: Lakes) -> None:
    assert lakes.again.is_unchanged
    assert [entry["status"] for entry in lakes.asked_again] == [304] * 5  # two pages of the list, three commits
    assert all("if-none-match" in entry["headers"] for entry in lakes.asked_again)
    before, after = lakes.times
    assert after == before


def test_every_result_of_the_archives_is_scored_and_every_record_is_kept(lakes: Lakes) -> None:
    results = lakes.fetched.lake.read("mart.results")
    assert (results.height, results["score_minutes"].null_count()) == (385, 0)
    records = lakes.fetched.lake.read("mart.inference_results")
    assert records.height == 1448
    assert records.filter(suite="datacenter", division="closed").height == 554
    fullest = records["submitter"].value_counts(sort=True).row(0)
    assert fullest == ("GATEOverflow", 841)


READ_IN_A_PROCESS = """
from pathlib import Path
from pipelines.refreshing import rounds
from pipelines.refreshing.round_inputs import remember
from pipelines.refreshing.workshop import Workshop
from pipelines.settings import Settings

workshop = Workshop(Settings.from_environment())
with workshop.refreshing(), workshop.asking_hosts(print):
    (wanted,) = workshop.live.discover([]).rounds.values()
    remember(workshop.lake, wanted)
    rounds.take_in(workshop, wanted.round)
    rounds.read_round(workshop, wanted.round)
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(peak.split()[1])
"""


def test_a_gigabyte_is_fetched_and_read_in_bounded_memory(settings: Settings, host: Host) -> None:
    host.hold(repositories=[_of_a_gigabyte()])
    done = subprocess.run(
        [sys.executable, "-c", READ_IN_A_PROCESS], env={**os.environ}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    peak_megabytes = int(done.stdout.split()[-1]) / 1024
    lake = workshop_of(settings).lake
    (source,) = lake.read("core.sources").to_dicts()
    assert source["skipped_count"] * (1 << 20) > GIGABYTE * 0.99
    assert 90e6 < source["size_bytes"] < 110e6
    assert lake.read("core.runs").height == source["file_count"] == 300
    assert lake.read("core.steps").height == 300 * STEPS_A_LOG
    assert peak_megabytes < MOST_MEGABYTES


STEPS_A_LOG = 1400


def _of_a_gigabyte() -> dict[str, Any]:
    """Return a repository of which a tenth is logs, each with its steps; it is made up as it is sent."""
    first, last = result_log(9.0, "llama31_8b").rsplit(":::MLLOG", 1)
    steps = [_step(number) for number in range(STEPS_A_LOG)]
    log = first + "\n".join(steps) + "\n:::MLLOG" + last + "SEED\n"
    name = {"name": "training_results_v5.1", "commit": commit(1)}
    return {**name, "size_bytes": GIGABYTE, "logs": 300, "log": log}


def _step(number: int) -> str:
    stats = {"train_step_time": 1.5, "reduced_train_loss": 2.0}
    return log_line("tracked_stats", 1_746_000_000_000 + number * 100, stats, step=number, samples_count=number * 1152)
