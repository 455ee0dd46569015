"""How many rows there are of each kind."""

from __future__ import annotations

import altair as alt
import polars as pl

from pipelines.publishing.report.charts import canvas
from pipelines.publishing.report.parts import Figure
from pipelines.publishing.report.words import words


def counts_by(frame: pl.DataFrame, column: str, *, anchor: str, title: str, noun: str, note: str = "") -> Figure:
    """Return a bar for each value of a column with its count.

    Args:
        frame: What is counted.
        column: Whose values have a bar each.
        anchor: Name of the figure in a link.
        title: What it shows, as a finding.
        noun: What is counted, in the plural.
        note: What the values mean.
    """
    shown = frame.group_by(column).len("count").sort("count", column, descending=[True, False])
    base = alt.Chart(canvas.with_words(shown, column)).encode(
        x=alt.X("count:Q", title=None, axis=None), y=alt.Y(f"{column}:N", title=None, sort=None)
    )
    bars = base.mark_bar(color=canvas.PALETTE[0])
    text = base.mark_text(align="left", dx=4, color="currentColor").encode(text="count:Q")
    listed = ", ".join(f"{count} {words(value)}" for value, count in shown.iter_rows())
    height = canvas.rows_height(shown.height)
    return canvas.figure(
        anchor, title, f"Number of {noun}. {note}".strip(), f"{listed}.", bars + text, shown, height=height
    )
