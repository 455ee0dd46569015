"""Where the time goes: the parts of each score, and how much of a part's peak the model's own arithmetic had."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from pipelines.publishing.report.charts import canvas
from pipelines.publishing.report.parts import Figure
from pipelines.publishing.report.words import counted, label, task

_PARTS = (
    "steps_not_split_seconds",
    "ideal_seconds",
    "bubble_seconds",
    "fixed_seconds",
    "beyond_model_seconds",
    "evaluation_seconds",
    "remainder_seconds",
    "other_runs_seconds",
    "rcp_seconds",
)
_MOST_BARS = 40


def minutes_spent(breakdown: pl.DataFrame, benchmark: str) -> Figure:
    """Return where the minutes of each result of one benchmark go; `breakdown` is `mart.time_breakdown`."""
    of_benchmark = breakdown.filter(pl.col("benchmark") == benchmark, pl.col("score_seconds").is_not_null())
    unsplit = pl.when(pl.col("ideal_seconds").is_null()).then("steps_seconds").alias("steps_not_split_seconds")
    shown = (
        of_benchmark.with_columns(unsplit)
        .sort("accelerator_count", "result_id", descending=[True, False], nulls_last=True)
        .select("result_id", "accelerator", "accelerator_count", "score_seconds", *_PARTS, "largest_loss")
    )
    losses = shown["largest_loss"].drop_nulls().value_counts(sort=True)
    largest = label(f"{losses['largest_loss'][0]}_seconds").lower() if losses.height else "not known"
    bars = min(shown.height, _MOST_BARS)
    which = f"One bar for each of the {bars} largest systems" if bars < shown.height else "One bar per result"
    return canvas.figure(
        f"minutes-{benchmark}",
        f"{benchmark}: besides the steps' own work, the largest part is most often “{largest}”",
        f"{task(benchmark)}{which}, the largest system first: parts of the score in minutes, derived; "
        "those below zero to the left.",
        f"{counted(shown.height, 'result')}; every part stands in the table.",
        _bars(shown.head(_MOST_BARS)),
        shown,
        height=canvas.rows_height(bars),
    )


def _bars(shown: pl.DataFrame) -> Any:
    parts = {name: label(name).lower() for name in _PARTS}
    places = {name: place for place, name in enumerate(parts)}
    drawn = (
        canvas.named_results(shown)
        .with_row_index("row")
        .unpivot(on=list(parts), index=["row", "name", "result_id"], variable_name="part", value_name="seconds")
        .filter(pl.col("seconds").is_not_null())
        .with_columns(
            (pl.col("seconds") / 60).alias("minutes"),
            pl.col("part").replace_strict(parts),
            pl.col("part").replace_strict(places).alias("place"),
        )
        .sort("row", "place")  # bars stand in the order in which their names first come
        .drop("row")
    )
    present = [name for name in parts.values() if name in drawn["part"].unique().to_list()]
    colours = dict(zip(parts.values(), canvas.PALETTE, strict=False))
    return (
        alt.Chart(drawn)
        .mark_bar()
        .encode(
            x=alt.X("minutes:Q", title="minutes of the score", stack="zero"),
            y=alt.Y("name:N", title=None, sort=None),
            color=alt.Color(
                "part:N",
                title=None,
                scale=alt.Scale(domain=present, range=[colours[name] for name in present]),
            ),
            order="place:Q",
            tooltip=canvas.tooltip("name", "part", "minutes"),
        )
    )


def utilisation(runs: pl.DataFrame, convention: str) -> Figure:
    """Return MFU over rounds by part, of the results counted by one convention."""
    shown = (
        runs.filter(pl.col("flops_convention") == convention, pl.col("model_flops_utilisation").is_not_null())
        .select(
            "round",
            "benchmark",
            "accelerator",
            "precision",
            "accelerator_count",
            "model_flops_utilisation",
            "flops_convention",
            "result_id",
        )
        .sort("round", "accelerator", "result_id", nulls_last=True)
    )
    best = shown.sort("model_flops_utilisation").row(-1, named=True)
    points = (
        alt.Chart(shown.with_columns((100 * pl.col("model_flops_utilisation")).alias("mfu_percent")))
        .mark_point(filled=True, size=55, opacity=0.75)
        .encode(
            x=alt.X("mfu_percent:Q", title=f"MFU, per cent of dense peak ({convention})", scale=alt.Scale(zero=True)),
            y=alt.Y("accelerator:N", title=None),
            yOffset=alt.YOffset("round:N"),
            color=alt.Color("round:N", title="round"),
            shape=alt.Shape("round:N", title="round"),
            tooltip=canvas.tooltip("result_id", "benchmark", "precision", "mfu_percent"),
        )
    )
    return canvas.figure(
        f"mfu-{convention}",
        f"MFU ({convention}): at most {100 * best['model_flops_utilisation']:.0f} %, "
        f"{best['accelerator']} at {best['precision']}, {best['benchmark']} in {best['round']}",
        f"One mark per result, by part and round, in per cent of the peak at the run's precision, derived; "
        f"FLOPs: {convention}.",
        f"{counted(shown.height, 'result')} counted by the convention {convention}; the table lists each.",
        points,
        shown,
        height=canvas.rows_height(shown.select("accelerator", "round").n_unique()),
    )
