"""`rackrecon check`: what came of the checks of the last refresh."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from pipelines._cli.messages import Exit, UsageError, say
from pipelines._cli.rows import Format, write_rows
from pipelines.lake.tables import Lake
from pipelines.settings import Settings

_DATA_DOCS = "data-docs"
"""Folder of the pages, in the data folder."""

_SHOWN = ["status", "severity", "table", "name", "explanation"]
"""What people are shown; the explanation has the counts. More would not fit beside each other on a terminal."""


def show_checks(form: Format, *, with_data_docs: bool = False) -> int:
    """Print each check with what came of it and return the exit code; write Great Expectations' pages if asked to."""
    settings = Settings.from_environment()
    lake = Lake.at(settings.lake)
    checks = lake.read("mart.checks").pipe(_worst_first)
    if checks.is_empty():
        raise UsageError("nothing was checked yet; `rackrecon refresh` checks what it makes")
    write_rows(checks.select(_SHOWN) if form is Format.table else checks, form)
    if with_data_docs:
        say(f"Pages of Great Expectations: {_write_data_docs(lake, settings)}")
    blocking = checks.filter("is_blocking")
    say(f"{checks.height} checks, {(checks['status'] != 'passed').sum()} not passed, {blocking.height} blocking")
    return int(Exit.check_failed if blocking.height else Exit.fine)


def _worst_first(checks: pl.DataFrame) -> pl.DataFrame:
    """Sort what blocks before what failed before what passed, and these by table and name."""
    is_passed = pl.col("status") == "passed"
    return checks.sort(~pl.col("is_blocking"), is_passed, "table", "name")


def _write_data_docs(lake: Lake, settings: Settings) -> Path:
    from pipelines.quality.data_docs import write_data_docs
    from pipelines.quality.suites import CHECKS

    frames = {name: lake.read(name) for name in {check.table for check in CHECKS}}
    return write_data_docs(CHECKS, frames, settings.data / _DATA_DOCS)
