"""What the logs of a result say of its launch, one row per result.

What published files say belongs in `_launch_files` and `_launch_settings`.
"""

from __future__ import annotations

import re
from typing import Any

import polars as pl

_AGREED = (
    "global_batch_size",
    "gradient_accumulation_steps",
    "precision",
    "tensor_parallel",
    "pipeline_parallel",
    "context_parallel",
    "expert_parallel",
    "micro_batch",
)


def logged_results(runs: pl.DataFrame) -> list[dict[str, Any]]:
    """Return what the logs of each result agree on, null where they differ, and the configurations that they name.

    Args:
        runs: A frame of `core.runs`.

    Returns:
        One row for every round, submitter folder, system and benchmark, sorted by them; `named_by_logs` holds the file
        names, without folders, of all configurations that its logs name.
    """

    def agreed(name: str) -> pl.Expr:
        values = pl.col(name).drop_nulls()
        return pl.when(values.n_unique() == 1).then(values.first()).alias(name)

    named = pl.col("config_filename").drop_nulls().unique(maintain_order=True)
    # A system can have a strong and a weak result of one benchmark; the launch is told once, for the strong one.
    ordered = runs.sort("scaling_mode", "source_path")
    rows = (
        ordered.group_by("round", "submitter_folder", "system", "benchmark", maintain_order=True)
        .agg(pl.col("result_id", "source_path", "source_sha256").first(), named, *(agreed(name) for name in _AGREED))
        .sort("round", "submitter_folder", "system", "benchmark")
        .to_dicts()
    )
    for row in rows:
        row["named_by_logs"] = frozenset(_file_name(text) for text in row["config_filename"] if text.strip())
    return rows


def _file_name(path: str) -> str:
    """Return the file that a path on the submitter's machine names."""
    return re.split(r"[/\\]", path.strip())[-1]
