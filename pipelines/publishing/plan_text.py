"""A plan as text of at most 80 columns, fewer on a narrower terminal."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipelines.publishing.plan_frontier import frontier_rows, frontier_said
from pipelines.publishing.plan_provenance import Provenance
from pipelines.publishing.plan_words import DERIVED, Part, Rows, derived, headline, inputs, parts
from pipelines.reconciling.planning_answers import Answer, Comparison, ComparisonRow, Frontier

WIDTH = 80
"""Columns where a terminal has room for them."""

_LEAST_WIDTH = 40
_LABEL = 16
_GLUE = "\u00a0"
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(%|GB|GB/s|Gb/s|MW|kW|s|ms|minutes|hours|days|racks)\b|%)")


def plan_as_text(answer: Answer, provenance: Provenance, width: int = WIDTH) -> str:
    """Return the plan: extrapolations where there are any, the answer, its parts, what it was asked and made from."""
    width = max(width, _LEAST_WIDTH)
    lines = [
        *_extrapolations(answer.extrapolations, width),
        *_wrapped(headline(answer), width),
        *_wrapped(derived(answer.inputs), width),
        "",
    ]
    for part in parts(answer):
        lines += _part(part, width)
    lines += ["Inputs", *_table(inputs(answer), width, has_header=False)]
    return "\n".join([*lines, *_end(provenance, width)]) + "\n"


def comparison_as_text(comparison: Comparison, provenance: Provenance, width: int = WIDTH) -> str:
    """Return two plans side by side."""
    width = max(width, _LEAST_WIDTH)
    lines: list[str] = []
    for letter, answer in (("A", comparison.first), ("B", comparison.second)):
        lines += [
            *_extrapolations(answer.extrapolations, width, f" of {letter}"),
            *_wrapped(f"{letter}  {headline(answer)}", width, "   "),
        ]
        lines += [*_wrapped(derived(answer.inputs), width, "   ", "   "), ""]
    lines += _table(comparison_rows(comparison), width)
    return "\n".join([*lines, *_end(provenance, width)]) + "\n"


def frontier_as_text(frontier: Frontier, provenance: Provenance, width: int = WIDTH) -> str:
    """Return the plans that no other beats."""
    width = max(width, _LEAST_WIDTH)
    lines = [*_extrapolations(frontier.extrapolations, width), *_wrapped(frontier_said(frontier), width)]
    lines += [*_wrapped(derived(frontier.inputs), width), "", *_table(frontier_rows(frontier), width)]
    return "\n".join([*lines, *_end(provenance, width)]) + "\n"


def comparison_rows(comparison: Comparison) -> Rows:
    """Return the figures of both plans; the unit stands with the figure where that does not say it."""
    rows = tuple(
        (_figure(row), _value(row.first), _value(row.second), "" if row.ratio is None else _value(row.ratio))
        for row in comparison.rows
        if (row.first, row.second) != (None, None)
    )
    return Rows(("figure", "A", "B", "B over A"), rows, ("A", "B", "B over A"))


def _figure(row: ComparisonRow) -> str:
    name = row.figure.replace("computer_kilowatts_high", "rated_power").replace("_", " ").replace("nic ", "NIC ")
    return f"{name}, {row.unit}" if row.unit in ("GB/s", "kW") else name


def _value(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value).replace("_", " ")


def _extrapolations(sentences: Sequence[str], width: int, of: str = "") -> Iterator[str]:
    for sentence in sentences:
        yield from _wrapped(f"EXTRAPOLATION{of}: {sentence}", width, "  ")
    if sentences:
        yield ""


def _part(part: Part, width: int) -> Iterator[str]:
    label = part.title if len(part.title) < _LABEL else ""
    if not label:
        yield part.title
    yield from _wrapped(part.figure, width, " " * _LABEL, f"{label:<{_LABEL}}") or ([label] if label else [])
    for sentence in part.sentences:
        gap = " " * (_LABEL if " " in sentence else max(0, min(_LABEL, width - len(sentence))))
        yield from _wrapped(sentence, width, gap, gap)
    for item in part.items:
        yield from _wrapped(item, width, " " * (_LABEL + 2), f"{'':<{_LABEL}}- ")
    if part.rows is not None:
        yield from _table(part.rows, width)
    yield ""


def _table(rows: Rows, width: int, *, has_header: bool = True) -> list[str]:
    table = Table(box=box.SIMPLE_HEAD if has_header else None, show_edge=False, show_header=has_header)
    for name in rows.columns:
        table.add_column(name, justify="right" if name in rows.numbers else "left", overflow="fold")
    for row in rows.rows:
        table.add_row(*(Text(cell) for cell in row))
    written = io.StringIO()
    Console(file=written, width=width, highlight=False, color_system=None).print(table)
    return [line.rstrip() for line in written.getvalue().splitlines()]


def _wrapped(text: str, width: int, indent: str = "", first: str = "") -> list[str]:
    """Break a text between words; a figure and its unit stay together, and so does a name with hyphens."""
    glued = _BEFORE_UNIT.sub(_GLUE, text)
    lines = textwrap.wrap(glued, width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)
    return [line.replace(_GLUE, " ") for line in lines]


def _end(provenance: Provenance, width: int) -> Iterator[str]:
    yield ""
    yield from _wrapped(DERIVED, width)
    for line in provenance.lines():
        yield from _wrapped(line, width, "  ")
    yield "Ask it again with:"
    yield from _broken(provenance.command, width)


def _broken(command: str, width: int) -> Iterator[str]:
    """Break a command between options as a shell takes it."""
    lines = textwrap.wrap(command, width - 4, break_long_words=False, break_on_hyphens=False)
    for place, line in enumerate(lines):
        yield ("  " if place else "") + line + (" \\" if place + 1 < len(lines) else "")
