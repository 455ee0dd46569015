"""Reading a Parquet file of the lake, row group by row group, by the thread that asks.

Which file holds what belongs in `tables`; how one comes to be, in `partitions`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq


class RowGroups:
    """The row groups of an open Parquet file, counted from 0.

    Arrow's own threads take no part: they let go of a Python file's bytes some time after the rows are handed out,
    and an interpreter that ends meanwhile is aborted, or waits forever (apache/arrow issues 34314 and 50482).
    """

    def __init__(self, file: BinaryIO) -> None:
        """Read the footer.

        Raises:
            pyarrow.ArrowException: the file is not a whole Parquet file; so too for all that is read of it.
        """
        self._file = pq.ParquetFile(file, pre_buffer=False, page_checksum_verification=True)

    @property
    def schema(self) -> pa.Schema:
        """Return the columns."""
        return self._file.schema_arrow

    @property
    def row_count(self) -> int:
        """Return the rows of all groups."""
        return int(self._file.metadata.num_rows)

    @property
    def row_counts(self) -> list[int]:
        """Return the rows of each group."""
        metadata = self._file.metadata
        return [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]

    @property
    def size_bytes(self) -> int:
        """Return what all groups take, decompressed but encoded."""
        metadata = self._file.metadata
        return sum(metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups))

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return all rows."""
        return _frame(self._file.read(columns, use_threads=False))

    def read_group(self, index: int, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return the rows of a group."""
        return _frame(self.read_group_as_arrow(index, columns))

    def read_group_as_arrow(self, index: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows of a group as Arrow holds them."""
        return self._file.read_row_group(index, columns, use_threads=False)

    def iter_groups(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """Give the rows of one group after the other."""
        for index in range(self._file.num_row_groups):
            yield self.read_group(index, columns)

    def iter_arrow_batches(self, batch_rows: int, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Give all rows in batches of at most `batch_rows`."""
        yield from self._file.iter_batches(batch_size=batch_rows, columns=columns, use_threads=False)


def _frame(rows: pa.Table) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(rows))
