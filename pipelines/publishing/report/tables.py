"""What pages read: a table of the lake where there is one with rows, else the sentence that says why not."""

from __future__ import annotations

from functools import cache

import polars as pl

from pipelines.lake.tables import Lake
from pipelines.schemas import TABLES

_NEEDS = {
    "needed_low_gigabytes_per_second": "nic_needed_gigabytes_per_second_low",
    "needed_gigabytes_per_second": "nic_needed_gigabytes_per_second_mid",
    "needed_high_gigabytes_per_second": "nic_needed_gigabytes_per_second_high",
    "nic_gigabytes_per_second": "nic_available_gigabytes_per_second",
    "verdict": "nic_verdict",
}


class AbsentTableError(Exception):
    """A page cannot be filled; the message is what it says instead."""


class Tables:
    """The tables of a lake, each read once."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self._read = cache(self._read_sorted)

    def need(self, name: str) -> pl.DataFrame:
        """Return a table sorted by its key.

        Raises:
            AbsentTableError: there is no such table, or it has no row.
        """
        if name not in TABLES:
            raise AbsentTableError(f"Nothing to show: {name} is a table that this version does not make.")
        frame = self._read(name)
        if frame.is_empty():
            raise AbsentTableError(f"Nothing to show: {name} has no row, the rounds read so far give none.")
        return frame

    def want(self, name: str) -> pl.DataFrame | None:
        """Return the table, or None where `need` would raise."""
        try:
            return self.need(name)
        except AbsentTableError:
            return None

    def _read_sorted(self, name: str) -> pl.DataFrame:
        return self.lake.read(name).sort(TABLES[name].schema.primary_key())


def nic_needs(tables: Tables) -> pl.DataFrame | None:
    """Return the language-model results whose NIC need is known, in the columns of `mart.reconciled_runs`.

    `mart.bandwidth` also has results that no prediction is made for, such as those whose launch states no precision.
    """
    bandwidth = tables.want("mart.bandwidth")
    runs = tables.want("mart.reconciled_runs") if bandwidth is None else bandwidth.rename(_NEEDS)
    return None if runs is None else runs.filter(pl.col("nic_needed_gigabytes_per_second_mid").is_not_null())
