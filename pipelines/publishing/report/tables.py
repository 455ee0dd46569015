"""What pages read: a table of the lake where there is one with rows, else the sentence that says why not."""

from __future__ import annotations

from functools import cache

import polars as pl

from pipelines.lake.tables import Lake
from pipelines.schemas import TABLES


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
