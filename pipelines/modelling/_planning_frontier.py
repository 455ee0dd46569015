"""Which sizes no other beats on racks, accelerators and time at once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
import polars as pl

from pipelines.modelling._planning_factors import Floats, Integers
from pipelines.modelling.racks import racks_by_replica

_MOST_WAITING = 50_000
_ROUNDING = 1e-9
"""Share of a time that is taken for rounding: nothing is on the frontier for so little."""

_COLUMNS = ("index", "data_parallel", "accelerator_count", "racks", "minutes")


class Frontier:
    """Takes sizes as they are found and keeps those that nothing beats; bounded in memory.

    Args:
        slots_per_rack: accelerators at work in a rack.
    """

    def __init__(self, slots_per_rack: int) -> None:
        self._slots = slots_per_rack
        self._waiting: list[tuple[int, Integers, Integers, Floats]] = []
        self._count = 0
        schema = {name: pl.Float64 if name == "minutes" else pl.Int64 for name in _COLUMNS}
        self._kept = pl.DataFrame(schema=schema)

    def add(self, replica_accelerators: int, index: Integers, data_parallel: Integers, minutes: Floats) -> None:
        """Take the sizes of one replica: the layout, the number of replicas, the time."""
        self._waiting.append((replica_accelerators, index, data_parallel, minutes))
        self._count += len(index)
        if self._count > _MOST_WAITING:
            self._kept = self.frame()
            self._waiting, self._count = [], 0

    def frame(self) -> pl.DataFrame:
        """Return the sizes that nothing beats, fewest racks first."""
        if not self._waiting:
            return self._kept
        replicas, indexes, data_parallel, minutes = zip(*self._waiting, strict=True)
        taken = pl.DataFrame(
            {
                "replica_accelerator_count": np.repeat(replicas, [len(index) for index in indexes]),
                "index": np.concatenate(indexes),
                "data_parallel": np.concatenate(data_parallel),
                "minutes": np.concatenate(minutes),
            }
        ).with_columns(slots_per_rack=pl.lit(self._slots, dtype=pl.Int64))
        sized = taken.with_columns(
            accelerator_count=pl.col("replica_accelerator_count") * pl.col("data_parallel"),
            racks=racks_by_replica(pl.col("data_parallel")),
        )
        return undominated(pl.concat([self._kept, sized.select(_COLUMNS)]))


def undominated(sizes: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that no other row equals or beats on racks, accelerators and minutes; of equals the first.

    Rows come in order of racks, then accelerators, then minutes, so that only an earlier one can beat a later one; a
    staircase of minutes over accelerators tells whether one does.
    """
    ordered = sizes.sort("racks", "accelerator_count", "minutes", "index", "data_parallel")
    stairs: list[tuple[int, float]] = []
    kept = []
    for accelerators, minutes in ordered.select("accelerator_count", "minutes").iter_rows():
        place = bisect_right(stairs, (accelerators, float("inf")))
        is_beaten = place > 0 and stairs[place - 1][1] <= minutes * (1 + _ROUNDING)
        kept.append(not is_beaten)
        if not is_beaten:
            place = bisect_left(stairs, (accelerators, minutes))
            while place < len(stairs) and stairs[place][1] >= minutes:
                del stairs[place]
            stairs.insert(place, (accelerators, minutes))
    return ordered.filter(pl.Series(kept, dtype=pl.Boolean))
