"""Rows of many logs as columns."""

from __future__ import annotations

import numpy as np

from pipelines.parsing._event_columns import MARK_ROWS, RowColumns
from pipelines.parsing._log_json import LINES_A_LOG
from pipelines.parsing._log_shapes import KnownRows


def test_places_and_times_keep_every_digit() -> None:
    largest = 2**63 - 1
    rows = RowColumns(MARK_ROWS)
    for place, time_ms in ((2**53 + 1, 2**53 + 3), (largest, largest)):
        known = KnownRows(np.array([place]), np.array([time_ms]), np.array([4], np.int8), {}, {})
        rows.add(known, [])
    found = rows.frame(MARK_ROWS.columns)
    assert found.select("place", "time_ms", "key", "samples_count").rows() == [
        (2**53 + 1, 2**53 + 3, 4, None),
        (largest, largest, 4, None),
    ]
    assert found.select("log", "line").row(0) == divmod(2**53 + 1, LINES_A_LOG)
