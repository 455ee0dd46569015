"""A live refresh against the host on good days and bad: what lands, what is told, what the host was asked."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from pipelines.assets.execution import project_instance
from pipelines.definitions import build_definitions
from pipelines.publishing.age import age_line
from pipelines.refreshing.flow import ANSWERS, SPECIFICATIONS, Report, listed_rounds
from pipelines.refreshing.round_inputs import recall
from pipelines.refreshing.workshop import Workshop
from pipelines.settings import Settings
from tests.integration.conftest import published_files
from tests.integration.live.conftest import MOMENT, Host, Live, commit, files_of, workshop_of, write_repository

OLD, NEW = "training-v5.0", "training-v5.1"
TARBALL = "/mlcommons/training_results_v5.1/tar.gz/" + commit(2)


@pytest.fixture
def repositories(tmp_path: Path, host: Host) -> list[dict[str, Any]]:
    """Let the host hold two rounds amid repositories that are none."""
    held = [
        {"name": "inference", "commit": commit(9)},
        write_repository(tmp_path, "training_results_v5.0", 1),
        {"name": "training_results_v5.0_draft", "commit": commit(9)},
        write_repository(tmp_path, "training_results_v5.1", 2, published_files((9.0, 9.1, 9.2))),
        {"name": "training_policies", "commit": commit(9)},
    ]
    host.hold(repositories=held)
    return held


def states(report: Report) -> dict[str, str]:
    return {part.name: part.state for part in report.parts}


def reason(report: Report, name: str) -> str:
    (part,) = [part for part in report.parts if part.name == name]
    assert part.reason is not None
    return part.reason


def requests_for(host: Host, path: str) -> list[int]:
    return [entry["status"] for entry in host.log() if entry["path"] == path]


@pytest.mark.usefixtures("repositories")
def test_the_rounds_that_are_listed_are_fetched_and_scored(live: Live, workshop: Workshop, host: Host) -> None:
    assert states(live()) == {OLD: "refreshed", NEW: "refreshed", SPECIFICATIONS: "unchanged", ANSWERS: "refreshed"}
    lake = workshop.lake
    assert lake.read("core.sources").sort("round").select("source", "commit").rows() == [
        ("mlcommons/training_results_v5.0", commit(1)),
        ("mlcommons/training_results_v5.1", commit(2)),
    ]
    assert lake.read("core.known_rounds")["round"].sort().to_list() == [OLD, NEW]
    assert lake.read("mart.results").height == 2
    lists = [entry["path"] for entry in host.log() if entry["path"].startswith("/orgs/")]
    assert len(lists) == 3  # five repositories, two a page
    accepts = {entry["headers"]["accept"] for entry in host.log() if "/commits/" in entry["path"]}
    assert accepts == {"application/vnd.github.sha"}


def test_the_lake_is_the_same_as_from_the_archives_byte_for_byte(
    live: Live, workshop: Workshop, repositories: list[dict[str, Any]], environment: dict[str, str], tmp_path: Path
) -> None:
    live()
    elsewhere = {
        **environment,
        "RACKRECON_DATA": str(tmp_path / "other"),
        "RACKRECON_CATALOGUE": str(workshop.settings.catalogue),
    }
    other = workshop_of(Settings.from_environment(elsewhere))
    archives = [Path(entry["file"]) for entry in repositories if "file" in entry]
    live(*archives, is_live=False, at=other)
    fetched, given = files_of(Path(workshop.settings.lake)), files_of(Path(other.settings.lake))
    only_live = {path for path in fetched if path.startswith(("core/known_rounds/", "raw/sheets/", "inputs/"))}
    assert set(fetched) - only_live == {path for path in given if not path.startswith("inputs/")}
    assert [path for path in given if not path.startswith("inputs/") and given[path] != fetched[path]] == []
    assert sum(path.endswith(".parquet") for path in given) > 20


@pytest.mark.usefixtures("repositories")
def test_a_second_run_asks_on_condition_and_writes_nothing(live: Live, workshop: Workshop, host: Host) -> None:
    live()
    data = Path(workshop.settings.lake)
    before = {path: path.stat().st_mtime_ns for path in data.rglob("*")}
    host.forget()
    assert live().is_unchanged
    assert {path: path.stat().st_mtime_ns for path in data.rglob("*")} == before
    assert [entry["status"] for entry in host.log()] == [304] * 5  # three pages of the list, two commits
    assert all("if-none-match" in entry["headers"] for entry in host.log())


@pytest.mark.usefixtures("repositories")
def test_a_refresh_that_is_not_live_asks_no_host(live: Live, workshop: Workshop, host: Host) -> None:
    live()
    host.forget()
    assert live(is_live=False).is_unchanged
    assert host.log() == []
    assert recall(workshop.lake, OLD) is not None


def test_a_new_commit_is_fetched_and_the_others_are_not(
    live: Live, workshop: Workshop, repositories: list[dict[str, Any]], host: Host, tmp_path: Path
) -> None:
    live()
    corrected = write_repository(tmp_path, "training_results_v5.1", 3, published_files((19.0, 19.1, 19.2)))
    host.hold(repositories=[corrected if entry["name"] == corrected["name"] else entry for entry in repositories])
    host.forget()
    assert states(live()) == {OLD: "unchanged", NEW: "refreshed", SPECIFICATIONS: "unchanged", ANSWERS: "refreshed"}
    tarballs = [entry["path"] for entry in host.log() if "/tar.gz/" in entry["path"]]
    assert tarballs == [f"/mlcommons/training_results_v5.1/tar.gz/{commit(3)}"]
    scores = dict(workshop.lake.read("mart.results").select("round", "score_minutes").iter_rows())
    assert scores[NEW] == pytest.approx(19.1 * 1.01)


@pytest.mark.usefixtures("repositories")
def test_an_archive_of_the_same_commit_is_not_fetched_again(
    live: Live, repositories: list[dict[str, Any]], host: Host
) -> None:
    live(*(Path(entry["file"]) for entry in repositories if "file" in entry), is_live=False)
    assert states(live())[OLD] == "unchanged"
    assert not any("/tar.gz/" in entry["path"] for entry in host.log())


@pytest.mark.usefixtures("repositories")
def test_only_the_rounds_asked_for_are_fetched_and_the_others_are_known(
    live: Live, workshop: Workshop, host: Host
) -> None:
    assert states(live(only=(NEW,))) == {NEW: "refreshed", ANSWERS: "refreshed"}
    assert workshop.lake.partitions("raw.files") == [NEW]
    known = workshop.lake.read("core.known_rounds").sort("round").select("round", "commit").rows()
    assert known == [(OLD, None), (NEW, commit(2))]
    assert not any("v5.0/commits" in entry["path"] for entry in host.log())


@pytest.mark.parametrize(
    ("fault", "told_of"),
    [
        ({"fault": "cut"}, "a whole body"),
        ({"fault": "cut_chunked"}, "one that is cut off"),
        ({"fault": "cut", "share": 1.0, "length": 10_000_000}, "a whole body"),
        ({"status": 500}, "status 500"),
        ({"status": 429, "headers": {"Retry-After": "1"}}, "status 429"),
    ],
)
@pytest.mark.usefixtures("repositories")
def test_a_transfer_that_breaks_is_begun_anew(
    live: Live, workshop: Workshop, host: Host, told: list[str], fault: dict[str, Any], told_of: str
) -> None:
    host.plan(TARBALL, fault)
    assert states(live())[NEW] == "refreshed"
    (line,) = [line for line in told if line.endswith("trying again")]
    assert told_of in line
    assert TARBALL in line
    assert workshop.lake.read("core.runs", [NEW]).height == 3
    assert len(requests_for(host, TARBALL)) == 2


@pytest.mark.usefixtures("repositories", "few_stations")
def test_a_transfer_that_stalls_is_begun_anew(
    live: Live, environment: dict[str, str], settings: Settings, host: Host, told: list[str]
) -> None:
    hurried = {**environment, "RACKRECON_HTTP_SECONDS": "2", "RACKRECON_CATALOGUE": str(settings.catalogue)}
    workshop = workshop_of(Settings.from_environment(hurried))
    host.plan(TARBALL, {"fault": "stall"})
    assert states(live(at=workshop))[NEW] == "refreshed"
    assert any("silence for too long" in line and TARBALL in line for line in told)
    assert workshop.lake.read("core.runs", [NEW]).height == 3


@pytest.mark.parametrize(
    ("fault", "reason_given", "requests"),
    [
        ({"fault": "cut"}, "expected a whole body", 4),
        ({"status": 404}, "expected status 200, found status 404", 1),
        ({"status": 302, "headers": {"Location": TARBALL}}, "at most 5 redirects", 6),
        ({"status": 302, "headers": {"Location": "https://elsewhere.example/x"}}, "a way to elsewhere.example", 1),
        ({"status": 200, "body": "<html>not a tarball</html>" * 50}, "a tarball, gzipped or plain", 1),
    ],
)
def test_a_round_that_cannot_be_fetched_says_why_and_the_rest_stands(
    live: Live,
    workshop: Workshop,
    host: Host,
    repositories: list[dict[str, Any]],
    tmp_path: Path,
    fault: dict[str, Any],
    reason_given: str,
    requests: int,
) -> None:
    live()
    corrected = write_repository(tmp_path, "training_results_v5.1", 3, published_files((19.0, 19.1, 19.2)))
    host.hold(repositories=[corrected if entry["name"] == corrected["name"] else entry for entry in repositories])
    path = f"/mlcommons/training_results_v5.1/tar.gz/{commit(3)}"
    location = {**fault.get("headers", {})}
    if location.get("Location") == TARBALL:
        location["Location"] = path
    before = files_of(Path(workshop.settings.lake) / "raw")
    host.forget()
    host.plan(path, {**fault, "headers": location, "always": True})
    report = live()
    assert states(report)[NEW] == "failed"
    assert states(report)[OLD] == "unchanged"
    assert reason_given in reason(report, NEW)
    assert all(part.is_source for part in report.failed)
    assert len(requests_for(host, path)) == requests
    assert files_of(Path(workshop.settings.lake) / "raw") == before
    assert workshop.lake.read("core.sources", [NEW])["commit"].item() == commit(2)
    host.forget()
    assert states(live())[NEW] == "refreshed"
    assert workshop.lake.read("core.sources", [NEW])["commit"].item() == commit(3)


@pytest.mark.usefixtures("repositories")
def test_a_tarball_that_is_a_bomb_is_refused(
    environment: dict[str, str], live: Live, host: Host, settings: Settings
) -> None:
    tight = {**environment, "RACKRECON_MAX_TOTAL_BYTES": "64 MiB", "RACKRECON_CATALOGUE": str(settings.catalogue)}
    workshop = workshop_of(Settings.from_environment(tight))
    host.plan(TARBALL, {"fault": "bomb", "always": True})
    report = live(at=workshop)
    assert "RACKRECON_MAX_TOTAL_BYTES" in reason(report, NEW)
    assert states(report)[OLD] == "refreshed"
    assert workshop.lake.partitions("raw.files") == [OLD]


def test_the_newest_round_is_known_even_where_it_cannot_be_fetched(
    live: Live, workshop: Workshop, host: Host, repositories: list[dict[str, Any]]
) -> None:
    newest = {"name": "training_results_v9.1", "commit": commit(7)}
    host.hold(repositories=[*repositories, newest])
    host.plan("/mlcommons/training_results_v9.1/tar.gz/" + commit(7), {"status": 500, "always": True})
    report = live()
    assert states(report)["training-v9.1"] == "failed"
    assert workshop.lake.partitions("core.runs") == [OLD, NEW]
    line = age_line(dict.fromkeys((OLD, NEW)), MOMENT.date(), listed_rounds(workshop))
    assert "newest published as far as is known: training-v9.1 (listed by its publisher)" in line
    assert "not in these figures" in line


@pytest.mark.usefixtures("repositories")
def test_a_spent_rate_limit_is_told_and_what_is_here_is_kept(live: Live, workshop: Workshop, host: Host) -> None:
    live()
    spent = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + 900)}
    host.plan("/orgs/mlcommons/repos", {"status": 403, "headers": spent, "always": True})
    host.forget_log()
    report = live()
    (failed,) = report.failed
    assert failed.name == workshop.settings.results_api
    assert failed.reason is not None
    assert "left alone until" in failed.reason
    assert states(report)[OLD] == states(report)[NEW] == "unchanged"
    assert len(host.log()) == 1
    assert workshop.lake.read("core.known_rounds").height == 2


@pytest.mark.usefixtures("repositories")
def test_a_list_that_breaks_off_is_no_list(live: Live, workshop: Workshop, host: Host) -> None:
    broken = {
        "status": 200,
        "body": '[{"name": "training_results_v5.0"',
        "headers": {"Content-Type": "application/json"},
    }
    host.plan("/orgs/mlcommons/repos", {**broken, "always": True})
    report = live()
    assert "expected a list of repositories" in reason(report, workshop.settings.results_api)
    assert workshop.lake.read("core.known_rounds").is_empty()


@pytest.mark.usefixtures("repositories")
def test_an_answer_that_is_no_commit_is_told(live: Live, host: Host) -> None:
    host.plan("/repos/mlcommons/training_results_v5.1/commits/main", {"status": 200, "body": "<html>", "always": True})
    report = live()
    assert "expected the name of a commit" in reason(report, NEW)
    assert states(report)[OLD] == "refreshed"


def test_a_list_without_end_is_left(live: Live, host: Host, workshop: Workshop) -> None:
    again = {"Link": f'<{host.address}/orgs/mlcommons/repos?per_page=100&sort=full_name>; rel="next"'}
    host.plan("/orgs/mlcommons/repos", {"status": 200, "body": "[]", "headers": again, "always": True})
    assert "each once, found one without end" in reason(live(), workshop.settings.results_api)


@pytest.mark.usefixtures("repositories")
def test_a_tarball_of_another_commit_is_refused(live: Live, host: Host, repositories: list[dict[str, Any]]) -> None:
    swapped = [
        {**entry, "file": repositories[1]["file"]} if entry["name"] == "training_results_v5.1" else entry
        for entry in repositories
    ]
    host.hold(repositories=swapped)
    assert f"expected commit {commit(2)}, found commit {commit(1)}" in reason(live(), NEW)


def test_inference_and_hpc_rounds_are_fetched_too(live: Live, workshop: Workshop, host: Host, tmp_path: Path) -> None:
    record = {
        "Submitter": "Acme", "Model": "llama2-70b-99", "Scenario": "Offline", "Performance_Result": 5.0,
        "Performance_Units": "Tokens/s", "Location": "closed/Acme/results/x/llama2-70b-99/Offline",
    }  # fmt: skip
    held = [
        write_repository(tmp_path, "inference_results_v5.1", 4, {"summary_results.json": json.dumps([record])}),
        write_repository(
            tmp_path,
            "hpc_results_v3.0",
            5,
            {f"Acme/results/x/strong/deepcam/result_{n}.txt": ":::MLLOG {}" for n in range(5)},
        ),
    ]
    host.hold(repositories=held)
    assert states(live())["inference-v5.1"] == "refreshed"
    assert workshop.lake.read("mart.inference_results")["inference_id"].to_list() == [
        "inference-v5.1/closed/Acme/results/x/llama2-70b-99/Offline"
    ]
    assert workshop.lake.partitions("core.runs") == ["hpc-v3.0", "inference-v5.1"]


@pytest.mark.usefixtures("repositories")
def test_the_sensor_asks_for_a_refresh_once_for_each_set_of_commits(live: Live, workshop: Workshop, host: Host) -> None:
    definitions = build_definitions(workshop.settings, {"workshop": workshop})
    sensor = definitions.get_repository_def().get_sensor_def("changed_commits")
    with project_instance(workshop.settings.prepare_dagster_home()) as instance:

        def evaluate() -> dg.SensorResult | dg.SkipReason:
            context = dg.build_sensor_context(instance=instance, resources={"workshop": workshop})
            found = sensor(context)
            assert isinstance(found, dg.SensorResult | dg.SkipReason)
            return found

        first, again = evaluate(), evaluate()
        assert isinstance(first, dg.SensorResult)
        assert isinstance(again, dg.SensorResult)
        assert first.run_requests is not None
        assert again.run_requests is not None
        assert first.run_requests[0].run_key == again.run_requests[0].run_key
        assert first.dynamic_partitions_requests is not None
        assert list(first.dynamic_partitions_requests[0].partition_keys) == [OLD, NEW]
        live()
        held = evaluate()
        assert isinstance(held, dg.SkipReason)
        assert held.skip_message == "2 rounds stand at the commits that are held"


@pytest.mark.timeout(900)
@pytest.mark.usefixtures("repositories", "suites_here")
def test_a_live_refresh_is_a_job_and_a_round_can_be_fetched_again_by_hand(workshop: Workshop, host: Host) -> None:
    definitions = build_definitions(workshop.settings, {"workshop": workshop})
    with project_instance(workshop.settings.prepare_dagster_home()) as instance:
        result = definitions.get_repository_def().get_job("refresh_live").execute_in_process(instance=instance)
        assert result.success
        assert sorted(instance.get_dynamic_partitions("rounds")) == [OLD, NEW]
        host.forget()
        job = definitions.resolve_job_def("refresh_round")
        again = [dg.AssetKey(["raw", "files"]), dg.AssetKey(["core", "sources"])]
        assert job.execute_in_process(instance=instance, partition_key=NEW, asset_selection=again).success
    assert requests_for(host, TARBALL) == [200]


@pytest.mark.timeout(900)
@pytest.mark.usefixtures("repositories")
def test_the_command_refreshes_and_then_has_nothing_to_do(settings: Settings, host: Host) -> None:
    def run() -> subprocess.CompletedProcess[str]:
        script = (
            "import sys; from pathlib import Path; from pipelines.settings import Settings\n"
            f"Settings.snapshot = property(lambda self: Path({str(settings.data / 'no')!r}))\n"
            "from pipelines.cli import app; app(['refresh', '--live'])"
        )
        return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    first = run()
    assert first.returncode == 0, first.stderr
    assert "training-v5.1: refreshed" in first.stderr
    assert re.search(r"training-v5\.0: reading mlcommons/.* \(1 of 3, about \d+ s left\)", first.stderr)
    assert re.search(r"scoring, reconciling and checking all rounds \(3 of 3, about \d+ s left\)", first.stderr)
    host.forget()
    second = run()
    assert second.returncode == 0, second.stderr
    done = "Nothing to do: inputs and code of 2 rounds, the watched pages and of all answers are unchanged."
    assert second.stderr.splitlines()[-1] == done
    assert {entry["status"] for entry in host.log()} == {304}
