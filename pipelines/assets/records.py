"""Keeps Dagster's own records from costing more than the work that they are about, and from saying what is no fault.

How connections to those files behave belongs here; what is recorded is Dagster's affair.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

_POOLS = ("NullPool", "QueuePool")
"""SQLAlchemy's, as Dagster takes them for SQLite and PostgreSQL."""


@contextmanager
def swift_records() -> Iterator[None]:
    """Make many short connections to SQLite files cheap while the context lasts.

    Dagster opens a connection for each event that it stores. Closing the last one moves the whole write-ahead log into
    the file, so one is kept open beside them; and each commit waits for the disk, which in this mode is needed against
    a loss of the last events at a power cut only: the file itself stays sound.

    Nor is it told with a traceback that Ctrl-C came while a connection was closed.
    """
    with ExitStack() as stack:
        for name in _POOLS:
            pool = logging.getLogger(f"sqlalchemy.pool.impl.{name}")
            pool.addFilter(_is_no_interruption)
            stack.callback(pool.removeFilter, _is_no_interruption)
        kept: dict[str, sqlite3.Connection] = {}

        def prepare(connection: Any, _: Any) -> None:
            if not isinstance(connection, sqlite3.Connection):
                return
            connection.execute("PRAGMA synchronous = NORMAL")
            (_, _, path), *_ = connection.execute("PRAGMA database_list").fetchall()
            if path and path not in kept and _is_written_ahead(connection):
                kept[path] = stack.enter_context(closing(sqlite3.connect(path, check_same_thread=False)))
                # A connection counts as open from its first look into the file.
                kept[path].execute("SELECT count(*) FROM sqlite_master").fetchone()

        event.listen(Engine, "connect", prepare)
        stack.callback(event.remove, Engine, "connect", prepare)
        yield


def _is_no_interruption(record: logging.LogRecord) -> bool:
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or issubclass(kind, Exception)


def _is_written_ahead(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("PRAGMA journal_mode").fetchone() == ("wal",))
