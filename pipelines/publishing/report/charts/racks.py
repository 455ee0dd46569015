"""How full the racks are that submitters state."""

from __future__ import annotations

import altair as alt
import polars as pl

from pipelines.publishing.report.charts import canvas
from pipelines.publishing.report.parts import Figure


def rack_fill(audit: pl.DataFrame) -> Figure:
    """Return used and empty slots of each system whose racks are stated; `audit` is `mart.rack_audit`."""
    shown = audit.filter(pl.col("racks_stated") > 0).select(
        "round",
        "submitter_folder",
        "system",
        "accelerator_count",
        "racks_stated",
        "active_per_rack",
        "slots_per_rack",
        "idle_slots",
        "fill_fraction",
        "verdict",
    )
    filled = 100 * pl.col("fill_fraction")
    fit = pl.col("verdict").str.replace_all("_", " ")
    drawn = (
        canvas.named(shown, pl.col("round"), pl.col("submitter_folder"), pl.col("system"))
        .with_columns(filled.alias("filled_percent"), fit.alias("fit"))
        .with_columns(pl.format("{} %, {}", filled.round(0).cast(pl.Int64), "fit").alias("said"))
        .sort("filled_percent", "name")
    )
    base = alt.Chart(drawn).encode(
        x=alt.X(
            "filled_percent:Q",
            title="slots in use, per cent",
            scale=alt.Scale(domain=[0, 118], nice=False),
            axis=alt.Axis(values=[0, 20, 40, 60, 80, 100]),
        ),
        y=alt.Y("name:N", title=None, sort=None),
    )
    bars = base.mark_bar().encode(
        color=alt.Color("fit:N", title="how the count fits"),
        tooltip=canvas.tooltip("name", "accelerator_count", "racks_stated", "active_per_rack", "slots_per_rack", "fit"),
    )
    text = base.mark_text(align="left", dx=4, color="currentColor").encode(text="said:N")
    partly = shown.filter(pl.col("fill_fraction") < 1).height
    least = 100 * canvas.number(shown["fill_fraction"].min())
    return canvas.figure(
        "rack-fill",
        f"{partly} of {shown.height} systems that state racks leave slots empty; the emptiest fills {least:.0f} %",
        "One bar per system and round: accelerators of the run over the slots of the stated racks, in per cent, "
        "derived, and how the count fits.",
        f"{partly} systems leave slots of their stated racks empty; {shown.height - partly} fill them.",
        bars + text,
        shown,
        height=canvas.rows_height(shown.height),
    )
