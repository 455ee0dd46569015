"""The charts, each with its finding. Altair describes them; the page draws them with the runtime beside it.

Text takes the colour of the page (`currentColor`), so that a chart is right in the light and in the dark. What colour
says, a shape or the order of the rows says too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from pipelines.publishing.report.parts import Figure, script_json
from pipelines.publishing.report.words import counted, label, listed, words

PALETTE = ["#2a78b8", "#d9730d", "#2e9464", "#c2569b", "#8a6fd1", "#b8891a", "#3aa0b5", "#c4504d"]
PALETTE += ["#6b7a8f", "#7f9c2c", "#a56b46", "#5560c9"]
VERDICT_COLOURS = {
    "as_predicted": "#2e9464",
    "faster_than_predicted": "#2a78b8",
    "slower_than_predicted": "#d9730d",
    "no_interval": "#8a8f98",
}
_LOSS_PARTS = (
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
_ROW_STEP = 22
_MOST_BARS = 40
_CONFIG = {
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
    "legend": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "orient": "bottom",
        "columns": 2,
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


def predicted_against_reported(runs: pl.DataFrame) -> Figure:
    """Return the scatter of predicted over reported scores; `runs` are rows of `mart.reconciled_runs`."""
    columns = ["result_id", "round", "benchmark", "accelerator", "accelerator_count", "score_minutes"]
    columns += ["predicted_minutes", "predicted_low_minutes", "predicted_high_minutes", "residual_percent", "verdict"]
    shown = runs.filter(pl.col("predicted_minutes").is_not_null(), pl.col("score_minutes").is_not_null()).select(
        columns
    )
    inside = shown.filter(pl.col("verdict") == "as_predicted").height
    judged = shown.filter(pl.col("verdict") != "no_interval").height
    off = _number(shown["residual_percent"].abs().median())
    low, high = _limits(shown, "score_minutes", "predicted_minutes")
    scale = _log((low, high))
    diagonal = (
        alt.Chart(pl.DataFrame({"at": [low, high]}))
        .mark_line(strokeDash=[4, 4], color="#888")
        .encode(x=alt.X("at:Q", scale=scale), y=alt.Y("at:Q", scale=scale))
    )
    verdicts = [name for name in VERDICT_COLOURS if name in shown["verdict"].to_list()]
    points = (
        alt.Chart(_words_of(shown, "verdict"))
        .mark_point(filled=True, size=60, opacity=0.8)
        .encode(
            x=alt.X("score_minutes:Q", title="reported score in minutes", scale=scale),
            y=alt.Y("predicted_minutes:Q", title="predicted score in minutes, held out", scale=scale),
            color=_verdict_colour(verdicts),
            shape=alt.Shape("verdict:N", sort=[words(name) for name in verdicts], title=None),
            tooltip=_tooltip("result_id", "score_minutes", "predicted_minutes", "residual_percent", "verdict"),
        )
    )
    return _figure(
        "predicted-against-reported",
        f"{inside} of {judged} reported scores lie inside the interval predicted without them",
        "One mark per result; on the dashed line prediction and report agree. Both axes are logarithmic, in minutes.",
        f"{counted(shown.height, 'result')}; half of the predictions are within {off:.1f} per cent.",
        diagonal + points,
        shown,
        height=440,
    )


def scaling(runs: pl.DataFrame, benchmark: str) -> Figure:
    """Return score against accelerators of one benchmark, with the model and its interval by family."""
    columns = ["result_id", "family", "accelerator", "precision", "accelerator_count", "score_minutes"]
    columns += ["predicted_minutes", "predicted_low_minutes", "predicted_high_minutes", "round"]
    shown = (
        runs.filter(benchmark=benchmark)
        .filter(pl.col("score_minutes").is_not_null(), pl.col("accelerator_count").is_not_null())
        .select(columns)
        .sort("accelerator", "precision", "accelerator_count", "result_id", nulls_last=True)
    )
    drawn = shown.with_columns(pl.col("accelerator").fill_null("not known"), pl.col("precision").fill_null("not known"))
    least, most = (_number(size) for size in (shown["accelerator_count"].min(), shown["accelerator_count"].max()))
    predicted = shown.filter(pl.col("predicted_minutes").is_not_null())
    x = alt.X("accelerator_count:Q", title="accelerators", scale=_log(_limits(shown, "accelerator_count")))
    scale = _log(_limits(shown, "score_minutes", "predicted_low_minutes", "predicted_high_minutes"))
    part = alt.Color("accelerator:N", title="part")
    base = alt.Chart(drawn)
    model = base.transform_filter("datum.predicted_minutes != null")
    layers = (
        model.mark_rule(strokeWidth=6, opacity=0.3).encode(
            x=x,
            y=alt.Y("predicted_low_minutes:Q", title="score in minutes", scale=scale),
            y2="predicted_high_minutes:Q",
            color=part,
        )
        + model.mark_line(strokeWidth=1.5, opacity=0.8).encode(
            x=x, y=alt.Y("predicted_minutes:Q", scale=scale), color=part, detail="family:N"
        )
        + base.mark_point(filled=True, size=55, opacity=0.85).encode(
            x=x,
            y=alt.Y("score_minutes:Q", scale=scale),
            color=part,
            shape=alt.Shape("precision:N", title="precision"),
            tooltip=_tooltip("result_id", "accelerator_count", "score_minutes", "predicted_minutes"),
        )
    )
    fastest = shown.sort("score_minutes").row(0, named=True)
    return _figure(
        f"scaling-{benchmark}",
        f"{benchmark}: fastest {fastest['score_minutes']:.2f} min on {fastest['accelerator_count']:,} accelerators "
        f"({fastest['round']}); the model tells {predicted.height} of {shown.height} results",
        "Marks: reported scores in minutes. Lines: the model, each result held out; bars: its interval. "
        "Both axes are logarithmic.",
        f"Scores of {counted(shown.height, 'result')} on {least:,.0f} to {most:,.0f} accelerators.",
        layers,
        shown,
        height=400,
    )


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
    named = _named(shown, pl.col("round"), pl.col("submitter_folder"), pl.col("system"))
    drawn = named.with_columns(
        (100 * pl.col("fill_fraction")).alias("filled_percent"), pl.col("verdict").alias("fit")
    ).sort("filled_percent", "name")
    partly = shown.filter(pl.col("fill_fraction") < 1).height
    bars = (
        alt.Chart(_words_of(drawn, "fit"))
        .mark_bar()
        .encode(
            x=alt.X("filled_percent:Q", title="share of the stated racks' slots in use, in per cent"),
            y=alt.Y("name:N", title=None, sort=None),
            color=alt.Color("fit:N", title="how the count fits"),
            tooltip=_tooltip("name", "accelerator_count", "racks_stated", "active_per_rack", "slots_per_rack", "fit"),
        )
    )
    text = (
        alt.Chart(_words_of(drawn, "fit"))
        .mark_text(align="left", dx=4, color="currentColor")
        .encode(x="filled_percent:Q", y=alt.Y("name:N", sort=None), text=alt.Text("filled_percent:Q", format=".0f"))
    )
    least = 100 * _number(shown["fill_fraction"].min())
    return _figure(
        "rack-fill",
        f"{partly} of {shown.height} systems that state racks leave slots empty; the emptiest fills {least:.0f} %",
        "One bar per system and round: accelerators of the run over the slots of the stated racks, in per cent.",
        f"{partly} systems leave slots of their stated racks empty; {shown.height - partly} fill them.",
        bars + text,
        shown,
        height={"step": _ROW_STEP},
    )


def minutes(breakdown: pl.DataFrame, benchmark: str) -> Figure:
    """Return where the minutes of each result of one benchmark go; `breakdown` is `mart.time_breakdown`."""
    of_benchmark = breakdown.filter(pl.col("benchmark") == benchmark, pl.col("score_seconds").is_not_null())
    unsplit = pl.when(pl.col("ideal_seconds").is_null()).then("steps_seconds").alias("steps_not_split_seconds")
    shown = (
        of_benchmark.with_columns(unsplit)
        .sort("accelerator_count", "result_id", descending=[True, False], nulls_last=True)
        .select("result_id", "accelerator", "accelerator_count", "score_seconds", *_LOSS_PARTS, "largest_loss")
    )
    parts = {name: label(name).lower() for name in _LOSS_PARTS}
    drawn = (
        _named_results(shown.head(_MOST_BARS))
        .unpivot(on=list(parts), index=["name", "result_id"], variable_name="part", value_name="seconds")
        .filter(pl.col("seconds").is_not_null())
        .with_columns(
            (pl.col("seconds") / 60).alias("minutes"),
            pl.col("part").replace_strict(parts),
            pl.col("part").replace_strict({name: place for place, name in enumerate(parts)}).alias("place"),
        )
    )
    losses = shown["largest_loss"].drop_nulls().value_counts(sort=True)
    largest = label(f"{losses['largest_loss'][0]}_seconds").lower() if losses.height else "not known"
    bars = (
        alt.Chart(_words_of(drawn, "part"))
        .mark_bar()
        .encode(
            x=alt.X("minutes:Q", title="minutes of the score", stack="zero"),
            y=alt.Y("name:N", title=None, sort=None),
            color=alt.Color("part:N", title=None, sort=list(parts.values())),
            order="place:Q",
            tooltip=_tooltip("name", "part", "minutes"),
        )
    )
    return _figure(
        f"minutes-{benchmark}",
        f"{benchmark}: beside the ideal steps, the largest part is most often “{largest}”",
        f"One bar per result, at most {_MOST_BARS}, the largest systems first: parts of the score in minutes.",
        f"{counted(shown.height, 'result')}; every part stands in the table.",
        bars,
        shown,
        height={"step": _ROW_STEP},
    )


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
    drawn = _named_results(shown).rename({"nic_verdict": "enough"})
    marks = pl.concat(
        [
            drawn.select("name", pl.lit(kind).alias("what"), pl.col(column).alias("rate"))
            for kind, column in (
                ("central need", "nic_needed_gigabytes_per_second_mid"),
                ("NIC bandwidth there is", "nic_available_gigabytes_per_second"),
            )
        ]
    ).filter(pl.col("rate").is_not_null())
    y = alt.Y("name:N", title=None, sort=None)
    kinds = ["central need", "NIC bandwidth there is"]
    layers = alt.Chart(drawn).mark_rule(strokeWidth=6, opacity=0.35, color=PALETTE[0]).encode(
        x=alt.X(
            "nic_needed_gigabytes_per_second_low:Q",
            title="GB/s per accelerator, one direction",
        ),
        x2="nic_needed_gigabytes_per_second_high:Q",
        y=y,
    ) + alt.Chart(marks).mark_point(filled=True, size=70).encode(
        x="rate:Q",
        y=y,
        color=alt.Color("what:N", title=None, scale=alt.Scale(domain=kinds, range=[PALETTE[0], PALETTE[1]])),
        shape=alt.Shape("what:N", title=None, scale=alt.Scale(domain=kinds, range=["circle", "diamond"])),
        tooltip=_tooltip("name", "what", "rate"),
    )
    counts = dict(shown["nic_verdict"].fill_null("not_known").value_counts().iter_rows())
    kinds_told = (("not_enough", "have too little"), ("too_close_to_call", "are too close to call"))
    rest = [f"{counts[name]} {said}" for name, said in (*kinds_told, ("not_known", "tell no NIC")) if name in counts]
    told = listed([f"{counts.get('enough', 0)} have enough NIC bandwidth", *rest])
    return _figure(
        f"nic-{benchmark}",
        f"{benchmark}: of {counted(shown.height, 'run')} that send beyond their domain, {told}",
        "Bar: the range of the need over the assumptions; circle: central need; diamond: what there is. GB/s.",
        f"{counted(shown.height, 'run')}: {told}.",
        layers,
        shown,
        height={"step": _ROW_STEP},
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
            x=alt.X("mfu_percent:Q", title=f"MFU in per cent of dense peak ({convention})", scale=alt.Scale(zero=True)),
            y=alt.Y("accelerator:N", title=None),
            yOffset=alt.YOffset("round:N"),
            color=alt.Color("round:N", title="round"),
            shape=alt.Shape("round:N", title="round"),
            tooltip=_tooltip("result_id", "precision", "mfu_percent"),
        )
    )
    return _figure(
        f"mfu-{convention}",
        f"MFU ({convention}): at most {100 * best['model_flops_utilisation']:.0f} %, "
        f"{best['accelerator']} in {best['round']} ({best['precision']})",
        f"One mark per result, by part and round, in per cent of the peak at the run's precision; FLOPs: {convention}.",
        f"{counted(shown.height, 'result')} counted by the convention {convention}; the table lists each.",
        points,
        shown,
        height={"step": 16},
    )


def counts_by(frame: pl.DataFrame, column: str, *, anchor: str, title: str, noun: str) -> Figure:
    """Return a bar for each value of a column with its count."""
    shown = frame.group_by(column).len("count").sort("count", column, descending=[True, False])
    drawn = _words_of(shown, column)
    y = alt.Y(f"{column}:N", title=None, sort=None)
    bars = alt.Chart(drawn).mark_bar(color=PALETTE[0]).encode(x=alt.X("count:Q", title=noun), y=y)
    text = alt.Chart(drawn).mark_text(align="left", dx=4, color="currentColor").encode(x="count:Q", y=y, text="count:Q")
    listed = ", ".join(f"{count} {words(value)}" for value, count in shown.iter_rows())
    return _figure(anchor, title, f"Number of {noun}.", listed + ".", bars + text, shown, height={"step": _ROW_STEP})


def _figure(
    anchor: str, title: str, note: str, spoken: str, chart: Any, behind: pl.DataFrame, *, height: Any
) -> Figure:
    with alt.data_transformers.enable("default", max_rows=None):
        chart = chart.properties(
            width="container", height=height, autosize=alt.AutoSizeParams(type="fit-x", contains="padding")
        ).configure(**_CONFIG)
        spec = chart.to_dict()
    return Figure(anchor, title, note, spoken, script_json(spec), behind)


def _limits(frame: pl.DataFrame, *names: str) -> tuple[float, float]:
    """Return the ends of a logarithmic axis that holds the columns, with room for the marks at the edge."""
    values = pl.concat([frame[name].cast(pl.Float64).rename("value") for name in names]).drop_nulls()
    positive = values.filter(values > 0)
    return 0.85 * _number(positive.min()), 1.15 * _number(positive.max())


def _log(limits: tuple[float, float]) -> Any:
    return alt.Scale(type="log", domain=list(limits), nice=False)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 1.0


def _verdict_colour(verdicts: list[str]) -> Any:
    domain, colours = [words(name) for name in verdicts], [VERDICT_COLOURS[name] for name in verdicts]
    return alt.Color("verdict:N", title=None, sort=domain, scale=alt.Scale(domain=domain, range=colours))


def _words_of(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    return frame.with_columns(pl.col(column).str.replace_all("_", " "))


_FORMATS: Mapping[str, str] = {"accelerator_count": ",d", "racks_stated": ",d"}


def _tooltip(*names: str) -> list[Any]:
    return [
        alt.Tooltip(f"{name}:Q", format=_FORMATS.get(name, ",.2f"))
        if name.endswith(("_minutes", "_percent", "_count", "_stated")) or name in ("minutes", "rate")
        else alt.Tooltip(f"{name}:N")
        for name in names
    ]


def _named_results(frame: pl.DataFrame) -> pl.DataFrame:
    """Add a short name of each result, with the submitter where two would be called the same."""
    part = pl.col("result_id").str.splitn("/", 4).struct
    return _named(frame, part.field("field_0"), part.field("field_1"), part.field("field_2"))


def _named(frame: pl.DataFrame, round_name: pl.Expr, folder: pl.Expr, system: pl.Expr) -> pl.DataFrame:
    short = pl.concat_str(round_name.str.split("-").list.last(), pl.lit(" "), system)
    return frame.with_columns(
        pl.when(short.is_duplicated()).then(pl.concat_str(short, pl.lit(" "), folder)).otherwise(short).alias("name")
    )
