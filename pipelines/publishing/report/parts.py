"""What pages are made of: figures with the table behind them, grids that filter and sort, plain tables."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from pipelines.publishing.report.glossary import TERMS_OF_COLUMNS
from pipelines.publishing.report.words import SIGNS, TONES, Column, columns

MOST_ROWS_BEHIND = 400
"""Rows of the table behind a figure; the lake and the explorer hold the rest."""


@dataclass(frozen=True)
class Figure:
    """A chart: its finding, how to read it, the same in words and as a table."""

    anchor: str
    title: str
    """What it shows, as a finding."""
    note: str
    """What the marks are, with units."""
    spoken: str
    """The same for who does not see it."""
    spec: str
    """Vega-Lite as JSON, safe inside an HTML script element."""
    behind: pl.DataFrame

    @property
    def columns(self) -> list[Column]:
        """Return the columns of the table behind."""
        return columns(self.behind)

    @property
    def rows(self) -> list[list[str]]:
        """Return the rows behind as text."""
        return text_rows(self.behind.head(MOST_ROWS_BEHIND))

    @property
    def rows_left_out(self) -> int:
        """Return how many rows are not shown."""
        return max(0, self.behind.height - MOST_ROWS_BEHIND)


@dataclass(frozen=True)
class Plain:
    """A small table in the page itself."""

    caption: str
    frame: pl.DataFrame
    addresses: Sequence[str] = ()
    """Where the first cell of each row leads; none for a table without links."""
    summary: str = ""
    """What stands on the fold that hides the table; none for a table in the open."""

    @property
    def columns(self) -> list[Column]:
        """Return how its columns are shown."""
        return columns(self.frame)

    @property
    def rows(self) -> list[list[str]]:
        """Return its rows as text."""
        return text_rows(self.frame)


@dataclass(frozen=True)
class Grid:
    """A long table that the reader filters, sorts and searches; its rows are in a script file beside the page."""

    name: str
    """Name of its file and of the CSV that it gives."""
    caption: str
    frame: pl.DataFrame
    key: str
    """Column that names a row in a link."""
    shown: Sequence[str]
    """Columns of the table; a row's own view has them all."""
    filters: Sequence[str] = ()
    sort: str = ""
    is_descending: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    """Command that tells more of a row when its key follows."""

    def script(self) -> str:
        """Return the script file: one assignment of data, ASCII only."""
        described = [
            {
                "name": column.name,
                "label": self.labels.get(column.name, column.label),
                "unit": column.unit,
                "help": column.help.replace("`", ""),
                "number": column.is_number,
                "decimals": column.decimals,
                "term": TERMS_OF_COLUMNS.get(column.name),
                "slug": column.is_slug,
                "signed": column.is_signed,
            }
            for column in columns(self.frame)
        ]
        order = [name for name in self.shown if name in self.frame.columns]
        content = {
            "name": self.name,
            "caption": self.caption,
            "key": self.key,
            "order": order,
            "filters": [name for name in self.filters if name in self.frame.columns],
            "sort": self.sort,
            "descending": self.is_descending,
            "command": self.command,
            "signs": {value: [sign, TONES[sign]] for value, sign in SIGNS.items()},
            "columns": described,
            "rows": [[_plain(value) for value in row] for row in self.frame.iter_rows()],
        }
        return f"window.rackreconGrid = {json.dumps(content, ensure_ascii=True, allow_nan=False)};\n"


@dataclass(frozen=True)
class Section:
    """A part of a page under a heading of its own."""

    heading: str
    paragraphs: Sequence[str] = ()
    plain: Plain | None = None
    anchor: str = ""


def text_rows(frame: pl.DataFrame) -> list[list[str]]:
    """Return the rows of a frame as they are shown."""
    shown = columns(frame)
    return [[column.show(value) for column, value in zip(shown, row, strict=True)] for row in frame.iter_rows()]


def script_json(content: Any) -> str:
    """Return JSON that cannot end the script element that it stands in."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _plain(value: Any) -> Any:
    """Return what JSON can hold: infinity and not-a-number become words."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
