"""`rackrecon diff`: what differs between two data folders or releases."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines._cli.messages import UsageError, say
from pipelines._cli.rows import Format, write_rows
from pipelines.publishing.differences import differences, open_state, summary
from pipelines.schemas import TABLES


def show_differences(old: str, new: str, names: Sequence[str], with_rows: bool, form: Format) -> None:
    """Print the differences, or how many there are by table and column."""
    unknown = sorted(set(names) - set(TABLES))
    if unknown:
        raise UsageError(f"no table {', '.join(unknown)}; tables are {', '.join(TABLES)}")
    found = differences(open_state(old), open_state(new), names or tuple(TABLES))
    if found.is_empty():
        say("no row differs")
    write_rows(found if with_rows else summary(found), form)
