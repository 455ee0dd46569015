from __future__ import annotations

import polars as pl

from pipelines.modelling import peaks
from pipelines.schemas.facts_mart import Accelerators


def test_peaks_are_one_row_a_known_part_and_precision() -> None:
    columns = {name: [None, None] for name in Accelerators.column_names()}
    known = {"accelerator": ["P1", "P2"], "bf16_dense_teraflops": [100.0, 50.0], "fp8_dense_teraflops": [200.0, None]}
    parts = pl.DataFrame(columns | known, schema=Accelerators.create_empty().schema)
    assert peaks.by_precision(parts).rows() == [("P1", "bf16", 100.0), ("P1", "fp8", 200.0), ("P2", "bf16", 50.0)]
