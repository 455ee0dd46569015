"""Scores beside what the model predicts for them: agreement, error, and how both fall as systems grow."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from pipelines.publishing.report.charts import canvas
from pipelines.publishing.report.parts import Figure
from pipelines.publishing.report.words import counted, listed, task, words
from pipelines.publishing.wording import counted_part

_VERDICTS = {
    "as_predicted": ("#2e9464", "circle"),
    "faster_than_predicted": ("#2a78b8", "triangle-up"),
    "slower_than_predicted": ("#d9730d", "square"),
    "no_interval": ("#8a8f98", "diamond"),
}
_NOT_KNOWN = "not known"


def predicted_against_reported(runs: pl.DataFrame) -> Figure:
    """Return the scatter of predicted over reported scores; `runs` are rows of `mart.reconciled_runs`."""
    shown = _predicted(runs)
    inside = shown.filter(pl.col("verdict") == "as_predicted").height
    judged = shown.filter(pl.col("verdict") != "no_interval").height
    ends = canvas.limits(shown, "score_minutes", "predicted_minutes")
    scale = canvas.logarithmic(ends)
    diagonal = (
        alt.Chart(pl.DataFrame({"at": list(ends)}))
        .mark_line(strokeDash=[4, 4], color="#888")
        .encode(x=alt.X("at:Q", scale=scale), y=alt.Y("at:Q", scale=scale))
    )
    points = (
        alt.Chart(canvas.with_words(shown, "verdict"))
        .mark_point(filled=True, size=60, opacity=0.8)
        .encode(
            x=alt.X("score_minutes:Q", title="reported score in minutes", scale=scale),
            y=alt.Y("predicted_minutes:Q", title="predicted score in minutes, held out", scale=scale),
            **_verdict_marks(shown),
            tooltip=canvas.tooltip("result_id", "score_minutes", "predicted_minutes", "residual_percent", "verdict"),
        )
    )
    return canvas.figure(
        "predicted-against-reported",
        f"{inside} of {judged} reported scores lie inside the interval predicted without them",
        f"One mark per result of {_rounds(shown)}, closed division: the prediction, which is derived, over the "
        "reported score. On the dashed line they agree. Both axes are logarithmic, in minutes.",
        f"{counted(shown.height, 'result')}; half of the predictions are within {_middle_error(shown):.1f} per cent.",
        diagonal + points,
        shown,
        height=440,
    )


def prediction_errors(runs: pl.DataFrame) -> Figure:
    """Return how far each prediction is off, by the size of the system; `runs` are rows of `mart.reconciled_runs`."""
    reported = pl.col("score_minutes")
    shown = _predicted(runs).with_columns(
        (100 * (pl.col("predicted_low_minutes") / reported - 1)).alias("low_percent"),
        (100 * (pl.col("predicted_high_minutes") / reported - 1)).alias("high_percent"),
    )
    x = alt.X(
        "accelerator_count:Q",
        title="accelerators",
        scale=canvas.logarithmic(canvas.limits(shown, "accelerator_count")),
    )
    drawn = canvas.with_words(shown, "verdict")
    zero = (
        alt.Chart(pl.DataFrame({"at": [0.0]}))
        .mark_rule(strokeDash=[4, 4], color="#888")
        .encode(y=alt.Y("at:Q", title="predicted over reported, per cent off"))
    )
    intervals = (
        alt.Chart(drawn)
        .mark_rule(strokeWidth=5, opacity=0.25, color="#8a8f98")
        .encode(x=x, y="low_percent:Q", y2="high_percent:Q")
    )
    points = (
        alt.Chart(drawn)
        .mark_point(filled=True, size=60, opacity=0.85)
        .encode(
            x=x,
            y="residual_percent:Q",
            **_verdict_marks(shown),
            tooltip=canvas.tooltip("result_id", "accelerator_count", "residual_percent", "verdict"),
        )
    )
    furthest = shown.sort(pl.col("residual_percent").abs()).row(-1, named=True)
    return canvas.figure(
        "prediction-errors",
        f"Half of the predictions are within {_middle_error(shown):.1f} %; "
        f"the furthest is {furthest['residual_percent']:+.1f} % off ({furthest['benchmark']}, {furthest['round']})",
        f"One mark per result of {_rounds(shown)}, closed division: predicted over reported score minus one, in "
        "per cent, derived, each held out; bars: the interval. "
        "Below zero the run was slower than predicted. A bar that meets the dashed line holds the reported score.",
        f"Errors of {counted(shown.height, 'result')} in per cent.",
        zero + intervals + points,
        shown.select("result_id", "accelerator", "accelerator_count", "residual_percent", "verdict"),
        height=320,
    )


def scaling_curves(runs: pl.DataFrame, benchmark: str) -> Figure:
    """Return score against accelerators of one benchmark, with the model and its interval by family."""
    columns = ["result_id", "family", "accelerator", "precision", "accelerator_count", "score_minutes"]
    columns += ["predicted_minutes", "predicted_low_minutes", "predicted_high_minutes", "round"]
    shown = (
        runs.filter(benchmark=benchmark)
        .filter(pl.col("score_minutes").is_not_null(), pl.col("accelerator_count").is_not_null())
        .select(columns)
        .sort("accelerator", "precision", "accelerator_count", "result_id", nulls_last=True)
    )
    least, most = (canvas.number(size) for size in (shown["accelerator_count"].min(), shown["accelerator_count"].max()))
    predicted = shown.filter(pl.col("predicted_minutes").is_not_null())
    fastest = shown.sort("score_minutes").row(0, named=True)
    return canvas.figure(
        f"scaling-{benchmark}",
        f"{benchmark}: fastest {fastest['score_minutes']:.2f} min on "
        f"{counted_part(fastest['accelerator_count'], fastest['accelerator'])} ({fastest['round']}); "
        f"{predicted.height} of {counted(shown.height, 'result')} have a prediction",
        f"{task(benchmark)}Marks: reported scores in minutes, {_rounds(shown)}. Lines: the model, derived, each result "
        "held out; pale bars: its interval. Both axes are logarithmic.",
        f"Scores of {counted(shown.height, 'result')} on {least:,.0f} to {most:,.0f} accelerators.",
        _scaling_layers(shown),
        shown,
        height=400,
    )


def _scaling_layers(shown: pl.DataFrame) -> Any:
    named = ("accelerator", "precision")
    base = alt.Chart(shown.with_columns(pl.col(name).fill_null(_NOT_KNOWN) for name in named))
    x = alt.X(
        "accelerator_count:Q",
        title="accelerators",
        scale=canvas.logarithmic(canvas.limits(shown, "accelerator_count")),
    )
    scale = canvas.logarithmic(canvas.limits(shown, "score_minutes", "predicted_low_minutes", "predicted_high_minutes"))
    part = alt.Color("accelerator:N", title="part")
    model = base.transform_filter("datum.predicted_minutes != null")
    interval = model.mark_rule(strokeWidth=6, opacity=0.3).encode(
        x=x,
        y=alt.Y("predicted_low_minutes:Q", title="score in minutes", scale=scale),
        y2="predicted_high_minutes:Q",
        color=part,
    )
    line = model.mark_line(strokeWidth=1.5, opacity=0.8).encode(
        x=x, y=alt.Y("predicted_minutes:Q", scale=scale), color=part, detail="family:N"
    )
    reported = base.mark_point(filled=True, size=55, opacity=0.85).encode(
        x=x,
        y=alt.Y("score_minutes:Q", scale=scale),
        color=part,
        shape=alt.Shape("precision:N", title="precision"),
        tooltip=canvas.tooltip("result_id", "accelerator_count", "score_minutes", "predicted_minutes"),
    )
    return interval + line + reported


def _predicted(runs: pl.DataFrame) -> pl.DataFrame:
    columns = ["result_id", "round", "benchmark", "accelerator", "accelerator_count", "score_minutes"]
    columns += ["predicted_minutes", "predicted_low_minutes", "predicted_high_minutes", "residual_percent", "verdict"]
    has_both = (pl.col("predicted_minutes").is_not_null(), pl.col("score_minutes").is_not_null())
    return runs.filter(*has_both).select(columns)


def _middle_error(shown: pl.DataFrame) -> float:
    return canvas.number(shown["residual_percent"].abs().median())


def _rounds(shown: pl.DataFrame) -> str:
    return listed(shown["round"].unique().sort())


def _verdict_marks(shown: pl.DataFrame) -> dict[str, Any]:
    """Return colour and shape of the verdicts that there are, which share one legend."""
    told = [name for name in _VERDICTS if name in shown["verdict"].to_list()]
    domain = [words(name) for name in told]
    colours, shapes = ([_VERDICTS[name][place] for name in told] for place in (0, 1))
    return {
        "color": alt.Color("verdict:N", title=None, scale=alt.Scale(domain=domain, range=colours)),
        "shape": alt.Shape("verdict:N", title=None, scale=alt.Scale(domain=domain, range=shapes)),
    }
