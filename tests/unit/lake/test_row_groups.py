"""Row groups: what is read of a file, and by whom."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from pipelines.lake.row_groups import RowGroups

ROWS = pl.DataFrame({"name": [f"n{index}" for index in range(10)], "seconds": [index / 4 for index in range(10)]})

THREADS = """
import json, sys
from pathlib import Path
import pyarrow.parquet as pq
from pipelines.lake.row_groups import RowGroups

def thread_count():
    # jemalloc starts some of its own, and names them.
    names = [(task / "comm").read_text() for task in Path("/proc/self/task").iterdir()]
    return len([name for name in names if "jemalloc" not in name])

before = thread_count()
with open(sys.argv[1], "rb") as file:
    groups = RowGroups(file)
    tables = [groups.read_group_as_arrow(index) for index in range(len(groups.row_counts))]
    rows = sum(batch.num_rows for batch in groups.iter_arrow_batches(3, ["name", "seconds"]))
alone = thread_count()
pq.ParquetFile(sys.argv[1]).read()
print(json.dumps([before, alone, thread_count(), rows]))
"""


@pytest.fixture
def written() -> bytes:
    """Give a file of three row groups: 4, 4 and 2 rows."""
    buffer = io.BytesIO()
    pq.write_table(ROWS.to_arrow(), buffer, row_group_size=4)
    return buffer.getvalue()


def test_rows_are_read_whole_by_group_and_by_batch(written: bytes) -> None:
    groups = RowGroups(io.BytesIO(written))
    assert groups.schema.names == ["name", "seconds"]
    assert (groups.row_count, groups.row_counts) == (10, [4, 4, 2])
    assert groups.size_bytes > 0
    assert_frame_equal(groups.read(), ROWS)
    assert_frame_equal(groups.read(["seconds"]), ROWS.select("seconds"))
    assert_frame_equal(groups.read_group(1), ROWS[4:8])
    assert groups.read_group_as_arrow(2, ["name"]).to_pydict() == {"name": ["n8", "n9"]}
    assert [frame.height for frame in groups.iter_groups()] == [4, 4, 2]
    assert_frame_equal(pl.concat(groups.iter_groups(["name"])), ROWS.select("name"))
    assert [batch.num_rows for batch in groups.iter_arrow_batches(3, ["name", "seconds"])] == [3, 3, 3, 1]


def test_what_is_not_whole_is_refused(written: bytes) -> None:
    with pytest.raises(pa.ArrowException):
        RowGroups(io.BytesIO(written[:-9]))


@pytest.mark.skipif(sys.platform != "linux", reason="threads of a process are counted in /proc")
def test_the_reader_alone_touches_the_file(written: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Hold that no thread of Arrow's is left with bytes of a Python file when the interpreter ends."""
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    path.write_bytes(written)
    done = subprocess.run([sys.executable, "-c", THREADS, str(path)], capture_output=True, text=True, check=True)
    before, alone, with_arrows_threads, rows = json.loads(done.stdout)
    assert rows == ROWS.height
    assert alone == before
    assert with_arrows_threads > alone
