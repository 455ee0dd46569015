"""Renders the pages: templates with what each page is filled with. Where files go belongs in `writing`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
import vl_convert

from pipelines import __version__
from pipelines.lake.tables import Lake
from pipelines.publishing.age import age_line
from pipelines.publishing.notice import TRADEMARK
from pipelines.publishing.report import front
from pipelines.publishing.report.glossary import TERMS_OF_COLUMNS, terms
from pipelines.publishing.report.menu import PAGES, Page
from pipelines.publishing.report.pages import Content
from pipelines.publishing.report.tables import AbsentTableError, Tables
from pipelines.publishing.report.words import benchmarks

_STATIC = ("report.css", "page.js", "grid.js", "figures.js")


def render(lake: Lake, today: date) -> Iterator[tuple[str, str]]:
    """Yield each file of the report: its name and its text.

    Args:
        lake: What is reported.
        today: Against which the age is told.

    Raises:
        AbsentTableError: the lake holds no result.
    """
    tables = Tables(lake)
    shared = _shared(tables, today)
    templates = _environment()
    yield "index.html", templates.get_template("index.html").render(_first(tables), page=None, **shared)
    for page in PAGES:
        content, reason = _filled(page, tables)
        if content.grid is not None:
            yield f"data/{content.grid.name}.js", content.grid.script()
        name = page.name if page.name in ("glossary", "methods", "cite") else "page"
        yield (
            f"{page.name}.html",
            templates.get_template(f"{name}.html").render(page=page, content=content, reason=reason, **shared),
        )
    static = files("pipelines.publishing.report").joinpath("static")
    for name in _STATIC:
        yield f"static/{name}", static.joinpath(name).read_text("utf-8")
    yield "static/vega.js", _vega()


def _first(tables: Tables) -> dict[str, Any]:
    round_name = front.newest_round(tables)
    return {
        "round_name": round_name,
        "headline": front.headline(tables, round_name) if round_name else "",
        "tiles": front.round_tiles(tables, round_name) if round_name else [],
        "fastest": front.fastest(tables, round_name) if round_name else None,
        "findings": front.findings(tables),
        "network": front.network(tables),
        "claims": front.claims(tables),
        "example": front.example(tables),
    }


def _filled(page: Page, tables: Tables) -> tuple[Content, str]:
    try:
        return page.fill(tables), ""
    except AbsentTableError as absent:
        return Content(), str(absent)


def _shared(tables: Tables, today: date) -> dict[str, Any]:
    sources = tables.need("core.sources")
    rounds = sources["round"].to_list()
    read_at = dict(sources.select("round", "retrieved_at").iter_rows())
    listed = tables.want("core.known_rounds")
    return {
        "pages": PAGES,
        "groups": list(dict.fromkeys(page.group for page in PAGES)),
        "age": age_line(read_at, today, () if listed is None else listed["round"]),
        "today": today.isoformat(),
        "version": __version__,
        "rounds": rounds,
        "trademark": TRADEMARK,
        "terms": terms(),
        "term_named": {entry.anchor: entry.term for entry in terms()},
        "benchmarks": benchmarks(),
        "term_of": TERMS_OF_COLUMNS,
    }


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("pipelines.publishing.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _vega() -> str:
    """Return the chart runtime as a classic script: browsers load no modules from files."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return f"(() => {{\n{bundle}\n}})();\n"
