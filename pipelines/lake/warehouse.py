"""The warehouse: one DuckDB file built anew from the lake and swapped in.

Nobody writes to the file that others read. What the tables mean belongs in `schemas`, the views in `sql/warehouse`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

from pipelines.lake.manifests import columns_sha256
from pipelines.lake.queries import SEALED, WITHOUT_PROGRESS, interruptible, query
from pipelines.lake.storage import LakeError, publish_file, scratch_folder
from pipelines.lake.tables import Lake
from pipelines.schemas import TABLES, Table

STORAGE_VERSION = "v1.2.0"
"""Oldest DuckDB that opens the file."""

LAYOUT_VERSION = "2"
"""Raised when the file is built in another way from the same lake."""

_BUILD_LIMITS: dict[str, str | bool | int | float | list[str]] = {"memory_limit": "64MB", "threads": "1"}
"""A second thread saves no time here and takes twice the memory."""

_SAME_BYTES = "SET disabled_compression_methods = 'fsst'"
"""FSST draws samples: with it equal rows give other bytes. As an option of the connection it has no effect."""

MAX_ROWS = 20_000_000
"""Longest table that is carried where nothing else is said, as in a release, which no setting may change."""

_BATCH_ROWS = 2048
_TYPES: dict[type[pl.DataType], str] = {
    pl.String: "VARCHAR",
    pl.Int64: "BIGINT",
    pl.Float64: "DOUBLE",
    pl.Boolean: "BOOLEAN",
}

_CHANGES = {
    "table_name": "Table that differs",
    "change": "added, removed or changed; column_added, column_removed, not_comparable",
    "row_key": "Key of the row, its columns joined by a bar",
    "column_name": "Column that differs",
    "old_value": "Value before, as text",
    "new_value": "Value after, as text",
}
CHANGES = tuple(_CHANGES)
"""Columns of table `changes`, all text."""


def build_warehouse(
    lake: Lake,
    path: Path,
    about: Mapping[str, str],
    *,
    sql_folder: Path,
    max_rows: int = MAX_ROWS,
    changes: pl.DataFrame | None = None,
) -> None:
    """Build the warehouse beside `path` and swap it in; who reads the old file goes on reading it.

    Args:
        lake: Where the tables are; one that is not there is an empty table.
        path: The file to put in place.
        about: What to say of the whole in table `about`, beside what is found here: versions, row counts, tables
            left out for their length.
        sql_folder: The `*.sql` files of views and macros, run in the order of their names.
        max_rows: Longest table that is carried.
        changes: What differs from the warehouse that is replaced, with columns `CHANGES`.

    Raises:
        StorageError: the file cannot be written; the one in place stays.
        LakeError: a table cannot be read, or a view does not fit the tables.
    """
    with scratch_folder(path) as folder:
        draft = folder / "warehouse.duckdb"
        try:
            with _building(draft, folder) as connection:
                _write_changes(connection, changes)
                _fill(connection, lake, about, sql_folder, max_rows)
        except duckdb.Error as error:
            raise LakeError(f"{path}: cannot be built: {error}") from error
        publish_file(draft, path)


def warehouse_is_fresh(lake: Lake, path: Path, *, sql_folder: Path, max_rows: int = MAX_ROWS) -> bool:
    """Return whether building the warehouse again would change nothing but what its caller says of it."""
    if not path.is_file():
        return False
    try:
        told = query(path, "SELECT value FROM about WHERE key = 'lake_sha256'")
    except LakeError:
        return False
    return told["value"].to_list() == [_lake_sha256(lake, sql_folder, max_rows)]


@contextmanager
def _building(draft: Path, folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    config = SEALED | _BUILD_LIMITS | {"temp_directory": str(folder / "spill")}
    with duckdb.connect(config=config) as connection, interruptible(connection):
        connection.execute(WITHOUT_PROGRESS)
        connection.execute(_SAME_BYTES)
        connection.execute(f"ATTACH {_literal(str(draft))} AS warehouse (STORAGE_VERSION '{STORAGE_VERSION}')")
        connection.execute("USE warehouse")
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")
        connection.execute("USE memory")
        connection.execute("DETACH warehouse")


def _fill(
    connection: duckdb.DuckDBPyConnection, lake: Lake, about: Mapping[str, str], sql_folder: Path, max_rows: int
) -> None:
    facts = {
        "warehouse_layout": LAYOUT_VERSION,
        "duckdb_version": duckdb.__version__,
        "lake_sha256": _lake_sha256(lake, sql_folder, max_rows),
    }
    for schema in sorted({entry.layer for entry in TABLES.values()}):
        connection.execute(f"CREATE SCHEMA {schema}")
    for entry in TABLES.values():
        connection.execute(_create(entry))
        rows = _row_count(lake, entry)
        if rows <= max_rows:
            _copy(connection, lake, entry)
            facts[f"rows.{entry.name}"] = str(rows)
        else:
            facts[f"left_out.{entry.name}"] = f"{rows} rows: more than {max_rows} (RACKRECON_MAX_WAREHOUSE_ROWS)"
        for statement in _comments(entry):
            connection.execute(statement)
    _write_about(connection, {**about, **facts})
    for file in sorted(sql_folder.glob("*.sql")):
        connection.execute(file.read_text("utf-8"))
    for statement in _comments_of_views(connection):
        connection.execute(statement)


def _create(entry: Table) -> str:
    columns = ", ".join(
        f"{_name(name)} {_TYPES[type(column.dtype)]}{'' if column.nullable else ' NOT NULL'}"
        for name, column in _columns(entry).items()
    )
    return f"CREATE TABLE {entry.layer}.{_name(entry.short_name)} ({columns})"


def _comments(entry: Table) -> Iterator[str]:
    place = f"{entry.layer}.{_name(entry.short_name)}"
    yield f"COMMENT ON TABLE {place} IS {_literal(entry.description)}"
    for name, column in _columns(entry).items():
        unit = (column.metadata or {}).get("unit")
        text = f"{column.description} [{unit}]" if unit else column.description or ""
        yield f"COMMENT ON COLUMN {place}.{_name(name)} IS {_literal(text)}"


def _comments_of_views(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """Give a view's column that says nothing of itself what it says in the table or view that is most like it."""
    columns: dict[tuple[str, str], dict[str, str | None]] = {}
    for schema, relation, column, comment in connection.execute(_COLUMN_COMMENTS).fetchall():
        columns.setdefault((schema, relation), {})[column] = comment
    views = connection.execute("SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    for view in sorted(views):
        own = columns[view]
        others = [told for name, told in columns.items() if name != view]
        most_alike_first = sorted(others, key=lambda told: -len(own.keys() & told.keys()))
        for column in sorted(name for name, comment in own.items() if comment is None):
            said = [told[column] for told in most_alike_first if told.get(column)]
            if said:
                place = f"{view[0]}.{_name(view[1])}.{_name(column)}"
                yield f"COMMENT ON COLUMN {place} IS {_literal(said[0] or '')}"


_COLUMN_COMMENTS = "SELECT schema_name, table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal"


def _copy(connection: duckdb.DuckDBPyConnection, lake: Lake, entry: Table) -> None:
    """Insert a table's rows a batch at a time, so that none of its partitions is ever in memory."""
    columns = list(_columns(entry))
    place = f"{entry.layer}.{_name(entry.short_name)}"
    for partition in lake.partitions(entry.name):
        with lake.open_partition(entry.name, partition) as groups:
            schema = pa.schema([groups.schema.field(name) for name in columns])
            batches = groups.iter_arrow_batches(_BATCH_ROWS, columns)
            connection.register("batches", pa.RecordBatchReader.from_batches(schema, batches))
            connection.execute(f"INSERT INTO {place} SELECT * FROM batches")  # noqa: S608 - names of the registry
            connection.unregister("batches")


def _write_about(connection: duckdb.DuckDBPyConnection, facts: Mapping[str, str]) -> None:
    connection.execute("CREATE TABLE main.about (key VARCHAR PRIMARY KEY, value VARCHAR NOT NULL)")
    connection.execute("COMMENT ON COLUMN main.about.key IS 'What is told, such as newest_training_round_here'")
    connection.execute("COMMENT ON COLUMN main.about.value IS 'What it is, as text'")
    connection.execute("COMMENT ON TABLE main.about IS 'What this file holds, how old it is, what was left out'")
    for key, value in sorted(facts.items()):
        connection.execute("INSERT INTO main.about VALUES ($key, $value)", {"key": key, "value": value})


def _write_changes(connection: duckdb.DuckDBPyConnection, changes: pl.DataFrame | None) -> None:
    columns = ", ".join(f"{_name(name)} VARCHAR" for name in CHANGES)
    connection.execute(f"CREATE TABLE main.changes ({columns})")
    connection.execute(
        "COMMENT ON TABLE main.changes IS 'Rows of the answers that the last refresh added, removed or changed; "
        "column and values are null for a whole row; about says since when'"
    )
    for name, text in _CHANGES.items():
        connection.execute(f"COMMENT ON COLUMN main.changes.{_name(name)} IS {_literal(text)}")
    if changes is not None and changes.height:
        connection.register("changes_frame", changes.select(CHANGES).to_arrow())
        connection.execute("INSERT INTO main.changes SELECT * FROM changes_frame")
        connection.unregister("changes_frame")


def _columns(entry: Table) -> dict[str, Any]:
    """Return the columns but those of bytes, which stay in the lake: they would be most of the warehouse."""
    return {name: column for name, column in entry.schema.columns().items() if column.dtype != pl.Binary}


def _row_count(lake: Lake, entry: Table) -> int:
    total = 0
    for partition in lake.partitions(entry.name):
        with lake.open_partition(entry.name, partition) as groups:
            total += groups.row_count
    return total


def _lake_sha256(lake: Lake, sql_folder: Path, max_rows: int) -> str:
    """Return a digest of everything that a warehouse is built from."""
    digest = hashlib.sha256(f"{LAYOUT_VERSION} {duckdb.__version__} {max_rows}\n".encode())
    for entry in TABLES.values():
        digest.update(f"{entry.name} {columns_sha256(entry.schema)} {'; '.join(_comments(entry))}\n".encode())
        for partition in lake.partitions(entry.name):
            manifest = lake.manifest(entry.name, partition)
            digest.update(f"{partition} {manifest.sha256 if manifest else None}\n".encode())
    for file in sorted(sql_folder.glob("*.sql")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
