"""Sums that do not depend on the order of rows."""

from __future__ import annotations

import polars as pl

from pipelines.modelling.sums import ordered_mean, ordered_sum

VALUES = [1e16, 1.0, -1e16, 3.25, 1e-3, 7e8, 0.1, 0.2, 0.3]


def test_the_order_of_rows_changes_no_digit() -> None:
    frame = pl.DataFrame({"key": ["a"] * 9, "value": VALUES})
    found = {
        frame.sample(fraction=1.0, shuffle=True, seed=seed)
        .lazy()
        .group_by("key")
        .agg(total=ordered_sum(pl.col("value")), mean=ordered_mean(pl.col("value")))
        .collect()
        .row(0)
        for seed in range(50)
    }
    assert len(found) == 1


def test_nulls_are_left_out_and_nothing_is_null() -> None:
    frame = pl.DataFrame({"value": [2.0, None, 4.0], "none": pl.Series([None, None, None], dtype=pl.Float64)})
    found = frame.select(
        total=ordered_sum(pl.col("value")),
        mean=ordered_mean(pl.col("value")),
        nothing=ordered_mean(pl.col("none")),
    )
    assert found.row(0) == (6.0, 3.0, None)
