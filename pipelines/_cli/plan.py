"""`rackrecon plan`: asks the planning engine and prints what it answers."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pipelines._cli.lean import without_sqlalchemy
from pipelines._cli.messages import UsageError, say
from pipelines._cli.plan_command import PlanFormat
from pipelines._cli.rows import Format, visible, write_rows
from pipelines.publishing.notice import TRADEMARK
from pipelines.settings import Settings

with without_sqlalchemy():
    import polars as pl

    from pipelines._cli.plan_facts import PlanTables, plan_tables
    from pipelines._cli.plan_options import Options, refused
    from pipelines.cluster.connecting import spread_of
    from pipelines.publishing.plan_frontier import frontier_as_json, frontier_frame
    from pipelines.publishing.plan_json import comparison_as_json, comparison_figures, plan_as_json
    from pipelines.publishing.plan_provenance import Provenance
    from pipelines.publishing.plan_text import WIDTH, comparison_as_text, frontier_as_text, plan_as_text
    from pipelines.reconciling.planning import NEEDED_TABLES, Facts, answer, compare, frontier
    from pipelines.reconciling.planning_asks import PlanError
    from pipelines.scoring.rcp import expected_progress

if TYPE_CHECKING:
    from pipelines.reconciling.planning_answers import Answer, Comparison, Frontier


def make_plan(options: Options, beside: tuple[str, str] | None, *, is_frontier: bool, form: PlanFormat) -> None:
    """Print a plan, two plans side by side, or all that no other beats.

    Raises:
        UsageError: an option is missing, cannot be read or contradicts another, or no plan follows from it.
    """
    if beside is not None and is_frontier:
        raise UsageError("--frontier and --compare: give one of the two")
    if form in _ROWS and beside is None and not is_frontier:
        raise UsageError(f"--format {form.value}: a plan is no row; give table, json or html, or add --frontier")
    more = ["--frontier"] if is_frontier else [] if beside is None else ["--compare", *beside]
    asked = [options] if beside is None else [options.beside(name) for name in beside]
    asks = [each.ask() for each in asked]
    if asks[0].model is not None:
        options = replace(options, sequence_length=asks[0].model.sequence_length)
        say(f"samples of {asks[0].model.sequence_length:,} tokens (--sequence-length)")
    tables = plan_tables(NEEDED_TABLES)
    origin = _provenance(options, more, tables)
    say(tables.age())
    with spread_of(Settings.from_environment()) as spread:
        facts = replace(_facts(tables.frames), spread=spread)
        try:
            if is_frontier:
                _print_frontier(frontier(asks[0], facts), origin, form)
            elif beside is not None:
                _print_comparison(compare(asks[0], asks[1], facts), origin, form)
            else:
                _print_plan(answer(asks[0], facts), origin, form)
        except PlanError as error:
            raise refused(error, options) from None
    sys.stdout.flush()
    say(TRADEMARK)


_ROWS = {PlanFormat.csv: Format.csv, PlanFormat.parquet: Format.parquet}
"""Forms that hold rows only."""


def _facts(frames: Mapping[str, pl.DataFrame]) -> Facts:
    return Facts.of(
        results=frames["mart.results"],
        runs_core=frames["core.runs"],
        runs_mart=frames["mart.runs"],
        launches=frames["core.launches"],
        systems=frames["core.systems"],
        accelerators=frames["mart.accelerators"],
        platforms=frames["mart.platforms"],
        resolved_facts=frames["mart.resolved_facts"],
        expected_progress=expected_progress,
    )


def _provenance(options: Options, more: list[str], tables: PlanTables) -> Provenance:
    files = [path for path in (options.model, options.prices) if path is not None]
    return Provenance(
        command=options.command(*more),
        files={str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files},
        sources=list(tables.sources.iter_rows(named=True)),
        origin=tables.origin,
        age=tables.age(),
    )


def _print_plan(plan: Answer, origin: Provenance, form: PlanFormat) -> None:
    match form:
        case PlanFormat.json:
            _print_json(plan_as_json(plan, origin))
        case PlanFormat.html:
            from pipelines.publishing.plan_page import plan_as_html

            sys.stdout.write(plan_as_html(plan, origin))
        case _:
            sys.stdout.write(visible(plan_as_text(plan, origin, _width())))


def _print_comparison(plans: Comparison, origin: Provenance, form: PlanFormat) -> None:
    match form:
        case PlanFormat.json:
            _print_json(comparison_as_json(plans, origin))
        case PlanFormat.html:
            from pipelines.publishing.plan_page import comparison_as_html

            sys.stdout.write(comparison_as_html(plans, origin))
        case PlanFormat.table:
            sys.stdout.write(visible(comparison_as_text(plans, origin, _width())))
        case _:
            rows = [{**row, "a": _text(row["a"]), "b": _text(row["b"])} for row in comparison_figures(plans)]
            write_rows(pl.DataFrame(rows), _ROWS[form])


def _text(value: object) -> str | None:
    """Return a figure as text: a column of figures of several kinds has one type."""
    return None if value is None else str(value)


def _print_frontier(found: Frontier, origin: Provenance, form: PlanFormat) -> None:
    match form:
        case PlanFormat.json:
            _print_json(frontier_as_json(found, origin))
        case PlanFormat.html:
            from pipelines.publishing.plan_page import frontier_as_html

            sys.stdout.write(frontier_as_html(found, origin))
        case PlanFormat.table:
            sys.stdout.write(visible(frontier_as_text(found, origin, _width())))
        case _:
            for sentence in found.extrapolations:
                say(f"extrapolation: {sentence}")
            write_rows(frontier_frame(found), _ROWS[form])


def _width() -> int:
    """Return the columns of a terminal where it is narrower than a plan."""
    return min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)


def _print_json(content: Mapping[str, Any]) -> None:
    print(json.dumps(content, ensure_ascii=False, indent=2))
