"""The tables: columns, types, units, keys and row rules.

One class a table, the single source for the gate on write, Dagster's column schema, DuckDB's comments and the
data dictionary. How a table is computed does not belong here.
"""

from pipelines.schemas.registry import TABLES, Table, table

__all__ = ["TABLES", "Table", "table"]
