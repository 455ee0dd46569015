from __future__ import annotations

import polars as pl
import pytest

from pipelines.modelling import racks


@pytest.mark.parametrize(
    ("accelerators", "replica", "by_division", "by_replica", "active"),
    [
        (2496, 64, 35, 39, 64),
        (512, 64, 8, 8, 64),
        (1024, 64, 15, 16, 64),
        (1536, 64, 22, 24, 64),
        (2048, 64, 29, 32, 64),
        (5120, 64, 72, 80, 64),
        (2560, 64, 36, 40, 64),
        (512, 32, 8, 8, 64),
        (576, 8, 8, 8, 72),
        (1024, 128, 15, 16, None),
        (288, 144, 4, 4, None),
    ],
)
def test_racks_of_nvl72_runs(
    accelerators: int, replica: int, by_division: int, by_replica: int, active: int | None
) -> None:
    row = pl.DataFrame(
        {"accelerator_count": [accelerators], "slots_per_rack": [72], "replica_accelerator_count": [replica]}
    )
    found = row.select(
        racks.racks_by_division().alias("division"),
        racks.racks_by_replica(pl.col("accelerator_count") // replica).alias("replica"),
        racks.active_by_replica().alias("active"),
    )
    assert found.row(0) == (by_division, by_replica, active)
    assert set(found.dtypes) == {pl.Int64}


def test_unknown_slots_give_no_racks() -> None:
    row = pl.DataFrame(
        {"accelerator_count": [512], "slots_per_rack": [None], "replica_accelerator_count": [64]},
        schema_overrides={"slots_per_rack": pl.Int64},
    )
    assert row.select(racks.racks_by_division()).item() is None
    assert row.select(racks.racks_by_replica(pl.lit(8))).item() is None
