"""How every chart looks: colours, axes, legends, names of rows. What a chart shows belongs in its own module.

Altair describes a chart; the page draws it with the runtime beside it. Text takes the colour of the page
(`currentColor`), so that a chart is right in the light and in the dark. What colour says, a shape, a word or the order
of the rows says too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from pipelines.publishing.report.parts import Figure, script_json

PALETTE = ["#2a78b8", "#d9730d", "#2e9464", "#c2569b", "#8a6fd1", "#b8891a", "#3aa0b5", "#c4504d"]
PALETTE += ["#6b7a8f", "#7f9c2c", "#a56b46", "#5560c9"]
_ROW_STEP = 22

_CONFIG: Mapping[str, Any] = {
    "aria": False,
    "background": "transparent",
    "view": {"stroke": None},
    "font": "system-ui, sans-serif",
    "axis": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "domainColor": "#8888",
        "tickColor": "#8888",
        "gridColor": "#8883",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 230,
    },
    "axisX": {"tickCount": 10},
    "legend": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "orient": "top",
        "columns": 4,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "labelLimit": 300,
        "symbolStrokeWidth": 2,
        "symbolOpacity": 1,
        "symbolBaseFillColor": "currentColor",
        "symbolBaseStrokeColor": "currentColor",
    },
    "range": {"category": PALETTE},
}
_FORMATS: Mapping[str, str] = {"accelerator_count": ",d", "racks_stated": ",d"}


def figure(anchor: str, title: str, note: str, spoken: str, chart: Any, behind: pl.DataFrame, *, height: int) -> Figure:
    """Return a chart with its words and the table behind it.

    Args:
        anchor: Its name in a link.
        title: What it shows, as a finding.
        note: What the marks are, with units.
        spoken: The same for who does not see it.
        chart: What Altair draws, as wide as the page.
        behind: The figures that it is drawn from.
        height: Pixels.
    """
    with alt.data_transformers.enable("default", max_rows=None):
        autosize = alt.AutoSizeParams(type="fit-x", contains="padding")
        sized = chart.properties(width="container", height=height, autosize=autosize)
        spec = sized.configure(**_CONFIG).to_dict()
    return Figure(anchor, title, note, spoken, script_json(spec), behind)


def rows_height(rows: int) -> int:
    """Return the height of a chart with so many rows, in pixels."""
    return max(1, rows) * _ROW_STEP


def limits(frame: pl.DataFrame, *names: str) -> tuple[float, float]:
    """Return the ends of a logarithmic axis that holds the columns, with room for the marks at the edge."""
    values = pl.concat([frame[name].cast(pl.Float64).rename("value") for name in names]).drop_nulls()
    positive = values.filter(values > 0)
    return 0.85 * number(positive.min()), 1.15 * number(positive.max())


def logarithmic(ends: tuple[float, float]) -> Any:
    """Return a logarithmic scale between two ends."""
    return alt.Scale(type="log", domain=list(ends), nice=False)


def number(value: object) -> float:
    """Return what Polars found as a number, 1 where it found none."""
    return float(value) if isinstance(value, int | float) else 1.0


def with_words(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return a frame whose slugs in one column are words."""
    return frame.with_columns(pl.col(column).str.replace_all("_", " "))


def tooltip(*names: str) -> list[Any]:
    """Return what is told of the mark under the pointer."""
    return [
        alt.Tooltip(f"{name}:Q", format=_FORMATS.get(name, ",.2f"))
        if name.endswith(("_minutes", "_percent", "_count", "_stated")) or name in ("minutes", "rate")
        else alt.Tooltip(f"{name}:N")
        for name in names
    ]


def named_results(frame: pl.DataFrame) -> pl.DataFrame:
    """Add a short name of each result, with the submitter where two would be called the same."""
    part = pl.col("result_id").str.splitn("/", 4).struct
    return named(frame, part.field("field_0"), part.field("field_1"), part.field("field_2"))


def named(frame: pl.DataFrame, round_name: pl.Expr, folder: pl.Expr, system: pl.Expr) -> pl.DataFrame:
    """Add the short name of each row, such as `v5.0 carina_ngpu2496_ngc25.04_nemo`."""
    short = pl.concat_str(round_name.str.split("-").list.last(), pl.lit(" "), system)
    return frame.with_columns(
        pl.when(short.is_duplicated()).then(pl.concat_str(short, pl.lit(" "), folder)).otherwise(short).alias("name")
    )
