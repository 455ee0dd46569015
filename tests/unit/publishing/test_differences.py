"""What differs between two states of the tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.lake.tables import Lake
from pipelines.publishing.differences import (
    NoSuchStateError,
    compare_frames,
    differences,
    open_state,
    summary,
)
from pipelines.schemas import TABLES

MADE: dict[str, Any] = {"inputs": {}, "code_version": "1"}


def told(frame: pl.DataFrame) -> list[tuple[str | None, ...]]:
    return frame.drop("table_name").rows()


def test_rows_are_added_removed_and_changed_by_column() -> None:
    old = pl.DataFrame({"a": ["x", "y", "z"], "b": [1, 2, 3], "c": [0.5, None, float("nan")]})
    new = pl.DataFrame({"a": ["y", "z", "w"], "b": [2, 4, 5], "c": [1.5, float("nan"), 0.0]})
    assert told(compare_frames("t", old, new, ["a"])) == [
        ("added", "w", None, None, None),
        ("removed", "x", None, None, None),
        ("changed", "z", "b", "3", "4"),
        ("changed", "y", "c", None, "1.5"),
    ]


def test_columns_that_come_go_or_change_their_type_are_said() -> None:
    old = pl.DataFrame({"a": ["x"], "gone": [1], "kind": [1]})
    new = pl.DataFrame({"a": ["x"], "kind": ["one"], "fresh": [1.0]})
    assert told(compare_frames("t", old, new, ["a"])) == [
        ("column_added", "", "fresh", None, None),
        ("column_removed", "", "gone", None, None),
        ("changed", "x", "kind", "1", "one"),
    ]


def test_another_key_cannot_be_compared() -> None:
    old, new = pl.DataFrame({"a": ["x"]}), pl.DataFrame({"a": ["x"], "b": ["y"]})
    assert told(compare_frames("t", old, new, ["a", "b"]))[-1][0] == "not_comparable"


@given(st.dictionaries(st.text(max_size=3), st.none() | st.floats()), st.sets(st.text(max_size=3)))
def test_a_state_differs_from_itself_in_nothing_and_from_a_part_in_what_was_left_out(
    rows: dict[str, float | None], left_out: set[str]
) -> None:
    frame = pl.DataFrame({"a": list(rows), "b": list(rows.values())}, schema={"a": pl.String, "b": pl.Float64})
    assert compare_frames("t", frame, frame.reverse(), ["a"]).is_empty()
    part = frame.filter(~pl.col("a").is_in(sorted(left_out)))
    removed = compare_frames("t", frame, part, ["a"])
    assert set(removed["row_key"]) == left_out & set(rows)
    assert set(removed["change"]) <= {"removed"}


def source(round_name: str, commit: str) -> pl.DataFrame:
    row = {"round": round_name, "source": "s", "commit": commit, "retrieved_at": "t", "file_count": 1, "size_bytes": 1}
    return pl.DataFrame([row], schema=TABLES["core.sources"].schema.create_empty().schema)


def test_lakes_are_compared_partition_by_partition(tmp_path: Path) -> None:
    old, new = Lake.at(str(tmp_path / "old" / "lake")), Lake.at(str(tmp_path / "new"))
    for lake in (old, new):
        lake.write("core.sources", source("training-v5.0", "a"), "training-v5.0", **MADE)
    old.write("core.sources", source("training-v5.1", "a"), "training-v5.1", **MADE)
    new.write("core.sources", source("training-v5.1", "b"), "training-v5.1", **MADE)
    new.write("core.sources", source("training-v6.0", "c"), "training-v6.0", **MADE)
    found = differences(open_state(tmp_path / "old"), open_state(tmp_path / "new"))
    assert set(found["table_name"]) == {"core.sources"}
    assert told(found) == [
        ("changed", "training-v5.1", "commit", "a", "b"),
        ("added", "training-v6.0", None, None, None),
    ]
    assert summary(found).rows() == [
        ("core.sources", "changed", "commit", 1),
        ("core.sources", "added", None, 1),
    ]


def test_bytes_are_compared_by_what_the_row_says_of_them(tmp_path: Path) -> None:
    for name, content in (("old", b"a"), ("new", b"b")):
        row = dict.fromkeys(TABLES["raw.files"].schema.column_names(), "x") | {"size_bytes": 1, "content": content}
        frame = pl.DataFrame([row], schema=TABLES["raw.files"].schema.create_empty().schema)
        Lake.at(str(tmp_path / name)).write("raw.files", frame, "training-v5.0", **MADE)
    assert differences(open_state(tmp_path / "old"), open_state(tmp_path / "new")).is_empty()


def test_a_place_that_holds_nothing_is_said(tmp_path: Path) -> None:
    with pytest.raises(NoSuchStateError, match="expected a data folder, a lake or a release"):
        open_state(tmp_path)
