"""Step time and loss of two runs against samples, as one HTML file that opens offline.

What the curves mean belongs in `reconciling.comparing`.
"""

from __future__ import annotations

import html
from typing import Any

import altair as alt
import polars as pl

from pipelines.publishing.notice import TRADEMARK

_WIDTH, _HEIGHT = 860, 220


class NothingToPlotError(ValueError):
    """There is no curve in what was given."""


def curves_page(title: str, names: dict[str, str], steps: pl.DataFrame, evals: pl.DataFrame) -> str:
    """Return the page.

    Args:
        title: heading.
        names: what `A` and `B` stand for.
        steps: `run` (A or B), `samples`, `step_seconds`, `train_loss`.
        evals: `run`, `samples`, `quality`.

    Raises:
        NothingToPlotError: no row has samples and a figure.
    """
    with alt.data_transformers.enable("default", max_rows=None):
        chart = _chart(steps, evals)
        page: str = chart.to_html(inline=True, embed_options={"actions": False})
    # Names are published text: they stand escaped in the page and nowhere in the chart, which is a script.
    legend = "".join(f"<dt>{html.escape(key)}</dt><dd>{html.escape(name)}</dd>" for key, name in names.items())
    head = f"<title>{html.escape(title)}</title>"
    body = f'<h1>{html.escape(title)}</h1><dl class="names">{legend}</dl><p class="note">{html.escape(TRADEMARK)}</p>'
    return page.replace("<head>", f"<head>{head}{_STYLE}", 1).replace("<body>", f"<body>{body}", 1)


_STYLE = (
    "<style>body{font:15px system-ui,sans-serif;margin:2rem;max-width:60rem}h1{font-size:1.2rem}"
    ".names{display:grid;grid-template-columns:2rem auto}dt{font-weight:600}dd{margin:0}"
    ".note{color:#555;font-size:.85rem}</style>"
)


def _chart(steps: pl.DataFrame, evals: pl.DataFrame) -> Any:
    curves = (
        (steps, "step_seconds", "step time in seconds", "Step time"),
        (steps, "train_loss", "loss", "Training loss"),
        (evals, "quality", "result", "Evaluation"),
    )
    panels = [
        _lines(drawn, column, axis, title)
        for frame, column, axis, title in curves
        if (drawn := _drawn(frame, column)).height
    ]
    if not panels:
        raise NothingToPlotError("neither log states samples beside a step time, a loss or an evaluation")
    return alt.vconcat(*panels).resolve_scale(x="shared")


def _drawn(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    return frame.filter(pl.col(column).is_not_null(), pl.col("samples").is_not_null())


def _lines(frame: pl.DataFrame, column: str, axis: str, title: str) -> Any:
    return (
        alt.Chart(frame.select("run", "samples", column), title=title, width=_WIDTH, height=_HEIGHT)
        .mark_line(strokeWidth=1.2, point=column == "quality")
        .encode(
            x=alt.X("samples:Q", title="samples"),
            y=alt.Y(f"{column}:Q", title=axis, scale=alt.Scale(zero=False)),
            color=alt.Color("run:N", title=None),
            tooltip=["run:N", "samples:Q", alt.Tooltip(f"{column}:Q", format=".4f")],
        )
    )
