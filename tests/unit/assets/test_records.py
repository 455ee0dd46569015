"""Short connections to SQLite files: quick while the context lasts, as ever before and after."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.pool import NullPool

from pipelines.assets.records import swift_records

NORMAL, FULL = 1, 2


def _engine(path: Path) -> Engine:
    """Return an engine that, as Dagster's, opens a connection each time and closes it."""
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
    with engine.connect() as connection:
        connection.execute(text("PRAGMA journal_mode = WAL"))
    return engine


def _write(engine: Engine, table: str) -> int:
    """Create a table; return the connection's mode of waiting for the disk."""
    with engine.begin() as connection:
        connection.execute(text(f"CREATE TABLE {table} (x INTEGER)"))
        return int(connection.execute(text("PRAGMA synchronous")).scalar_one())


def test_the_log_stays_open_while_the_context_lasts_and_is_written_back_at_its_end(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    log = tmp_path / "events.db-wal"
    with swift_records():
        engine = _engine(path)
        assert _write(engine, "first") == NORMAL
        assert log.stat().st_size > 0
        assert _write(engine, "second") == NORMAL
    assert not log.exists()
    with engine.connect() as connection:
        tables = connection.execute(text("SELECT name FROM sqlite_master ORDER BY name")).scalars().all()
    assert tables == ["first", "second"]


def test_other_connections_are_as_ever_afterwards(tmp_path: Path) -> None:
    with swift_records():
        pass
    assert _write(_engine(tmp_path / "events.db"), "first") == FULL
    assert not (tmp_path / "events.db-wal").exists()


def test_a_database_in_memory_is_left_alone() -> None:
    with swift_records():
        assert _write(create_engine("sqlite://"), "first") == NORMAL


@pytest.mark.parametrize(("error", "is_told"), [(KeyboardInterrupt, False), (sqlite3.OperationalError, True)])
def test_a_fault_in_closing_is_told_and_an_interruption_is_none(
    error: type[BaseException], is_told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    class Unclosed(sqlite3.Connection):
        def close(self) -> None:
            raise error

    engine = create_engine("sqlite://", poolclass=NullPool, connect_args={"factory": Unclosed})
    with swift_records(), suppress(KeyboardInterrupt):
        engine.connect().close()
    assert ["Exception closing connection" in record.getMessage() for record in caplog.records] == [True] * is_told
