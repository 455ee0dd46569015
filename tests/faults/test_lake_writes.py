"""Writers killed, racing or out of disk: readers see the last good state, and the next write completes."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from pipelines.lake.queries import query
from pipelines.lake.storage import StorageError
from pipelines.lake.tables import Lake

KILLS = 10
ROUND = "training-v5.0"

WRITER = """
import sys
from pathlib import Path
import polars as pl
from pipelines.lake import partitions
from pipelines.lake.tables import Lake
from pipelines.lake.warehouse import build_warehouse
from pipelines.schemas import table
from pipelines.settings import Settings

partitions.BATCH_BYTES = 20_000
root, first, step, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
lake, sql = Lake.at(str(root / "lake")), Settings.from_environment({}).warehouse_sql
columns = table("core.steps").schema.columns()

def frame(version, file):
    rows = pl.DataFrame({"sequence": range(-2, 200)}, schema={"sequence": pl.Int64}).with_columns(
        round=pl.lit("training-v5.0"), source_path=pl.lit(f"p{file}"), source_sha256=pl.lit("s"), run_id=pl.lit("r"),
        line=pl.col("sequence"), step_number=pl.lit(float(version)),
    )
    return rows.with_columns(
        pl.lit(None, column.dtype).alias(name) for name, column in columns.items() if name not in rows
    ).select(list(columns))

for version in range(first, last, step):
    with lake.writer("core.steps", "training-v5.0", inputs={"v": str(version)}, code_version="1") as pending:
        for file in (range(10) if version % 2 else reversed(range(10))):
            pending.append(frame(version, file))
    build_warehouse(lake, root / "warehouse.duckdb", {"v": str(version)}, sql_folder=sql)
    print(version, flush=True)
"""

GOOD_ROWS = 10 * 199
"""Lines start at 1 by rule: of each file's rows from -2 to 199, three break it."""


@contextmanager
def writer(root: Path, first: int, step: int, last: int = 1_000_000) -> Iterator[subprocess.Popen[str]]:
    """Run a process that writes one version of a partition and of the warehouse after the other."""
    arguments = [sys.executable, "-c", WRITER, str(root), str(first), str(step), str(last)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def check_last_good_state(root: Path) -> int:
    """Assert that lake and warehouse each hold one whole version, and return the lake's."""
    rows = Lake.at(str(root / "lake")).read("core.steps")
    assert rows.height == GOOD_ROWS
    assert rows.select("source_path", "sequence").is_unique().all()
    assert rows["step_number"].n_unique() == 1
    if (root / "warehouse.duckdb").exists():
        assert query(root / "warehouse.duckdb", "SELECT count(*), count(DISTINCT step_number) FROM core.steps").row(
            0
        ) == (
            GOOD_ROWS,
            1,
        )
    return int(rows["step_number"][0])


def drafts(root: Path) -> list[Path]:
    """Return what unfinished writers left."""
    return list(root.rglob("*.draft"))


def test_writers_killed_at_random_points(tmp_path: Path) -> None:
    dice = random.Random(5)
    version = 0
    for _kill in range(KILLS):
        with writer(tmp_path, version + 1, 1) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(dice.uniform(0, 0.25))
            process.send_signal(signal.SIGKILL)
            process.wait()
        found = check_last_good_state(tmp_path)
        assert found > version
        version = found
        manifest = Lake.at(str(tmp_path / "lake")).manifest("core.steps", ROUND)
        assert manifest is None or manifest.inputs == {"v": str(version)}
    with writer(tmp_path, version + 1, 1, version + 2) as process:
        assert process.wait(timeout=200) == 0
    assert check_last_good_state(tmp_path) == version + 1
    lake = Lake.at(str(tmp_path / "lake"))
    assert lake.is_fresh("core.steps", ROUND, inputs={"v": str(version + 1)}, code_version="1")
    assert lake.read_quarantine("core.steps", ROUND).height == 30
    assert drafts(tmp_path) == []


def test_two_writers_of_one_partition(tmp_path: Path) -> None:
    with writer(tmp_path, 1, 2, 11) as odd, writer(tmp_path, 2, 2, 12) as even:
        seen = 0
        while odd.poll() is None or even.poll() is None:
            if (tmp_path / "lake" / "core" / "steps" / f"{ROUND}.parquet").exists():
                check_last_good_state(tmp_path)
                seen += 1
        for process in (odd, even):
            _, complaints = process.communicate()
            assert (process.returncode, complaints) == (0, "")
    assert seen > 3
    version = check_last_good_state(tmp_path)
    assert version in (9, 10)
    lake = Lake.at(str(tmp_path / "lake"))
    assert lake.is_fresh("core.steps", ROUND, inputs={"v": str(version)}, code_version="1")
    assert drafts(tmp_path) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a file system of 256 KiB, or skip where one cannot be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_leaves_the_last_good_state(small_disk: Path) -> None:
    lake = Lake.at(str(small_disk / "lake"))
    columns = {"round": "r", "commit": "c", "kind": "k", "source": "s", "retrieved_at": "t", "sha256": "x"}
    noise = random.Random(1).randbytes(1 << 20)

    def row(name: str, content: bytes) -> pl.DataFrame:
        full = columns | {"path": name, "content_path": name, "size_bytes": len(content), "content": content}
        return pl.DataFrame([full | {"licence": None}]).select(lake.read("raw.files").columns)

    lake.write("raw.files", row("a", b"small"), "r", inputs={}, code_version="1")
    with pytest.raises(StorageError, match="the disk is full"):
        lake.write("raw.files", row("b", noise), "r", inputs={}, code_version="1")
    assert lake.read("raw.files")["path"].to_list() == ["a"]
    assert drafts(small_disk) == []
    lake.write("raw.files", row("c", b"small"), "r", inputs={}, code_version="1")
    assert lake.read("raw.files")["path"].to_list() == ["c"]
