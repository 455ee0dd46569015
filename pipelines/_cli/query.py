"""`rackrecon query`: a named question or one statement to the warehouse, its rows to stdout."""

from __future__ import annotations

import sys
from pathlib import Path

from pipelines._cli.messages import UsageError, say
from pipelines._cli.rows import Format, write_rows
from pipelines.lake.queries import query
from pipelines.lake.storage import SHARED
from pipelines.lake.warehouse_copy import current_warehouse
from pipelines.publishing.notice import TRADEMARK
from pipelines.publishing.questions import is_name, read_question, read_questions
from pipelines.settings import Settings

_CHANGES = "what_changed"
"""The question whose empty answer can mean that there was nothing to compare with."""


def ask(text: str, form: Format) -> None:
    """Answer the question of that name or the statement; `-` reads it from stdin."""
    settings = Settings.from_environment()
    sql = sys.stdin.read() if text == "-" else text
    name = sql.strip() if is_name(sql.strip()) else None
    if name is not None:
        question = read_question(settings.questions, name)
        say(f"{question.meaning} One row per {question.grain}.")
        sql = question.sql
    _expect_lake(settings)
    warehouse = current_warehouse(settings.lake, settings.warehouse)
    answer = query(warehouse, sql, memory_bytes=settings.max_query_memory_bytes, seconds=settings.max_query_seconds)
    write_rows(answer, form)
    if answer.is_empty() and name == _CHANGES:
        say(f"no rows; changes are told since: {_changes_since(warehouse)}")
    elif answer.is_empty() and form is Format.table:
        say("no rows")
    say(TRADEMARK)


def _expect_lake(settings: Settings) -> None:
    """Refuse a warehouse beside which another lake was named that is not there; without any lake it answers alone."""
    lake = Path(settings.lake)
    if settings.lake.startswith(SHARED) or lake == settings.data / "lake" or lake.is_dir():
        return
    raise UsageError(
        f"{lake}: no such folder; RACKRECON_LAKE must name the lake, or `rackrecon refresh` fills one there"
    )


def _changes_since(warehouse: Path) -> str:
    """Return the time of the warehouse that was replaced, or why nothing could be compared."""
    told = query(warehouse, "SELECT value FROM about WHERE key = 'changes_since'")["value"].to_list()
    return str(next(iter(told), "not known"))


def list_questions(form: Format) -> None:
    """Print the named questions."""
    import polars as pl

    questions = read_questions(Settings.from_environment().questions)
    rows = [{"name": entry.name, "question": entry.meaning, "one_row_per": entry.grain} for entry in questions]
    write_rows(pl.DataFrame(rows), form)


def question_names(incomplete: str) -> list[str]:
    """Return the names that complete what was typed; for the shell."""
    folder = Settings.from_environment().questions
    return sorted(path.stem for path in folder.glob(f"{incomplete}*.sql")) if is_name(incomplete or "a") else []
