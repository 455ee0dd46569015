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

from pipelines.quality.gate import import_great_expectations
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
    by_table: dict[str, list[Check]] = {}
    for check in checks:
        if not frames[check.table].is_empty():
            by_table.setdefault(check.table, []).append(check)
    passed = {table: _run(gx, context, table, of_table, frames[table]) for table, of_table in by_table.items()}
    for page in folder.rglob("*.html"):
        page.unlink()
    context.build_data_docs()
    for page in folder.rglob("*.html"):
        page.write_text(_FROM_ELSEWHERE.sub("", page.read_text("utf-8")), "utf-8")
    index = folder / INDEX
    index.write_text(_index(by_table, passed, folder), "utf-8")
    return index


def _context(gx: Any, folder: Path) -> Any:
    from great_expectations.data_context.types.base import DataContextConfig, InMemoryStoreBackendDefaults

    store = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder.resolve())}
    site = {"class_name": "SiteBuilder", "store_backend": store, "show_how_to_buttons": False}
    config = DataContextConfig(
        store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
        data_docs_sites={"checks": site},
        analytics_enabled=False,
    )
    context = gx.get_context(mode="ephemeral", project_config=config)
    context.variables.progress_bars = {"globally": False}
    return context


def _run(gx: Any, context: Any, table: str, checks: list[Check], frame: pl.DataFrame) -> dict[str, bool]:
    """Run the suite of one table so that its result is kept for the pages; say of each check whether it passed."""
    expectations = {check.name: check.expectation() for check in checks}
    for check in checks:
        made = expectations[check.name]
        made.meta, made.description, made.severity = {"check": check.name}, check.meaning, _SEVERITIES[check.severity]
    suite = context.suites.add(gx.ExpectationSuite(name=table, expectations=list(expectations.values())))
    asset = context.data_sources.add_pandas(table).add_dataframe_asset(table)
    batch = asset.add_batch_definition_whole_dataframe("all")
    definition = context.validation_definitions.add(gx.ValidationDefinition(name=table, data=batch, suite=suite))
    checkpoint = context.checkpoints.add(gx.Checkpoint(name=table, validation_definitions=[definition], actions=[]))
    run = checkpoint.run(batch_parameters={"dataframe": frame.to_pandas()})
    (result,) = run.run_results.values()
    return {entry.expectation_config.meta["check"]: bool(entry.success) for entry in result.results}


def _index(by_table: Mapping[str, list[Check]], passed: Mapping[str, Mapping[str, bool]], folder: Path) -> str:
    rows = [
        f"<tr><td><a href='{html.escape(_page_of(table, folder))}'>{html.escape(table)}</a></td>"
        f"<td>{html.escape(check.name)}</td><td>{html.escape(check.meaning)}</td>"
        f"<td>{'passed' if passed[table][check.name] else f'not passed ({check.severity})'}</td></tr>"
        for table, checks in sorted(by_table.items())
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
