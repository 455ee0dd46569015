"""Rows that broke a rule of their table, counted over the lake: what a check can tell of structure.

How a row gets there belongs in `lake.gate`; that each table's rows are shown on its asset, in `assets.tables`.
"""

from __future__ import annotations

import polars as pl

from pipelines.lake.tables import Lake
from pipelines.quality.outcomes import Outcome
from pipelines.schemas import TABLES

QUARANTINE = "quarantine"
"""Name under which a station is given these rows; no table of the lake has it."""

STRUCTURE = "structure"
"""Name of the check that a table with such rows fails."""

SCHEMA = {
    "table": pl.String,
    "partition": pl.String,
    "row_count": pl.Int64,
    "rule": pl.String,
    "column": pl.String,
    "row": pl.String,
}

_NOT_YET_WRITTEN = ("mart.checks", "mart.findings")
"""Tables that are written from what is found here."""

_MEANING = "each row keeps the rules of the table's schema; one that does not is kept in quarantine, as it was read"


def quarantine_inputs(lake: Lake) -> dict[str, str]:
    """Return the SHA-256 of each quarantine that holds rows."""
    return {
        f"{name}__quarantine/{partition}": manifest.quarantine_sha256
        for name, partition in _partitions(lake)
        for manifest in [lake.manifest(name, partition)]
        if manifest is not None and manifest.quarantine_sha256
    }


def read_quarantine(lake: Lake) -> pl.DataFrame:
    """Return every broken rule: `table, partition, row_count` (rows that landed), `rule, column, row` (as JSON)."""
    frames = [pl.DataFrame(schema=SCHEMA)]
    for name, partition in _partitions(lake):
        manifest = lake.manifest(name, partition)
        if manifest is not None and manifest.quarantined_rows:
            broken = lake.read_quarantine(name, partition).with_columns(
                table=pl.lit(name), partition=pl.lit(partition), row_count=pl.lit(manifest.rows, dtype=pl.Int64)
            )
            frames.append(broken.select(list(SCHEMA)))
    return pl.concat(frames)


def structure_outcomes(quarantine: pl.DataFrame) -> list[Outcome]:
    """Return one failed check for each table with rows in quarantine; tables without have none.

    Args:
        quarantine: as from `read_quarantine`.
    """
    return [_outcome(str(name), rows) for (name,), rows in quarantine.group_by("table", maintain_order=True)]


def _outcome(name: str, broken: pl.DataFrame) -> Outcome:
    bad = broken.select("partition", "row").n_unique()
    landed = int(broken.unique("partition")["row_count"].sum())
    return Outcome(
        table=name,
        name=STRUCTURE,
        severity="warning",
        status="failed",
        meaning=_MEANING,
        checked_count=landed + bad,
        failed_count=bad,
        rows=broken.select("partition", "column", "rule", "row"),
    )


def _partitions(lake: Lake) -> list[tuple[str, str]]:
    return [(name, partition) for name in TABLES if name not in _NOT_YET_WRITTEN for partition in lake.partitions(name)]
