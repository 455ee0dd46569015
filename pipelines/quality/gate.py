"""Runs the suites: Great Expectations on frames of `mart`, outcomes back as plain data.

What is expected of a table belongs in `suites`. Great Expectations is imported inside the functions that use it,
because its import takes seconds; `apart` runs the suites in another process.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import polars as pl

from pipelines.quality.outcomes import Check, Outcome, Status

_ROW = "row_number_of_this_check"


@cache
def import_great_expectations() -> Any:
    """Import the library: no usage reports, no log lines of its own, its own deprecations kept to itself."""
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import great_expectations as gx

    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    return gx


def run_checks(checks: Iterable[Check], frames: Mapping[str, pl.DataFrame]) -> list[Outcome]:
    """Return the outcome of each check on the frame of its table; a table that is not given is an errored check."""
    outcomes: list[Outcome] = []
    for table, of_table in by_table(checks).items():
        if table in frames:
            outcomes.extend(_run_suite(table, of_table, frames[table]))
        else:
            outcomes.extend(errored_outcomes(of_table, f"table {table} was not given"))
    return outcomes


def by_table(checks: Iterable[Check]) -> dict[str, list[Check]]:
    """Return the checks of each table."""
    found: dict[str, list[Check]] = {}
    for check in checks:
        found.setdefault(check.table, []).append(check)
    return found


def errored_outcomes(checks: Iterable[Check], error: str) -> list[Outcome]:
    """Return for each check that it could not be made, and why."""
    return [_errored(check, error) for check in checks]


def _run_suite(table: str, checks: list[Check], frame: pl.DataFrame) -> list[Outcome]:
    if frame.is_empty():
        return [_outcome(check, "passed", 0, 0) for check in checks]
    try:
        gx = import_great_expectations()
        built = {check.name: check.expectation() for check in checks}
        results = _validate(gx, table, built, frame)
    except Exception as error:  # whatever breaks here is our own fault and is told as such
        return errored_outcomes(checks, f"{type(error).__name__}: {error}")
    return [_read(check, results[check.name], frame) for check in checks]


def _validate(gx: Any, table: str, built: Mapping[str, Any], frame: pl.DataFrame) -> dict[str, Any]:
    result = add_suite(gx, new_context(gx), table, built).run(
        batch_parameters={"dataframe": frame.with_row_index(_ROW).to_pandas(use_threads=False)},
        result_format={"result_format": "COMPLETE", "unexpected_index_column_names": [_ROW]},
    )
    return results_by_check(result)


def new_context(gx: Any, **more: Any) -> Any:
    """Return a context in memory: no folder for pages that nobody asked for, no progress bars.

    Args:
        gx: The library.
        more: What its configuration says besides, such as sites for pages.
    """
    from great_expectations.data_context.types.base import DataContextConfig, InMemoryStoreBackendDefaults

    stores = InMemoryStoreBackendDefaults(init_temp_docs_sites=False)
    config = DataContextConfig(store_backend_defaults=stores, analytics_enabled=False, **more)
    context = gx.get_context(mode="ephemeral", project_config=config)
    context.variables.progress_bars = {"globally": False}
    return context


def add_suite(gx: Any, context: Any, table: str, expectations: Mapping[str, Any]) -> Any:
    """Add the suite of a table to the context and return what validates a frame by it.

    Args:
        gx: The library.
        context: Where it is added.
        table: Name of the table.
        expectations: By the name of the check that each stands for.
    """
    for name, expectation in expectations.items():
        expectation.meta = {"check": name}
    suite = context.suites.add(gx.ExpectationSuite(name=table, expectations=list(expectations.values())))
    asset = context.data_sources.add_pandas(table).add_dataframe_asset(table)
    batch = asset.add_batch_definition_whole_dataframe("all")
    return context.validation_definitions.add(gx.ValidationDefinition(name=table, data=batch, suite=suite))


def results_by_check(result: Any) -> dict[str, Any]:
    """Return what came of each expectation of a suite, by the name of its check."""
    return {entry.expectation_config.meta["check"]: entry for entry in result.results}


def _read(check: Check, result: Any, frame: pl.DataFrame) -> Outcome:
    error = _raised(result.exception_info)
    if error is not None:
        return _errored(check, error)
    checked = result.result.get("element_count", frame.height) - result.result.get("missing_count", 0)
    if result.success:
        return _outcome(check, "passed", checked, 0)
    indexes = sorted({int(entry[_ROW]) for entry in result.result.get("unexpected_index_list") or ()})
    rows = frame[indexes].select(check.shown)
    return _outcome(check, "failed", checked, result.result.get("unexpected_count", len(indexes)), rows)


def _raised(information: Any) -> str | None:
    """Return the message where an expectation raised: flat, or one entry a metric, by how far it came."""
    if not isinstance(information, Mapping):
        return None
    if information.get("raised_exception"):
        return str(information.get("exception_message") or "no message")
    nested = (_raised(value) for value in information.values() if isinstance(value, Mapping))
    return next((message for message in nested if message), None)


def _outcome(check: Check, status: Status, checked: int, failed: int, rows: pl.DataFrame | None = None) -> Outcome:
    return Outcome(
        table=check.table,
        name=check.name,
        severity=check.severity,
        status=status,
        meaning=check.meaning,
        checked_count=checked,
        failed_count=failed,
        rows=pl.DataFrame() if rows is None else rows,
    )


def _errored(check: Check, error: str) -> Outcome:
    return Outcome(
        table=check.table,
        name=check.name,
        severity=check.severity,
        status="errored",
        meaning=check.meaning,
        error=error,
    )
