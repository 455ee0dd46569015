"""Read-only questions to the warehouse: one statement, sealed off from everything but the file.

How the file is built belongs in `warehouse`. No schema is imported here, so that an answer comes in under a second.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import duckdb
import polars as pl

from pipelines.lake.storage import LakeError, StorageError

SEALED: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}
"""No extension is downloaded, and a name in SQL never means a variable of this program."""

WITHOUT_PROGRESS = "SET enable_progress_bar = false"
"""Of a statement that takes seconds DuckDB draws a bar on stdout, which is for rows. `SEALED` cannot hold it."""


class QueryError(LakeError):
    """A query on the warehouse cannot be answered; the message is DuckDB's."""


def query(
    path: Path,
    sql: str,
    params: Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    memory_bytes: int = 1 << 30,
    seconds: float = 120.0,
) -> pl.DataFrame:
    """Answer one statement from the warehouse, which can reach nothing but that file, and cannot change it.

    Args:
        path: The warehouse.
        sql: One statement that gives rows.
        params: Values of `$name` or `?` in it.
        memory_bytes: Memory that the answer may take.
        seconds: Time that it may take.

    Raises:
        QueryError: the statement is wrong, gives no rows, or takes too much.
        StorageError: there is no warehouse, or it cannot be opened.
    """
    with asking(path, memory_bytes=memory_bytes, seconds=seconds) as ask:
        return ask(sql, params)


class Ask(Protocol):
    """Answers one statement, as `query` does."""

    def __call__(self, sql: str, params: Mapping[str, Any] | Sequence[Any] | None = None) -> pl.DataFrame:
        """Return the rows; raises `QueryError`."""


@contextmanager
def asking(path: Path, *, memory_bytes: int = 1 << 30, seconds: float = 120.0) -> Iterator[Ask]:
    """Open the warehouse once for several statements, each with its own time; arguments as for `query`.

    Raises:
        StorageError: there is no warehouse, or it cannot be opened.
    """
    if not path.is_file():
        raise StorageError(f"{path}: no such file; `rackrecon refresh` builds it")
    with _reading(path, memory_bytes) as connection:
        yield lambda sql, params=None: _answer(connection, sql, params, seconds)


def _answer(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    params: Mapping[str, Any] | Sequence[Any] | None,
    seconds: float,
) -> pl.DataFrame:
    with _time_limit(connection, seconds) as limit:
        try:
            with interruptible(connection):
                return _rows(connection, sql, params)
        except duckdb.InterruptException as error:
            raise QueryError(f"not answered within {limit:g} s (RACKRECON_MAX_QUERY_SECONDS)") from error
        except (duckdb.Error, pl.exceptions.PolarsError) as error:
            raise QueryError(str(error)) from error


def _rows(
    connection: duckdb.DuckDBPyConnection, sql: str, params: Mapping[str, Any] | Sequence[Any] | None
) -> pl.DataFrame:
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise QueryError(f"expected one statement, found {len(statements)}")
    answer = connection.sql(sql, params=params)
    if answer is None:
        raise QueryError("expected a statement that gives rows")
    return _narrowed(_frame(answer))


@contextmanager
def interruptible(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Let the signals that end a command end its statement too, and as an interruption.

    DuckDB sees that a handler has raised, but then waits for all that its threads have begun, for minutes where they
    sort or aggregate, and raises a `RuntimeError` in place of what the handler raised.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    told: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        told.append(number)
        connection.interrupt()
        handler = handlers[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    handled = [number for number, handler in handlers.items() if callable(handler)]
    for number in handled:
        signal.signal(number, end)
    try:
        yield
    except Exception:
        # Whatever DuckDB makes of it, what was told to end was interrupted; any other error stays what it is.
        if told:
            raise KeyboardInterrupt from None
        raise
    finally:
        for number in handled:
            signal.signal(number, handlers[number])


@contextmanager
def _reading(path: Path, memory_bytes: int) -> Iterator[duckdb.DuckDBPyConnection]:
    config = SEALED | {
        "enable_external_access": "false",
        "memory_limit": f"{max(1, memory_bytes // 1000)}KB",
        "temp_directory": "",
    }
    try:
        connection = duckdb.connect(str(path), read_only=True, config=config)
    except duckdb.Error as error:
        raise StorageError(f"{path}: cannot be opened: {error}") from error
    with connection:
        connection.execute(WITHOUT_PROGRESS)
        connection.execute("SET lock_configuration = true")
        yield connection


@contextmanager
def _time_limit(connection: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[float]:
    timer = threading.Timer(seconds, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield seconds
    finally:
        timer.cancel()


_NOT_IN_POLARS = ("INTERVAL", "UNION")


def _frame(answer: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """Return the rows over the Arrow C stream: `pl()` would import pyarrow, a third of the time an answer may take.

    Polars aborts on some types in such a stream; `pl()` gives the error that it should.
    """
    types = [str(dtype) for dtype in answer.types]
    if any(name in dtype for dtype in types for name in _NOT_IN_POLARS):
        frame: pl.DataFrame = answer.pl()
        return frame
    return pl.DataFrame(answer)


def _narrowed(frame: pl.DataFrame) -> pl.DataFrame:
    """Return DuckDB's 128-bit sums of whole numbers as 64-bit ones where they fit."""
    wide = [name for name, dtype in frame.schema.items() if dtype == pl.Decimal(38, 0)]
    narrow = frame.select(pl.col(wide).cast(pl.Int64, strict=False))
    fitting = [name for name in wide if narrow[name].null_count() == frame[name].null_count()]
    return frame.with_columns(narrow.select(fitting))
