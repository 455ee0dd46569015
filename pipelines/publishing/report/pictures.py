"""A chart as a picture, for places that run no scripts."""

from __future__ import annotations

import json

import polars as pl
import vl_convert

from pipelines.publishing.report.charts.scores import predicted_against_reported

_WIDTH = 720
_SCALE = 1.0


def predicted_against_reported_png(runs: pl.DataFrame) -> bytes | None:
    """Return the scatter of `mart.reconciled_runs` as PNG on white, None where no result has a prediction."""
    if runs.filter(pl.col("predicted_minutes").is_not_null(), pl.col("score_minutes").is_not_null()).is_empty():
        return None
    figure = predicted_against_reported(runs)
    spec = json.loads(figure.spec.replace("currentColor", "#222222"))
    spec |= {"width": _WIDTH, "title": {"text": figure.title, "anchor": "start"}, "background": "white"}
    spec.pop("autosize", None)
    spec["config"].pop("background", None)
    picture: bytes = vl_convert.vegalite_to_png(spec, scale=_SCALE)
    return picture
