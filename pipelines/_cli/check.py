"""`rackrecon check`: what came of the checks of the last refresh."""

from __future__ import annotations

from pipelines._cli.messages import Exit, UsageError, say
from pipelines._cli.rows import Format, write_rows
from pipelines.lake.tables import Lake
from pipelines.settings import Settings

_SHOWN = ["table", "name", "severity", "status", "failed_count", "checked_count", "explanation"]


def show_checks(form: Format) -> int:
    """Print each check with what came of it and return the exit code."""
    checks = Lake.at(Settings.from_environment().lake).read("mart.checks").sort("table", "name")
    if checks.is_empty():
        raise UsageError("nothing was checked yet; `rackrecon refresh` checks what it makes")
    write_rows(checks.select(_SHOWN) if form is Format.table else checks, form)
    blocking = checks.filter("is_blocking")
    say(f"{checks.height} checks, {(checks['status'] != 'passed').sum()} not passed, {blocking.height} blocking")
    return int(Exit.check_failed if blocking.height else Exit.fine)
