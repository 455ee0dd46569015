"""The gate: which rows pass, which go to quarantine and with what."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import polars as pl
import pytest

from pipelines.lake.gate import ColumnsError, gate
from pipelines.schemas import table

SOURCES = table("core.sources")


def test_good_rows_pass_sorted_by_key(sources: Callable[..., pl.DataFrame]) -> None:
    gated = gate(SOURCES, sources({"round": "b"}, {"round": "a"}))
    assert gated.good["round"].to_list() == ["a", "b"]
    assert (gated.bad_count, gated.duplicate_count, gated.quarantine.height) == (0, 0, 0)


def test_exact_duplicates_are_one_row(sources: Callable[..., pl.DataFrame]) -> None:
    gated = gate(SOURCES, sources({"round": "a"}, {"round": "a"}, {"round": "b"}))
    assert gated.good["round"].to_list() == ["a", "b"]
    assert (gated.bad_count, gated.duplicate_count) == (0, 1)


def test_rows_that_share_a_key_are_all_refused(sources: Callable[..., pl.DataFrame]) -> None:
    gated = gate(SOURCES, sources({"round": "a", "commit": "1"}, {"round": "a", "commit": "2"}, {"round": "b"}))
    assert gated.good["round"].to_list() == ["b"]
    assert gated.bad_count == 2
    assert gated.quarantine.select("rule", "column").rows() == [("primary_key", None)] * 2
    assert [json.loads(row)["commit"] for row in gated.quarantine["row"]] == ["1", "2"]


def test_one_row_of_quarantine_for_each_broken_rule(sources: Callable[..., pl.DataFrame]) -> None:
    gated = gate(SOURCES, sources({"round": "a", "file_count": -1, "source": None}))
    assert gated.good.is_empty()
    assert gated.bad_count == 1
    assert gated.quarantine.select("rule", "column").rows() == [("min", "file_count"), ("nullability", "source")]
    row = json.loads(gated.quarantine["row"][0])
    assert row == {**sources({"round": "a"}).row(0, named=True), "file_count": -1, "source": None}


def test_what_json_lacks_is_kept_as_text() -> None:
    entry = table("core.power_readings")
    columns = {name: column.dtype for name, column in entry.schema.columns().items()}
    row = {"round": "r", "source_path": "p", "integral_joules": math.nan}
    gated = gate(entry, pl.DataFrame([row], schema=columns))
    assert json.loads(gated.quarantine["row"][0])["integral_joules"] == "NaN"
    entry = table("raw.files")
    columns = {name: column.dtype for name, column in entry.schema.columns().items()}
    gated = gate(entry, pl.DataFrame([{"round": "r", "content": b"\xff\x00"}], schema=columns))
    assert json.loads(gated.quarantine["row"][0])["content"] == "/wA="


def test_a_missing_an_unknown_and_a_mistyped_column_are_named(sources: Callable[..., pl.DataFrame]) -> None:
    frame = sources({}).drop("commit").with_columns(pl.lit("1").alias("file_count"), pl.lit(1).alias("extra"))
    with pytest.raises(ColumnsError) as caught:
        gate(SOURCES, frame)
    assert str(caught.value) == (
        "core.sources: expected the columns of the schema; found missing: commit; unknown: extra; "
        "of another type: file_count (String for Int64)"
    )


def test_narrower_numbers_and_nulls_are_widened(sources: Callable[..., pl.DataFrame]) -> None:
    frame = sources({}).with_columns(pl.lit(7, pl.UInt16).alias("file_count"), pl.lit(None).alias("skipped_count"))
    good = gate(SOURCES, frame).good
    assert good["file_count"].to_list() == [7]
    assert good.schema == sources({}).schema
