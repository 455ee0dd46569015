"""How a table of the registry looks in Dagster: description, columns, kinds, row counts, checks of its structure."""

from __future__ import annotations

from datetime import timedelta
from itertools import chain
from typing import Any

import dagster as dg
import dataframely as dy

from pipelines.assets.lineage import column_lineage, lineage_table, tables_read
from pipelines.lake.manifests import Manifest
from pipelines.lake.tables import Lake
from pipelines.publishing.age import MONTHS
from pipelines.schemas import Table, table

ROUNDS = dg.DynamicPartitionsDefinition(name="rounds")
"""One partition a round; a refresh adds the rounds that it reads."""

STRUCTURE = "structure"
"""Name of the check that every table has: did each row keep the schema's rules?"""

_KIND_OF_LAYER = {"raw": {"parquet"}, "core": {"parquet", "polars"}, "mart": {"parquet", "polars"}}
_OWNER_OF_LAYER = {"raw": "team:sources", "core": "team:parsing", "mart": "team:reconciling"}
"""The room of the package whose people answer for a layer."""

CALENDAR_OF_ROUNDS = dg.FreshnessPolicy.cron(
    deadline_cron=f"0 0 8 {','.join(str(month % 12 + 1) for month in sorted(chain(*MONTHS.values())))} *",
    lower_bound_delta=timedelta(days=37),
    timezone="UTC",
)
"""A round appears in its month; a week after that month it should be here."""


def asset_key(name: str) -> dg.AssetKey:
    """Return the key of a table: its layer and its short name."""
    entry = table(name)
    return dg.AssetKey([entry.layer, entry.short_name])


def asset_spec(name: str, reads: tuple[str, ...], code_version: str | None = None) -> dg.AssetSpec:
    """Return the spec of a table: what it is, which columns it has, which tables it is made from."""
    entry = table(name)
    return dg.AssetSpec(
        key=asset_key(name),
        deps=[asset_key(read) for read in reads],
        group_name=entry.layer,
        description=_description(entry),
        kinds=_KIND_OF_LAYER[entry.layer],
        owners=[_OWNER_OF_LAYER[entry.layer]],
        freshness_policy=CALENDAR_OF_ROUNDS,
        metadata={
            "dagster/column_schema": column_schema(entry),
            "dagster/table_name": name,
            "primary_key": ", ".join(entry.schema.primary_key()),
        },
        code_version=code_version,
        partitions_def=ROUNDS if entry.by_round else None,
    )


def structure_spec(name: str) -> dg.AssetCheckSpec:
    """Return the spec of a table's structural check."""
    return dg.AssetCheckSpec(
        STRUCTURE,
        asset=asset_key(name),
        description="Every row keeps the rules of the schema. Rows that do not are in quarantine; the rest are here.",
    )


def column_schema(entry: Table) -> dg.TableSchema:
    """Return the columns with their types, meanings and units."""
    return dg.TableSchema([_column(name, column) for name, column in entry.schema.columns().items()])


def materialized(name: str, manifest: Manifest, **more: Any) -> dg.MaterializeResult[None]:
    """Return what Dagster keeps of a partition that was written."""
    lineage = column_lineage(name, tables_read(manifest.inputs))
    return dg.MaterializeResult(
        asset_key=asset_key(name),
        metadata={
            "dagster/row_count": manifest.rows,
            "dagster/column_lineage": lineage,
            "size_bytes": manifest.size_bytes,
            "rows_in_quarantine": manifest.quarantined_rows,
            "sha256": manifest.sha256,
            "inputs": dg.MetadataValue.json(manifest.inputs),
            "written_at": manifest.written_at,
            **more,
            "columns_made_from": lineage_table(lineage),
        },
    )


def structure_result(lake: Lake, name: str, manifest: Manifest) -> dg.AssetCheckResult:
    """Return the structural check of a partition that was written, with the rules that its bad rows broke."""
    metadata: dict[str, Any] = {"rows_in_quarantine": manifest.quarantined_rows}
    if manifest.quarantined_rows:
        broken = lake.read_quarantine(name, manifest.partition).group_by("column", "rule").len().sort("column", "rule")
        metadata["broken_rules"] = dg.MetadataValue.table(
            [
                dg.TableRecord({"column": column or "", "rule": rule, "rows": rows})
                for column, rule, rows in broken.iter_rows()
            ],
            schema=dg.TableSchema(
                [dg.TableColumn("column", "string"), dg.TableColumn("rule", "string"), dg.TableColumn("rows", "int")]
            ),
        )
    return dg.AssetCheckResult(
        asset_key=asset_key(name),
        check_name=STRUCTURE,
        passed=not manifest.quarantined_rows,
        severity=dg.AssetCheckSeverity.WARN,
        metadata=metadata,
    )


def _description(entry: Table) -> str:
    return "\n\n".join(" ".join(part.split()) for part in (entry.schema.__doc__ or "").split("\n\n"))


def _column(name: str, column: dy.Column) -> dg.TableColumn:
    unit = (column.metadata or {}).get("unit")
    return dg.TableColumn(
        name,
        type=str(column.dtype),
        description=column.description,
        constraints=dg.TableColumnConstraints(
            nullable=column.nullable and not column.primary_key,
            other=["primary key"] if column.primary_key else [],
        ),
        tags={"unit": unit} if unit and unit.isidentifier() else {},
    )
