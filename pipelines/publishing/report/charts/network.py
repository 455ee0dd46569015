"""The NIC bandwidth that runs need beside what they have."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from pipelines.publishing.report.charts import canvas
from pipelines.publishing.report.parts import Figure
from pipelines.publishing.report.words import SIGNS, counted, listed, task

_NEED, _HAVE = "central need", "NIC bandwidth there is"
_TOLD = {
    "enough": "have enough NIC bandwidth",
    "not_enough": "have too little",
    "too_close_to_call": "are too close to call",
    "not_known": "state no NIC",
}


def nic_need(runs: pl.DataFrame, benchmark: str) -> Figure:
    """Return the NIC bandwidth that each run of a benchmark needs beside what it has, in GB/s per accelerator."""
    shown = (
        runs.filter(benchmark=benchmark)
        .filter(pl.col("nic_needed_gigabytes_per_second_mid") > 0)
        .sort("nic_needed_gigabytes_per_second_mid", "result_id")
        .select(
            "result_id",
            "accelerator",
            "accelerator_count",
            "nic_needed_gigabytes_per_second_low",
            "nic_needed_gigabytes_per_second_mid",
            "nic_needed_gigabytes_per_second_high",
            "nic_available_gigabytes_per_second",
            "nic_verdict",
        )
    )
    counts = dict(shown["nic_verdict"].fill_null("not_known").value_counts().iter_rows())
    told = listed([f"{counts.get(name, 0)} {said}" for name, said in _TOLD.items() if name in counts])
    signs = ", ".join(f"{SIGNS[name]} {said}" for name, said in _SIGNED.items() if name in counts)
    return canvas.figure(
        f"nic-{benchmark}",
        f"{benchmark}: of {counted(shown.height, 'run')} that send beyond their domain, {told}",
        f"{task(benchmark)}GB/s per accelerator, one direction. Bar: the range of the need over the assumptions; "
        f"circle: central need; both derived. Diamond: what there is.{f' Before a name: {signs}.' if signs else ''}",
        f"{counted(shown.height, 'run')}: {told}.",
        _layers(shown),
        shown,
        height=canvas.rows_height(shown.height),
    )


_SIGNED = {"enough": "enough", "too_close_to_call": "too close to call", "not_enough": "not enough"}


def _layers(shown: pl.DataFrame) -> Any:
    sign = pl.col("nic_verdict").replace_strict({name: SIGNS[name] for name in _SIGNED}, default="  ")
    drawn = canvas.named_results(shown).with_columns(pl.format("{} {}", sign, "name").alias("name"))
    columns = {_NEED: "nic_needed_gigabytes_per_second_mid", _HAVE: "nic_available_gigabytes_per_second"}
    marks = pl.concat(
        drawn.select("name", pl.lit(kind).alias("what"), pl.col(column).alias("rate"))
        for kind, column in columns.items()
    ).filter(pl.col("rate").is_not_null())
    y = alt.Y("name:N", title=None, sort=None)
    colours, shapes = [canvas.PALETTE[0], canvas.PALETTE[1]], ["circle", "diamond"]
    ranges = (
        alt.Chart(drawn)
        .mark_rule(strokeWidth=6, opacity=0.35, color=canvas.PALETTE[0])
        .encode(
            x=alt.X("nic_needed_gigabytes_per_second_low:Q", title="GB/s per accelerator, one direction"),
            x2="nic_needed_gigabytes_per_second_high:Q",
            y=y,
        )
    )
    points = (
        alt.Chart(marks)
        .mark_point(filled=True, size=80, opacity=1)
        .encode(
            x="rate:Q",
            y=y,
            color=alt.Color("what:N", title=None, scale=alt.Scale(domain=list(columns), range=colours)),
            shape=alt.Shape("what:N", title=None, scale=alt.Scale(domain=list(columns), range=shapes)),
            tooltip=canvas.tooltip("name", "what", "rate"),
        )
    )
    return ranges + points
