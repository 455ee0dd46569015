"""Great Expectations' own pages on the checks (Data Docs): a by-product, for people who know them.

What is published of the checks is `mart.checks`. The pages are made without network and load nothing from elsewhere.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from pipelines.quality.gate import add_suite, by_table, import_great_expectations, new_context, results_by_check
from pipelines.quality.outcomes import Check

INDEX = "index.html"

_FROM_ELSEWHERE = re.compile(
    r"<script\b[^>]*\bsrc=[\"']?(?:https?:)?//[^>]*>\s*</script>"
    r"|<link\b[^>]*\bhref=[\"']?(?:https?:)?//[^>]*>"
    r"|<img\b[^>]*\bsrc=[\"']?(?:https?:)?//[^>]*>",
    re.IGNORECASE,
)
_SEVERITIES = {"error": "critical", "warning": "warning"}
_STYLE = """
body { font-family: system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 0.3rem 0.8rem 0.3rem 0; border-bottom: 1px solid #8888; vertical-align: top; }
"""


def write_data_docs(checks: Iterable[Check], frames: Mapping[str, pl.DataFrame], folder: Path) -> Path:
    """Run the suites and write their pages; return the page that leads to the others.

    Args:
        checks: What is expected.
        frames: The tables that the checks are about; a table without rows has no page.
        folder: Where the pages go; pages of an earlier run are replaced.
    """
    gx = import_great_expectations()
    context = _context(gx, folder)
    shown = by_table(check for check in checks if not frames[check.table].is_empty())
    passed = {table: _run(gx, context, table, of_table, frames[table]) for table, of_table in shown.items()}
    for page in folder.rglob("*.html"):
        page.unlink()
    context.build_data_docs()
    for page in folder.rglob("*.html"):
        page.write_text(_FROM_ELSEWHERE.sub("", page.read_text("utf-8")), "utf-8")
    index = folder / INDEX
    index.write_text(_index(shown, passed, folder), "utf-8")
    return index


def _context(gx: Any, folder: Path) -> Any:
    store = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder.resolve())}
    site = {"class_name": "SiteBuilder", "store_backend": store, "show_how_to_buttons": False}
    return new_context(gx, data_docs_sites={"checks": site})


def _run(gx: Any, context: Any, table: str, checks: list[Check], frame: pl.DataFrame) -> dict[str, bool]:
    """Run the suite of one table so that its result is kept for the pages; say of each check whether it passed."""
    expectations = {check.name: check.expectation() for check in checks}
    for check in checks:
        made = expectations[check.name]
        made.description, made.severity = check.meaning, _SEVERITIES[check.severity]
    definition = add_suite(gx, context, table, expectations)
    checkpoint = context.checkpoints.add(gx.Checkpoint(name=table, validation_definitions=[definition], actions=[]))
    run = checkpoint.run(batch_parameters={"dataframe": frame.to_pandas(use_threads=False)})
    (result,) = run.run_results.values()
    return {name: bool(entry.success) for name, entry in results_by_check(result).items()}


def _index(shown: Mapping[str, list[Check]], passed: Mapping[str, Mapping[str, bool]], folder: Path) -> str:
    rows = [
        f"<tr><td><a href='{html.escape(_page_of(table, folder))}'>{html.escape(table)}</a></td>"
        f"<td>{html.escape(check.name)}</td><td>{html.escape(check.meaning)}</td>"
        f"<td>{'passed' if passed[table][check.name] else f'not passed ({check.severity})'}</td></tr>"
        for table, checks in sorted(shown.items())
        for check in checks
    ]
    head = "<tr><th>table</th><th>check</th><th>what is expected</th><th>outcome</th></tr>"
    return (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>Checks</title><style>{_STYLE}</style>"
        f"<h1>Checks</h1><p>Pages of Great Expectations on the tables of the last refresh.</p>"
        f"<table>{head}{''.join(rows)}</table></html>\n"
    )


def _page_of(table: str, folder: Path) -> str:
    """Return the address of a table's result, beside the index."""
    pages = sorted(folder.glob(f"validations/{table.replace('.', '/')}/**/*.html"))
    return pages[-1].relative_to(folder).as_posix() if pages else INDEX
