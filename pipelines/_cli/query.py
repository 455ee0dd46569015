"""`rackrecon query`: one statement to the warehouse, its rows to stdout."""

from __future__ import annotations

import sys

from pipelines._cli.rows import Format, write_rows
from pipelines.lake.queries import query
from pipelines.settings import Settings


def ask(question: str, form: Format) -> None:
    """Answer the statement; `-` reads it from stdin."""
    settings = Settings.from_environment()
    sql = sys.stdin.read() if question == "-" else question
    answer = query(
        settings.warehouse, sql, memory_bytes=settings.max_query_memory_bytes, seconds=settings.max_query_seconds
    )
    write_rows(answer, form)
