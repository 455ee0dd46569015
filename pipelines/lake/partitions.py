"""Writing one partition in bounded memory: batches are gated, sorted and appended to a draft, row group by row group.

Where the draft goes and what its manifest says belongs in `tables`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.lake.gate import QUARANTINE_SCHEMA, gate, typed
from pipelines.lake.row_groups import RowGroups
from pipelines.lake.storage import Draft
from pipelines.schemas import Table

BATCH_BYTES = 8 << 20
"""How much is gathered before a batch is gated and written; or `GROUP_ROWS` rows, since equal values weigh little."""

GROUP_ROWS = 50_000
"""Most rows of a row group."""

_LEVEL = 3


class ParquetDraft:
    """A Parquet file that grows by row groups. The same rows in the same groups give the same bytes."""

    def __init__(self, draft: Draft, schema: dict[str, pl.DataType]) -> None:
        self.draft = draft
        self.rows = 0
        self._writer: pq.ParquetWriter | None = pq.ParquetWriter(
            draft,
            pl.DataFrame(schema=schema).to_arrow().schema,
            compression="zstd",
            compression_level=_LEVEL,
            # Published bytes neither repeat nor compare: a dictionary or bounds of them would only double them.
            use_dictionary=[name for name, dtype in schema.items() if dtype != pl.Binary],
            write_statistics=[name for name, dtype in schema.items() if dtype != pl.Binary],
            store_schema=False,
            write_page_checksum=True,
        )

    def append(self, frame: pl.DataFrame) -> None:
        """Write the frame as one or more row groups."""
        if frame.height and self._writer is not None:
            self._writer.write_table(frame.to_arrow(), row_group_size=GROUP_ROWS)
            self.rows += frame.height

    def finish(self) -> None:
        """Write the footer."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def abandon(self) -> None:
        """Give the file up; the writer must not try to write its footer later, when the draft is closed."""
        if self._writer is not None:
            # Closing writes to a draft that may be what failed; nothing that it says tells more than the first error.
            with suppress(Exception):
                self._writer.close()
            self._writer.is_open = False
            self._writer = None

    @contextmanager
    def groups(self) -> Iterator[RowGroups]:
        """Open the finished file for reading, group by group."""
        with self.draft.reopen() as file:
            yield RowGroups(file)


class PartitionWriter:
    """Takes a partition's rows in any number of frames.

    Frames whose keys ascend from one to the next are written once. Where they do not, the rows are written a second
    time in order, with only their keys in memory, and rows of different frames that share a key are then found.
    """

    def __init__(self, table: Table, rows: Draft, new_quarantine: Callable[[], Draft]) -> None:
        self.quarantined_rows = 0
        self.duplicate_rows = 0
        self._table = table
        self._schema = {name: column.dtype for name, column in table.schema.columns().items()}
        self._rows = ParquetDraft(rows, self._schema)
        self._new_quarantine = new_quarantine
        self._quarantine: ParquetDraft | None = None
        self._pending: list[pl.DataFrame] = []
        self._pending_bytes = 0
        self._pending_rows = 0
        self._last_key: tuple[Any, ...] = ()
        self._in_order = True

    @property
    def rows(self) -> int:
        """Return how many rows were written so far."""
        return self._rows.rows

    @property
    def quarantine(self) -> Draft | None:
        """Return the draft of the rows that broke a rule, null where none did so far."""
        return self._quarantine.draft if self._quarantine else None

    def append(self, frame: pl.DataFrame) -> None:
        """Take a frame with the table's columns; one that is longer than a row group is gated piece by piece.

        Raises:
            ColumnsError: a column is missing, unknown or of another type.
        """
        for piece in typed(self._table, frame).iter_slices(GROUP_ROWS):
            self._pending.append(piece)
            self._pending_bytes += int(piece.estimated_size())
            self._pending_rows += piece.height
            if self._pending_bytes >= BATCH_BYTES or self._pending_rows >= GROUP_ROWS:
                self.flush()

    def flush(self) -> None:
        """Gate and write what was gathered."""
        if self._pending:
            frame = pl.concat(self._pending)
            self._pending, self._pending_bytes, self._pending_rows = [], 0, 0
            self._write(frame)

    def finish(self, new_draft: Callable[[], Draft]) -> Draft:
        """Write the rest and return the draft that holds the partition, a new one where rows came out of order."""
        self.flush()
        self._rows.finish()
        if not self._in_order:
            unordered = self._rows
            self._rows, self._last_key = ParquetDraft(new_draft(), self._schema), ()
            for frame in _in_key_order(unordered, self._table.schema.primary_key()):
                self._write(frame)
            self._rows.finish()
        if self._quarantine:
            self._quarantine.finish()
        return self._rows.draft

    def abandon(self) -> None:
        """Give up what is not finished."""
        self._rows.abandon()
        if self._quarantine:
            self._quarantine.abandon()

    def _write(self, frame: pl.DataFrame) -> None:
        gated = gate(self._table, frame)
        self._set_apart(gated.quarantine)
        self.quarantined_rows += gated.bad_count
        self.duplicate_rows += gated.duplicate_count
        if gated.good.is_empty():
            return
        keys = gated.good[self._table.schema.primary_key()]
        self._in_order &= self._last_key < keys.row(0)
        self._last_key = max(self._last_key, keys.row(-1))
        self._rows.append(gated.good)

    def _set_apart(self, quarantine: pl.DataFrame) -> None:
        if quarantine.height and self._quarantine is None:
            self._quarantine = ParquetDraft(self._new_quarantine(), dict(QUARANTINE_SCHEMA))
        if self._quarantine:
            self._quarantine.append(quarantine)


def _in_key_order(unordered: ParquetDraft, key: list[str]) -> Iterator[pl.DataFrame]:
    """Give the rows of a finished draft in key order, in frames that never part equal keys."""
    with unordered.groups() as groups:
        places = _places(groups, key)
        frame_rows = max(1, unordered.rows * BATCH_BYTES // max(1, groups.size_bytes))
        start = 0
        while start < places.height:
            stop = min(start + frame_rows, places.height)
            while stop < places.height and places["rank"][stop] == places["rank"][stop - 1]:
                stop += 1
            yield _gather(groups, places.slice(start, stop - start))
            start = stop


def _places(groups: RowGroups, key: list[str]) -> pl.DataFrame:
    """Return where each row stands, as group and row, sorted by key; `rank` is equal for equal keys."""
    keys = [
        frame.with_row_index("row").with_columns(group=pl.lit(index, pl.UInt32))
        for index, frame in enumerate(groups.iter_groups(key))
    ]
    ordered = pl.concat(keys).sort(*key, "group", "row")
    return ordered.select("group", "row", rank=pl.struct(key).rle_id())


def _gather(groups: RowGroups, places: pl.DataFrame) -> pl.DataFrame:
    """Return the rows at `places`, copied: a slice of a frame would keep the text of its whole row group."""
    tables = [
        groups.read_group_as_arrow(index).take(rows["row"].to_arrow())
        for (index,), rows in places.sort("group", "row").group_by("group", maintain_order=True)
    ]
    return pl.DataFrame(pl.from_arrow(pa.concat_tables(tables)))
