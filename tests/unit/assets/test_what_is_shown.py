"""What the Dagster UI is given to show: lineage of columns, rows of a failed check, a plot, owners, freshness."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest

from pipelines.assets.checks import _rows_metadata
from pipelines.assets.lineage import _MADE_FROM, column_lineage, lineage_table, tables_read
from pipelines.assets.pictures import plots
from pipelines.assets.tables import CALENDAR_OF_ROUNDS, asset_spec
from pipelines.lake.tables import Lake
from pipelines.schemas import TABLES, table


def test_every_column_that_is_named_as_a_source_exists() -> None:
    for (name, column), sources in _MADE_FROM.items():
        assert column in table(name).schema.column_names()
        for source in sources:
            of, _, source_column = source.rpartition(".")
            assert source_column in table(of).schema.column_names(), source


def test_a_column_is_traced_to_what_its_station_read() -> None:
    reads = tables_read(
        ["core.runs/training-v5.0", "core.runs/training-v5.1", "mart.runs/all", "core.scaling_factors/x"]
    )
    assert reads == ("core.runs", "mart.runs", "core.scaling_factors")
    lineage = column_lineage("mart.results", reads)
    deps = lineage.deps_by_column
    assert [(dep.asset_key.to_user_string(), dep.column_name) for dep in deps["score_minutes"]] == [
        ("core/scaling_factors", "rcp_factor"),
        ("mart/runs", "raw_minutes"),
    ]
    assert ("core/runs", "round") in [(dep.asset_key.to_user_string(), dep.column_name) for dep in deps["round"]]
    assert "no_score_reason" not in deps
    told = {str(row.data["column"]): row.data["made_from"] for row in lineage_table(lineage).records}
    assert told["score_minutes"] == "core.scaling_factors.rcp_factor, mart.runs.raw_minutes"
    assert tables_read(["snapshot", "raw.files"]) == ("raw.files",)


def test_sentences_of_failed_rows_stand_beside_the_table() -> None:
    sentence = "36 fit in one rack of 72 slots, none is stated: a part rack is no error, said at some length"
    shown = _rows_metadata(
        [
            {"system": "a_b", "explanation": sentence, "accelerator_count": 36, "racks_stated": None},
            {"system": "<b>", "explanation": "short", "accelerator_count": 8, "racks_stated": 1},
        ]
    )
    rows = shown["rows"]
    assert isinstance(rows, dg.TableMetadataValue)
    assert [column.name for column in rows.schema.columns] == ["system", "accelerator_count", "racks_stated"]
    assert rows.records[0].data == {"system": "a_b", "accelerator_count": 36, "racks_stated": ""}
    lines = shown["rows_in_words"].value.splitlines()
    assert lines[0].startswith(r"1. a\_b: 36 fit in one rack")
    assert lines[1] == r"2. \<b\>: short"


def test_short_rows_are_a_table_alone() -> None:
    assert list(_rows_metadata([{"result_id": "r", "score_minutes": 1.0}])) == ["rows"]


def test_predicted_against_reported_is_a_picture(tmp_path: Path) -> None:
    lake = Lake.at(str(tmp_path))
    assert plots(lake, "mart.results") == {}
    assert plots(lake, "mart.reconciled_runs") == {}
    lake.write("mart.reconciled_runs", _reconciled(), inputs={}, code_version="1")
    shown = plots(lake, "mart.reconciled_runs")["predicted_against_reported"].value
    content = base64.b64decode(shown.rpartition("base64,")[2].removesuffix(")"))
    assert content.startswith(b"\x89PNG")
    assert len(content) < 200_000


def _reconciled() -> pl.DataFrame:
    row: dict[str, Any] = {"round": "training-v5.0", "benchmark": "llama31_405b", "verdict": "as_predicted"}
    row |= {"explanation": "words", "predicted_low_minutes": 9.0, "predicted_high_minutes": 30.0}
    rows = [
        {
            **row,
            "result_id": f"r{score}",
            "score_minutes": score,
            "predicted_minutes": 1.1 * score,
            "residual_percent": 10,
        }
        for score in (10.0, 20.0)
    ]
    return pl.DataFrame(rows, schema=TABLES["mart.reconciled_runs"].schema.create_empty().schema)


@pytest.mark.parametrize("name", list(TABLES))
def test_every_table_has_an_owner_and_is_due_by_the_calendar(name: str) -> None:
    spec = asset_spec(name, ())
    assert spec.owners
    assert spec.freshness_policy == CALENDAR_OF_ROUNDS


def test_the_calendar_is_that_of_the_rounds() -> None:
    """Rounds are of April, June, September and November; each is due a week after its month."""
    assert CALENDAR_OF_ROUNDS.deadline_cron == "0 0 8 5,7,10,12 *"
    due, month_starts = datetime(2026, 7, 8, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)
    assert due - CALENDAR_OF_ROUNDS.lower_bound_delta == month_starts
