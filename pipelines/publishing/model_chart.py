"""Predicted against reported minutes of every run, as one SVG for the documentation.

`python -m pipelines.publishing.model_chart FILE` draws it from the warehouse of the last refresh. What the figures
mean is told in `docs/modelling.md`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import altair as alt
import polars as pl
import vl_convert

from pipelines.lake.queries import query
from pipelines.lake.warehouse_copy import current_warehouse
from pipelines.settings import Settings

_COLUMNS = "result_id, benchmark, accelerator, accelerator_count, score_minutes, predicted_minutes, residual_percent"
_QUERY = f"select {_COLUMNS} from mart.reconciled_runs where predicted_minutes is not null order by result_id"  # noqa: S608
_SIDE = 420


def model_svg(runs: pl.DataFrame) -> str:
    """Return the chart: predicted over reported on the left, the error of each run by its size on the right.

    Args:
        runs: rows of `mart.reconciled_runs` that have a prediction.
    """
    shown = runs.sort("result_id").with_columns(
        pl.col("score_minutes", "predicted_minutes", "residual_percent").round(6)
    )
    least = shown.select(pl.min_horizontal(pl.col("score_minutes", "predicted_minutes").min())).item() * 0.8
    most = shown.select(pl.max_horizontal(pl.col("score_minutes", "predicted_minutes").max())).item() * 1.25
    minutes = alt.Scale(type="log", domain=[least, most], nice=False)
    colour = alt.Color("benchmark:N", title=None, legend=alt.Legend(orient="top"))
    points = alt.Chart(shown).mark_point(size=45, strokeWidth=1.4)
    line = (
        alt.Chart(pl.DataFrame({"at": [least, most]}))
        .mark_line(strokeDash=[4, 3], color="#777777")
        .encode(alt.X("at:Q", scale=minutes), alt.Y("at:Q", scale=minutes))
    )
    agreement = points.encode(
        alt.X("score_minutes:Q", title="reported, minutes", scale=minutes),
        alt.Y("predicted_minutes:Q", title="predicted with the run held out, minutes", scale=minutes),
        colour,
        alt.Shape("benchmark:N", title=None),
    )
    zero = alt.Chart(pl.DataFrame({"zero": [0.0]})).mark_rule(color="#777777", strokeDash=[4, 3]).encode(y="zero:Q")
    errors = points.encode(
        alt.X("accelerator_count:Q", title="accelerators", scale=alt.Scale(type="log", nice=False, padding=12)),
        alt.Y("residual_percent:Q", title="predicted over reported, per cent off"),
        colour,
        alt.Shape("benchmark:N", title=None),
    )
    size = {"width": _SIDE, "height": _SIDE}
    both = alt.hconcat((line + agreement).properties(**size), (zero + errors).properties(**size))
    chart = both.configure(background="white").configure_axis(grid=True, gridColor="#eeeeee")
    return str(vl_convert.vegalite_to_svg(chart.to_dict()))


def main(target: Path) -> None:
    """Draw the chart from the warehouse into a file."""
    settings = Settings.from_environment()
    runs = query(current_warehouse(settings.lake, settings.warehouse), _QUERY)
    target.write_text(model_svg(runs), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
