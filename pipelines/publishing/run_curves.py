"""Step time and loss of two runs against samples, as one HTML file that opens offline.

What the curves mean belongs in `reconciling.comparing`.
"""

from __future__ import annotations

import html
from typing import Any

import altair as alt
import polars as pl

_WIDTH, _HEIGHT = 860, 260


def curves_page(title: str, names: dict[str, str], steps: pl.DataFrame, evals: pl.DataFrame) -> str:
    """Return the page.

    Args:
        title: heading.
        names: what `A` and `B` stand for.
        steps: `run` (A or B), `samples`, `step_seconds`, `train_loss`.
        evals: `run`, `samples`, `quality`.
    """
    with alt.data_transformers.enable("default", max_rows=None):
        chart = _chart(steps, evals)
        page: str = chart.to_html(inline=True, embed_options={"actions": False})
    # Names are published text: they stand escaped in the page and nowhere in the chart, which is a script.
    legend = "".join(f"<dt>{html.escape(key)}</dt><dd>{html.escape(name)}</dd>" for key, name in names.items())
    head = f"<title>{html.escape(title)}</title>"
    body = f'<h1>{html.escape(title)}</h1><dl class="names">{legend}</dl>'
    return page.replace("<head>", f"<head>{head}{_STYLE}", 1).replace("<body>", f"<body>{body}", 1)


_STYLE = (
    "<style>body{font:15px system-ui,sans-serif;margin:2rem;max-width:60rem}h1{font-size:1.2rem}"
    ".names{display:grid;grid-template-columns:2rem auto}dt{font-weight:600}dd{margin:0}</style>"
)


def _chart(steps: pl.DataFrame, evals: pl.DataFrame) -> Any:
    panels = []
    times = steps.filter(pl.col("step_seconds").is_not_null())
    losses = steps.filter(pl.col("train_loss").is_not_null())
    if times.height:
        panels.append(_lines(times, "step_seconds", "step time in seconds", "Step time"))
    if losses.height or evals.height:
        loss = _lines(losses, "train_loss", "loss", "Training loss, and evaluations as points")
        points = (
            alt.Chart(evals.select("run", "samples", "quality"))
            .mark_point(filled=True, size=70)
            .encode(x="samples:Q", y=alt.Y("quality:Q", scale=alt.Scale(zero=False)), color="run:N")
        )
        panels.append(alt.layer(loss, points) if evals.height else loss)
    return alt.vconcat(*panels).resolve_scale(x="shared")


def _lines(frame: pl.DataFrame, column: str, axis: str, title: str) -> Any:
    return (
        alt.Chart(frame.select("run", "samples", column), title=title, width=_WIDTH, height=_HEIGHT)
        .mark_line(strokeWidth=1.2)
        .encode(
            x=alt.X("samples:Q", title="samples"),
            y=alt.Y(f"{column}:Q", title=axis, scale=alt.Scale(zero=False)),
            color=alt.Color("run:N", title=None),
            tooltip=["run:N", "samples:Q", alt.Tooltip(f"{column}:Q", format=".4f")],
        )
    )
