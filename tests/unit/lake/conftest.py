"""Frames for the lake's tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines.lake.tables import Lake
from pipelines.schemas import table


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Give an empty lake."""
    return Lake.at(str(tmp_path / "lake"))


@pytest.fixture
def sources() -> Callable[..., pl.DataFrame]:
    """Give a function that makes rows of `core.sources`, each from the columns that matter."""

    def make(*rows: dict[str, Any]) -> pl.DataFrame:
        usual = {
            "round": "training-v5.0",
            "source": "mlcommons/training_results_v5.0",
            "commit": "c",
            "retrieved_at": "2026-06-01T12:00:00+00:00",
            "licence": None,
            "file_count": 1,
            "size_bytes": 2,
            "skipped_count": None,
        }
        schema = {name: column.dtype for name, column in table("core.sources").schema.columns().items()}
        return pl.DataFrame([usual | row for row in rows], schema=schema)

    return make


@pytest.fixture
def steps() -> Callable[..., pl.DataFrame]:
    """Give a function that makes `count` rows of `core.steps` for one file."""

    def make(path: str, count: int, *, seconds: float = 1.0) -> pl.DataFrame:
        columns = table("core.steps").schema.columns()
        frame = pl.DataFrame({"sequence": range(count)}, schema={"sequence": pl.Int64}).with_columns(
            pl.lit("training-v5.0").alias("round"),
            pl.lit(path).alias("source_path"),
            pl.lit("0" * 64).alias("source_sha256"),
            pl.lit(path).alias("run_id"),
            pl.lit(seconds).alias("step_seconds"),
        )
        missing = [pl.lit(None, column.dtype).alias(name) for name, column in columns.items() if name not in frame]
        return frame.with_columns(missing).select(list(columns))

    return make
