"""Rows out: one frame as a table for people, or as CSV, JSON or Parquet for programs. Stdout is data.

What the rows mean does not belong here.
"""

from __future__ import annotations

import sys
import unicodedata
from enum import StrEnum
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console
    from rich.text import Text

_LEAST_WIDTH = 16
"""Characters that a column may be folded to; where a terminal is too narrow even so, rows are shown as records."""

_GAP = 3


class Format(StrEnum):
    """How rows come out."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


class ChainFormat(StrEnum):
    """How a chain comes out."""

    text = "text"
    json = "json"
    html = "html"


def write_rows(frame: pl.DataFrame, form: Format) -> None:
    """Write every row of the frame to stdout in that form."""
    match form:
        case Format.table:
            _write_table(frame)
        case Format.csv:
            sys.stdout.write(_csv(frame))
        case Format.json:
            sys.stdout.write(frame.write_json() + "\n")
        case Format.parquet:
            sys.stdout.buffer.write(_parquet(frame))
    sys.stdout.flush()


def visible(text: object) -> str:
    """Return published text with its control characters shown and not obeyed by a terminal."""
    return "".join(character if _is_harmless(character) else repr(character)[1:-1] for character in str(text))


def _is_harmless(character: str) -> bool:
    return character == "\n" or unicodedata.category(character)[0] != "C"


def _write_table(frame: pl.DataFrame) -> None:
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            """Tell it as any other output does; rich would end the command as if it had failed."""
            raise BrokenPipeError

    widths = _widths(frame)
    natural = sum(widths) + _GAP * len(widths)
    console = Piped(highlight=False, soft_wrap=False, width=None if sys.stdout.isatty() else natural)
    if sum(min(width, _LEAST_WIDTH) for width in widths) + _GAP * len(widths) > console.width:
        _print_records(console, frame)
    else:
        _print_table(console, frame)


def _print_table(console: Console, frame: pl.DataFrame) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for name, dtype in frame.schema.items():
        table.add_column(_cell(name), justify="right" if dtype.is_numeric() else "left", overflow="fold")
    for row in frame.iter_rows():
        table.add_row(*(_cell(value) for value in row))
    console.print(table)


def _print_records(console: Console, frame: pl.DataFrame) -> None:
    """Print a row as a field a line: what a terminal is too narrow for as a table."""
    from rich.table import Table

    for number, row in enumerate(frame.iter_rows(), start=1):
        console.rule(f"{number} of {frame.height}", align="left", characters="─", style="dim")
        record = Table.grid(padding=(0, 2, 0, 0))
        record.add_column(style="bold", no_wrap=True)
        record.add_column(overflow="fold")
        for name, value in zip(frame.columns, row, strict=True):
            record.add_row(_cell(name), _cell(value))
        console.print(record)


def _widths(frame: pl.DataFrame) -> list[int]:
    """Return the longest line of each column, its name's among them."""
    return [
        max((len(line) for value in (name, *frame[name]) for line in _cell(value).plain.splitlines()), default=0)
        for name in frame.columns
    ]


def _cell(value: object) -> Text:
    from rich.text import Text

    if value is None:
        return Text("")
    if isinstance(value, float):
        return Text(f"{value:.6g}" if abs(value) < 1e6 else f"{value:,.0f}")
    return Text(visible(value))


def _csv(frame: pl.DataFrame) -> str:
    from pipelines.publishing.spreadsheets import neutral

    return neutral(_flat(frame)).write_csv()


def _parquet(frame: pl.DataFrame) -> bytes:
    # Not to stdout at once: of a reader that is gone Polars would tell as of a table that cannot be written.
    written = BytesIO()
    frame.write_parquet(written)
    return written.getvalue()


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with lists and structs, which CSV does not know, as JSON text."""
    import polars as pl

    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    return frame.with_columns(
        pl.struct(pl.col(name).alias("value")).struct.json_encode().str.json_path_match("$.value").alias(name)
        for name in nested
    )
