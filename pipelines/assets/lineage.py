"""Which column was made from which, for Dagster: columns that keep their name, and those named here that do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import dagster as dg

from pipelines.schemas import TABLES, table

_WRITTEN_ANEW = {"explanation", "verdict", "evidence", "severity", "finding_id", "kind", "expected", "found", "subject"}
"""Columns that many tables have, each with words of its own."""

_MADE_FROM: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("core.runs", "source_path"): ("raw.files.path",),
    ("core.runs", "source_sha256"): ("raw.files.sha256",),
    ("core.systems", "source_path"): ("raw.files.path",),
    ("core.launches", "source_path"): ("raw.files.path",),
    ("mart.runs", "raw_minutes"): ("core.runs.run_start_ms", "core.runs.run_stop_ms"),
    ("mart.results", "raw_minutes"): ("mart.runs.raw_minutes", "mart.runs.is_kept"),
    ("mart.results", "run_count"): ("mart.runs.source_path",),
    ("mart.results", "counted_run_count"): ("mart.runs.is_counted",),
    ("mart.results", "rcp_factor"): ("core.scaling_factors.rcp_factor",),
    ("mart.results", "score_minutes"): ("mart.runs.raw_minutes", "core.scaling_factors.rcp_factor"),
    ("mart.rack_audit", "racks_stated"): ("core.systems.system_name",),
    ("mart.rack_audit", "active_per_rack"): ("core.systems.accelerator_count", "core.systems.system_name"),
    ("mart.reconciled_runs", "predicted_minutes"): (
        "mart.results.expected_samples",
        "mart.results.global_batch_size",
        "core.runs.step_median_seconds",
    ),
    ("mart.reconciled_runs", "residual_percent"): ("mart.results.score_minutes",),
}
"""Table and column to the columns that its figure is made from, for those that people ask about most."""


def tables_read(inputs: Iterable[str]) -> tuple[str, ...]:
    """Return the tables among a manifest's inputs, which are named table/partition."""
    return tuple(dict.fromkeys(name for name, _, _ in (entry.partition("/") for entry in inputs) if name in TABLES))


def column_lineage(name: str, reads: tuple[str, ...]) -> dg.TableColumnLineage:
    """Return what each column of a table is made from, among the tables that were read for it."""
    found = {column: _deps(name, column, reads) for column in table(name).schema.column_names()}
    return dg.TableColumnLineage({column: deps for column, deps in found.items() if deps})


def lineage_table(lineage: dg.TableColumnLineage) -> dg.TableMetadataValue:
    """Return the same as a table to read: the UI of Dagster's open edition draws no lineage of columns."""
    rows = [
        {"column": column, "made_from": ", ".join(_told(dep) for dep in deps)}
        for column, deps in lineage.deps_by_column.items()
    ]
    columns = [dg.TableColumn("column", "string"), dg.TableColumn("made_from", "string")]
    return dg.MetadataValue.table([dg.TableRecord(row) for row in rows], schema=dg.TableSchema(columns))


def _told(dep: dg.TableColumnDep) -> str:
    return f"{'.'.join(dep.asset_key.path)}.{dep.column_name}"


def _deps(name: str, column: str, reads: tuple[str, ...]) -> list[dg.TableColumnDep]:
    told = _MADE_FROM.get((name, column))
    if told is not None:
        return [_dep(*source.rpartition(".")[::2]) for source in told if source.rpartition(".")[0] in reads]
    if column in _WRITTEN_ANEW:
        return []
    return [_dep(read, column) for read in reads if read != name and column in TABLES[read].schema.column_names()]


def _dep(name: str, column: str) -> dg.TableColumnDep:
    return dg.TableColumnDep(asset_key=dg.AssetKey(name.split(".")), column_name=column)
