"""The Dagster graph: what there is, what it is made from, how it is described."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from pipelines.assets.tables import ROUNDS, column_schema, structure_result
from pipelines.definitions import build_definitions
from pipelines.lake.tables import Lake
from pipelines.quality.suites import CHECKS
from pipelines.schemas import TABLES, table
from pipelines.settings import Settings


@pytest.fixture(scope="module")
def repository() -> dg.RepositoryDefinition:
    return build_definitions(Settings.from_environment({})).get_repository_def()


def test_the_graph_is_as_drawn(repository: dg.RepositoryDefinition, snapshot: SnapshotAssertion) -> None:
    graph: dict[str, Any] = {}
    for key in sorted(repository.asset_graph.get_all_asset_keys()):
        node = repository.asset_graph.get(key)
        graph[key.to_user_string()] = {
            "group": node.group_name,
            "kinds": sorted(node.kinds),
            "made_from": sorted(parent.to_user_string() for parent in node.parent_keys),
            "by_round": node.partitions_def == ROUNDS,
            "checks": sorted(check.name for check in node.check_keys),
        }
    assert graph == snapshot


def test_every_table_is_an_asset_with_its_columns_and_words(repository: dg.RepositoryDefinition) -> None:
    for name, entry in TABLES.items():
        node = repository.asset_graph.get(dg.AssetKey(name.split(".")))
        assert node.group_name == entry.layer
        assert (node.partitions_def is not None) == entry.by_round
        assert node.description
        columns = node.metadata["dagster/column_schema"].columns
        assert [column.name for column in columns] == entry.schema.column_names()
        assert all(column.description for column in columns), name


def test_a_column_tells_its_type_unit_and_whether_it_may_be_missing() -> None:
    columns = {column.name: column for column in column_schema(table("mart.results")).columns}
    assert columns["result_id"].constraints.other == ["primary key"]
    assert not columns["result_id"].constraints.nullable
    assert columns["score_minutes"].type == "Float64"
    assert columns["score_minutes"].constraints.nullable
    assert columns["score_minutes"].tags == {"unit": "minutes"}
    assert not columns["run_count"].constraints.nullable


def test_every_plausibility_check_is_shown(repository: dg.RepositoryDefinition) -> None:
    shown = {(key.asset_key.to_user_string(), key.name) for key in repository.asset_graph.asset_check_keys}
    assert {(check.table.replace(".", "/"), check.name) for check in CHECKS} <= shown


def test_jobs_and_schedule(repository: dg.RepositoryDefinition) -> None:
    jobs = {job.name for job in repository.get_all_jobs() if not job.name.startswith("__")}
    assert jobs == {"refresh_round", "refresh_answers", "refresh_all", "refresh_live", "ask_hosts_now"}
    (schedule,) = repository.schedule_defs
    assert (schedule.job_name, schedule.cron_schedule) == ("refresh_live", "0 6 * * 1")
    assert [
        sensor.name for sensor in repository.sensor_defs if sensor.name != "default_automation_condition_sensor"
    ] == ["changed_commits"]
    assert repository.get_job("refresh_round").partitions_def == ROUNDS
    assert repository.get_job("refresh_round").executor_def is dg.in_process_executor


def test_resources_can_be_replaced() -> None:
    other = object()
    definitions = build_definitions(Settings.from_environment({}), {"workshop": other})
    assert definitions.resources is not None
    assert definitions.resources["workshop"] is other


def test_rows_in_quarantine_fail_the_structural_check_with_their_rules(tmp_path: Path) -> None:
    lake = Lake.at(str(tmp_path))
    row = {
        "round": "training-v9.0",
        "result_id": "training-v9.0/a/b/c",
        "rcp_factor": -1.0,
        "source_path": "a",
        "source_sha256": "b",
    }
    frame = pl.DataFrame([row, {**row, "result_id": "other", "rcp_factor": 1.0}])
    manifest = lake.write("core.scaling_factors", frame, "training-v9.0", inputs={}, code_version="1")
    result = structure_result(lake, "core.scaling_factors", manifest)
    assert not result.passed
    assert result.severity == dg.AssetCheckSeverity.WARN
    assert result.metadata["rows_in_quarantine"].value == 1
    (record,) = result.metadata["broken_rules"].value.records
    assert record.data == {"column": "rcp_factor", "rule": "min", "rows": 1}

    good = lake.write("core.scaling_factors", frame.tail(1), "training-v9.0", inputs={}, code_version="1")
    assert structure_result(lake, "core.scaling_factors", good).passed


def test_workspace_and_project_name_the_same_location() -> None:
    root = Path(__file__).resolve().parents[3]
    assert "location_name: rackrecon" in (root / "workspace.yaml").read_text("utf-8")
    assert 'code_location_name = "rackrecon"' in (root / "pyproject.toml").read_text("utf-8")


def test_the_instance_sends_no_usage_reports() -> None:
    root = Path(__file__).resolve().parents[3]
    text = (root / "dagster_home" / "dagster.yaml").read_text("utf-8")
    assert "telemetry:\n  enabled: false" in text
