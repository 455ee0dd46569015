"""A refresh from end to end on a small repository: what lands, what is kept, what a failing round leaves."""

from __future__ import annotations

import errno
import signal
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from pipelines.assets.execution import project_instance
from pipelines.definitions import build_definitions
from pipelines.lake.queries import query
from pipelines.publishing.headline import headline
from pipelines.publishing.snapshot import write_snapshot
from pipelines.refreshing import rounds
from pipelines.refreshing.flow import ANSWERS, RefreshError, Report
from pipelines.refreshing.workshop import Workshop
from pipelines.schemas import TABLES
from pipelines.snapshot import Snapshot

Tarball = Callable[..., Path]
Refresh = Callable[..., Report]

RESULT = "training-v5.0/Acme/acme_rack/llama31_405b"


def states(report: Report) -> dict[str, str]:
    return {part.name: part.state for part in report.parts}


def test_a_tarball_becomes_scores_racks_findings_and_a_warehouse(
    workshop: Workshop, refresh: Refresh, tarball: Tarball
) -> None:
    report = refresh(tarball())
    assert states(report) == {"training-v5.0": "refreshed", ANSWERS: "refreshed"}
    lake = workshop.lake
    (result,) = lake.read("mart.results").to_dicts()
    assert (result["result_id"], result["score_minutes"]) == (RESULT, pytest.approx(27.0 * 1.01, rel=1e-12))
    (rack,) = lake.read("mart.rack_audit").to_dicts()
    assert (rack["accelerator_count"], rack["racks_stated"], rack["active_per_rack"]) == (2496, 39, 64)
    (check,) = lake.read("mart.checks").filter(name="whole_racks").to_dicts()
    assert (check["status"], check["failed_count"], check["is_blocking"]) == ("failed", 1, False)
    kinds = lake.read("mart.findings")["kind"].to_list()
    assert "racks.explained" in kinds, "the row is told once, as a finding of its own"
    assert "check.whole_racks" not in kinds
    answer = query(workshop.settings.warehouse, "SELECT score_minutes FROM mart.results")
    assert answer.rows() == [(result["score_minutes"],)]
    about = dict(query(workshop.settings.warehouse, "FROM about").rows())
    assert about["newest_training_round_here"] == "training-v5.0"
    assert "1 scored of 1" in headline(lake)[0]


def test_a_second_refresh_does_nothing_and_a_changed_input_is_read_again(
    workshop: Workshop, refresh: Refresh, tarball: Tarball
) -> None:
    path = tarball()
    refresh(path)
    before = {name: workshop.lake.manifest(name) for name in TABLES if not TABLES[name].by_round}
    assert refresh(path).is_unchanged
    assert refresh().is_unchanged
    assert {name: workshop.lake.manifest(name) for name in before} == before

    tarball(minutes=(20.0, 21.0, 22.0))
    assert states(refresh()) == {"training-v5.0": "refreshed", ANSWERS: "refreshed"}
    assert workshop.lake.read("mart.results")["score_minutes"].to_list() == [pytest.approx(21.0 * 1.01)]


def test_a_repository_that_is_gone_leaves_its_round(workshop: Workshop, refresh: Refresh, tarball: Tarball) -> None:
    path = tarball()
    refresh(path)
    path.unlink()
    assert refresh().is_unchanged


def test_a_round_that_fails_says_why_and_the_others_land(
    workshop: Workshop, refresh: Refresh, tarball: Tarball
) -> None:
    good = tarball()
    broken = tarball("training_results_v5.1.tar.gz")
    broken.write_bytes(broken.read_bytes()[:-40])
    report = refresh(broken, good, good.with_name("missing.tar.gz"))
    assert states(report)["training-v5.0"] == "refreshed"
    assert states(report)["training-v5.1"] == "failed"
    assert {part.name for part in report.failed} == {"training-v5.1", str(good.with_name("missing.tar.gz"))}
    assert all(part.is_source for part in report.failed)
    (reason,) = [part.reason for part in report.failed if part.name == "training-v5.1"]
    assert reason is not None
    assert str(broken) in reason
    assert workshop.lake.partitions("core.runs") == ["training-v5.0"]
    assert workshop.lake.partitions("raw.files") == ["training-v5.0"]
    assert workshop.lake.read("mart.results").height == 1

    with project_instance(workshop.settings.dagster_home) as instance:
        failed = instance.get_run_records(dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE]))
        assert [record.dagster_run.tags["dagster/partition"] for record in failed] == ["training-v5.1"]
    # What could not be read is not remembered: the next refresh is about what there is.
    assert refresh().is_unchanged


def test_only_the_rounds_asked_for_are_read(workshop: Workshop, refresh: Refresh, tarball: Tarball) -> None:
    first, second = tarball(), tarball("training_results_v5.1.tar.gz", minutes=(9.0, 9.1, 9.2))
    assert states(refresh(first, second, only=("training-v5.1",))) == {
        "training-v5.1": "refreshed",
        ANSWERS: "refreshed",
    }
    assert workshop.lake.partitions("core.runs") == ["training-v5.1"]
    with pytest.raises(RefreshError, match=r"no round training-v4.0; there are: training-v5.1"):
        refresh(only=("training-v4.0",))


def test_two_inputs_of_one_round_are_refused(refresh: Refresh, tarball: Tarball) -> None:
    path = tarball()
    copy = path.with_name("copy.tar.gz")
    copy.write_bytes(path.read_bytes())
    with pytest.raises(RefreshError, match=r"both hold training-v5.0"):
        refresh(path, copy)


def test_the_snapshot_gives_the_same_answers_as_the_files(
    workshop: Workshop, refresh: Refresh, tarball: Tarball, tmp_path: Path
) -> None:
    refresh(tarball())
    written = write_snapshot(workshop.lake, tmp_path / "snapshot")
    assert [entry.round for entry in written.about.rounds] == ["training-v5.0"]
    again = write_snapshot(workshop.lake, tmp_path / "again")
    assert again == written
    for file in (tmp_path / "snapshot").iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()

    answers = [name for name in TABLES if name.startswith("mart.") and name != "mart.checks"]
    before = {name: workshop.lake.read(name) for name in answers}
    for name in TABLES:
        for partition in workshop.lake.partitions(name):
            workshop.lake.delete(name, partition)
    tarball().unlink()
    workshop.snapshot = Snapshot(tmp_path / "snapshot")
    assert states(refresh()) == {"training-v5.0": "refreshed", ANSWERS: "refreshed"}
    for name in answers:
        assert workshop.lake.read(name).equals(before[name]), name
    assert workshop.lake.read("core.steps").is_empty()
    assert refresh().is_unchanged


def test_a_snapshot_that_finds_no_room_leaves_the_one_that_is_there(
    workshop: Workshop, refresh: Refresh, tarball: Tarball, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refresh(tarball())
    folder = tmp_path / "snapshot"
    write_snapshot(workshop.lake, folder)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    refresh(tarball(minutes=(9.0, 9.1, 9.2)))
    write = Path.write_bytes

    def write_some(path: Path, content: bytes) -> int:
        if len(list(path.parent.iterdir())) == len(before) - 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", write_some)
    with pytest.raises(OSError, match="No space left"):
        write_snapshot(workshop.lake, folder)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    monkeypatch.undo()
    write_snapshot(workshop.lake, folder)
    after = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert after.keys() == before.keys()
    assert after != before


def test_the_snapshot_does_not_replace_what_was_read_from_files(
    workshop: Workshop, refresh: Refresh, tarball: Tarball, tmp_path: Path
) -> None:
    refresh(tarball())
    write_snapshot(workshop.lake, tmp_path / "snapshot")
    workshop.snapshot = Snapshot(tmp_path / "snapshot")
    assert refresh().is_unchanged
    assert workshop.lake.partitions("raw.files") == ["training-v5.0"]


def test_one_round_can_be_rerun_alone(workshop: Workshop, refresh: Refresh, tarball: Tarball) -> None:
    refresh(tarball(), tarball("training_results_v5.1.tar.gz", minutes=(9.0, 9.1, 9.2)))
    written = workshop.lake.manifest("core.runs", "training-v5.0")
    other = workshop.lake.manifest("core.runs", "training-v5.1")
    tarball(minutes=(20.0, 21.0, 22.0))
    definitions = build_definitions(workshop.settings, {"workshop": workshop})
    with project_instance(workshop.settings.dagster_home) as instance:
        job = definitions.resolve_job_def("refresh_round")
        result = job.execute_in_process(instance=instance, partition_key="training-v5.0")
    assert result.success
    assert workshop.lake.manifest("core.runs", "training-v5.0") != written
    assert workshop.lake.manifest("core.runs", "training-v5.1") == other
    scores = workshop.lake.read("mart.results").sort("result_id")["score_minutes"].to_list()
    assert scores == [pytest.approx(21.0 * 1.01), pytest.approx(9.1 * 1.01)]
    materialized = {event.asset_key.to_user_string() for event in result.get_asset_materialization_events()}
    assert {"raw/files", "core/runs", "mart/results", "warehouse"} <= materialized


def test_the_check_shows_its_rows_on_the_asset(workshop: Workshop, refresh: Refresh, tarball: Tarball) -> None:
    refresh(tarball())
    definitions = build_definitions(workshop.settings, {"workshop": workshop})
    with project_instance(workshop.settings.dagster_home) as instance:
        result = definitions.resolve_job_def("refresh_answers").execute_in_process(instance=instance)
    evaluations = {
        (evaluation.asset_key.to_user_string(), evaluation.check_name): evaluation
        for evaluation in result.get_asset_check_evaluations()
    }
    racks = evaluations["mart/rack_audit", "whole_racks"]
    assert not racks.passed
    assert racks.severity == dg.AssetCheckSeverity.WARN
    (row,) = [record.data for record in racks.metadata["rows"].value.records]
    assert (row["accelerator_count"], row["remainder_by_slots"], row["verdict"]) == (2496, 48, "explained")
    assert evaluations["mart/results", "score_follows_from_runs"].passed
    assert evaluations["mart/findings", "nothing_blocks_publishing"].passed
    assert all(evaluations[key].passed for key in evaluations if key[1] == "structure")


def test_what_blocks_leaves_the_warehouse_as_it_was(
    workshop: Workshop, refresh: Refresh, tarball: Tarball, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pipelines.refreshing import stations  # noqa: PLC0415

    assert refresh(tarball()).failed == []
    before = workshop.settings.warehouse.read_bytes()

    def break_a_check(frames: dict[str, pl.DataFrame]) -> pl.DataFrame:
        return whole(frames).with_columns(
            status=pl.when(pl.col("name") == "score_credible").then(pl.lit("failed")).otherwise("status"),
            is_blocking=pl.col("name") == "score_credible",
        )

    whole = stations.SUITES.run
    monkeypatch.setattr(stations.SUITES, "run", break_a_check)
    tarball(minutes=(20.0, 21.0, 22.0))
    report = refresh()
    (failed,) = report.failed
    assert (failed.name, failed.is_source) == (ANSWERS, False)
    assert "nothing_blocks_publishing" in (failed.reason or "")
    assert workshop.settings.warehouse.read_bytes() == before
    assert workshop.lake.read("mart.findings").filter(kind="check.score_credible")["severity"].to_list() == ["error"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_refresh_and_is_not_taken_for_a_failed_part(
    workshop: Workshop, refresh: Refresh, tarball: Tarball, monkeypatch: pytest.MonkeyPatch, how: signal.Signals
) -> None:
    monkeypatch.setattr(rounds, "read_round", lambda workshop, round_name: signal.raise_signal(how))
    with pytest.raises(KeyboardInterrupt):
        refresh(tarball())
    assert not workshop.settings.warehouse.exists()


def test_refresh_all_runs_as_a_job(workshop: Workshop, refresh: Refresh, tarball: Tarball) -> None:
    refresh(tarball())
    tarball(minutes=(20.0, 21.0, 22.0))
    definitions = build_definitions(workshop.settings, {"workshop": workshop})
    repository = definitions.get_repository_def()
    with project_instance(workshop.settings.dagster_home) as instance:
        result = repository.get_job("refresh_all").execute_in_process(instance=instance)
        assert result.success
        runs = instance.get_run_records()
    assert [record.dagster_run.job_name for record in runs[:3]] == ["refresh_answers", "refresh_round", "refresh_all"]
    assert workshop.lake.read("mart.results")["score_minutes"].to_list() == [pytest.approx(21.0 * 1.01)]
