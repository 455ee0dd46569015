"""What charts draw in which order, and how words are joined."""

from __future__ import annotations

import json

import polars as pl
import pytest

from pipelines.publishing.report.charts.time import minutes_spent
from pipelines.publishing.report.words import listed
from pipelines.schemas import TABLES


def test_lists_read_as_sentences() -> None:
    assert listed(["one"]) == "one"
    assert listed(["one", "two", "three"]) == "one, two and three"


def test_steps_that_are_not_split_are_in_the_bar_as_one_part() -> None:
    row = {"benchmark": "b", "accelerator": "GB200", "score_seconds": 100.0, "evaluation_seconds": 40.0}
    rows = [
        {
            **row,
            "result_id": "r/f/whole/b",
            "accelerator_count": 8,
            "steps_seconds": 60.0,
            "largest_loss": "evaluation",
        },
        {**row, "result_id": "r/f/split/b", "accelerator_count": 16, "steps_seconds": 60.0, "ideal_seconds": 60.0},
    ]
    figure = minutes_spent(pl.DataFrame(rows, schema=TABLES["mart.time_breakdown"].schema.create_empty().schema), "b")
    behind = {row["result_id"]: row for row in figure.behind.iter_rows(named=True)}
    assert behind["r/f/whole/b"]["steps_not_split_seconds"] == 60.0
    assert behind["r/f/split/b"]["steps_not_split_seconds"] is None
    drawn = [point for rows in json.loads(figure.spec)["datasets"].values() for point in rows]
    assert sum(point["minutes"] for point in drawn if point["name"] == "r whole") == pytest.approx(100 / 60)
    assert list(dict.fromkeys(point["name"] for point in drawn)) == ["r split", "r whole"], "the largest first"
    assert figure.title.endswith("most often “evaluation”")
    assert "the largest system first" in figure.note
    assert "derived" in figure.note
