"""The pages behind the first: what each shows, from which table. How they look is in the templates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import polars as pl

from pipelines.publishing.report.charts import counts, network, racks, scores, time
from pipelines.publishing.report.parts import Figure, Grid, Plain, Section
from pipelines.publishing.report.tables import AbsentTableError, Tables
from pipelines.publishing.report.words import counted, label, listed
from pipelines.schemas import TABLES
from pipelines.schemas.core import SEVERITIES

ALL_RESULTS = "results"

_SEVERITIES = {"error": "error", "warning": "warning", "info": "note"}
_COUNTED_ROWS = {"rows": pl.Int64, "rows_in_quarantine": pl.Int64}
_RACK_VERDICTS = (
    "Whole: the racks are full. Explained: slots are empty for a reason that fits. Part rack: all fits in a part of "
    "one rack. Ambiguous: several readings fit. Contradicted: no reading fits."
)
_CLAIM_VERDICTS = (
    "Supported: it holds. Misplaced: it holds for something else than it names. Contradicted: facts or the model say "
    "otherwise. Implausible: far from anything known. The others: nothing to hold them against."
)
_ON_CHECKS = (
    "A check that fails with severity warning is about what others published: the rows that fail are findings. One of "
    "severity error would have stopped these figures from being published."
)


@dataclass(frozen=True)
class Content:
    """What fills a page."""

    figures: Sequence[Figure] = ()
    grid: Grid | None = None
    sections: Sequence[Section] = ()


@dataclass(frozen=True)
class Page:
    """One page of the report."""

    name: str
    """File name without its ending."""
    title: str
    lead: str
    """What the page answers, in one or two sentences."""
    group: str
    fill: Callable[[Tables], Content] = field(repr=False)


def _results(tables: Tables) -> Content:
    results = tables.need("mart.results")
    runs = tables.want("mart.reconciled_runs")
    if runs is not None:
        columns = ["predicted_minutes", "residual_percent", "precision", "layout", "verdict", "explanation"]
        results = results.join(runs.select("result_id", *columns), on="result_id", how="left")
    shown = ["system", "round", "benchmark", "submitter", "accelerator", "accelerator_count", "division"]
    shown += ["score_minutes", "predicted_minutes"]
    return Content(
        grid=Grid(
            ALL_RESULTS,
            f"{counted(results.height, 'training result')} of {listed(results['round'].unique().sort())}",
            results,
            "result_id",
            [name for name in shown if name in results.columns],
            ("round", "benchmark", "accelerator", "division", "submitter", "scaling_mode"),
            "result_id",
            labels={"verdict": "Verdict on the time", "explanation": "In words"},
            command="rackrecon explain",
        )
    )


def _inference(tables: Tables) -> Content:
    results = tables.need("mart.inference_results")
    shown = ["system_name", "round", "benchmark", "scenario", "submitter", "accelerators", "result", "result_unit"]
    shown += ["result_per_accelerator"]
    return Content(
        grid=Grid(
            "inference",
            f"{counted(results.height, 'inference result')} of {listed(results['round'].unique().sort())}",
            results,
            "inference_id",
            shown,
            ("round", "workload", "scenario", "accelerator", "division", "suite", "submitter"),
            "inference_id",
            labels={"system_name": "System", "accelerators": "Accelerators"},
        )
    )


def _scaling(tables: Tables) -> Content:
    runs = tables.need("mart.reconciled_runs")
    told = _benchmarks(runs.filter(pl.col("predicted_minutes").is_not_null()))
    if not told:
        raise AbsentTableError("No result has a prediction yet: a family needs three results of one part and layout.")
    figures = [scores.scaling(runs, benchmark) for benchmark in told]
    pairs = tables.want("mart.strong_scaling")
    grid = None
    if pairs is not None:
        shown = ["benchmark", "accelerator", "base_accelerator_count", "accelerator_count", "efficiency_score"]
        shown += ["efficiency_throughput", "efficiency_model", "result_id"]
        keyed = pairs.with_columns(pl.concat_str("result_id", pl.lit(" from "), "base_result_id").alias("pair"))
        grid = Grid(
            "scaling",
            "Pairs of results of one part and benchmark: speed-up over growth in accelerators, 1 is linear; derived",
            keyed,
            "pair",
            shown,
            ("benchmark", "accelerator"),
            "benchmark",
        )
    return Content(figures, grid)


def _prediction(tables: Tables) -> Content:
    runs = tables.need("mart.reconciled_runs")
    if runs["predicted_minutes"].is_null().all():
        raise AbsentTableError("No result has a prediction yet: a family needs three results of one part and layout.")
    reasons = runs["no_prediction_reason"].drop_nulls().value_counts(sort=True, name="results")
    section = Section(
        "Results without a prediction",
        (f"{reasons['results'].sum()} of {runs.height} language-model results have none.",),
        Plain("Why there is no prediction", reasons.rename({"no_prediction_reason": "reason"}).sort("reason")),
    )
    figures = [scores.predicted_against_reported(runs), scores.prediction_errors(runs)]
    return Content(figures, sections=[section] if reasons.height else [])


def _racks(tables: Tables) -> Content:
    audit = tables.need("mart.rack_audit")
    against = audit.filter(pl.col("verdict") == "contradicted").height
    verdicts = counts.counts_by(
        audit,
        "verdict",
        anchor="rack-verdicts",
        title=f"{against or 'None'} of {counted(audit.height, 'rack-scale system')} "
        f"{'contradict' if against > 1 else 'contradicts'} the racks that its submitter states",
        noun="systems of all rounds here",
        note=_RACK_VERDICTS,
    )
    figures = [verdicts]
    if audit["racks_stated"].fill_null(0).max():
        figures.append(racks.rack_fill(audit))
    shown = ["system", "round", "rack_product", "accelerator_count", "racks_stated", "active_per_rack"]
    shown += ["slots_per_rack", "idle_slots", "verdict"]
    keyed = audit.with_columns(pl.concat_str("round", "submitter_folder", "system", separator="/").alias("row"))
    grid = Grid(
        "racks",
        f"{counted(audit.height, 'rack-scale system')} of {listed(audit['round'].unique().sort())}",
        keyed,
        "row",
        shown,
        ("round", "rack_product", "verdict"),
        "accelerator_count",
    )
    return Content(figures, grid)


def _minutes(tables: Tables) -> Content:
    breakdown = tables.need("mart.time_breakdown")
    told = _benchmarks(breakdown.filter(pl.col("score_seconds").is_not_null()))
    return Content([time.minutes(breakdown, benchmark) for benchmark in told])


def _nic(tables: Tables) -> Content:
    runs = tables.need("mart.reconciled_runs")
    told = _benchmarks(runs.filter(pl.col("nic_needed_gigabytes_per_second_mid") > 0))
    if not told:
        raise AbsentTableError("No run here has traffic outside its scale-up domain whose need could be worked out.")
    return Content([network.nic_need(runs, benchmark) for benchmark in told])


def _mfu(tables: Tables) -> Content:
    runs = tables.need("mart.reconciled_runs").filter(pl.col("model_flops_utilisation").is_not_null())
    conventions = runs["flops_convention"].drop_nulls().unique().sort().to_list()
    if not conventions:
        raise AbsentTableError("No result here has a utilisation: it needs a step time, a model and a known peak.")
    return Content([time.utilisation(runs, convention) for convention in conventions])


def _claims(tables: Tables) -> Content:
    ledger = tables.need("mart.claims_ledger")
    supported = ledger.filter(pl.col("verdict") == "supported").height
    figure = counts.counts_by(
        ledger,
        "verdict",
        anchor="claim-verdicts",
        title=f"{supported} of {counted(ledger.height, 'claim')} are supported as they stand",
        noun="claims",
        note=_CLAIM_VERDICTS,
    )
    shown = ["claim_id", "quote", "verdict", "explanation", "document"]
    grid = Grid(
        "claims",
        f"{counted(ledger.height, 'claim')} of {counted(ledger['document'].n_unique(), 'document')}",
        ledger,
        "claim_id",
        shown,
        ("document", "verdict", "metric"),
        "claim_id",
        command="rackrecon explain",
    )
    return Content([figure], grid)


def _conflicts(tables: Tables) -> Content:
    conflicts = tables.need("mart.fact_conflicts")
    explained = conflicts.filter(pl.col("explained_by") != "unexplained").height
    figure = counts.counts_by(
        conflicts,
        "explained_by",
        anchor="explained-by",
        title=f"There is a known reason for {explained} of {counted(conflicts.height, 'published figure')} that "
        "disagree with the one taken",
        noun="figures by what explains them",
        note="A row of the table below, once opened, says it in a sentence.",
    )
    keyed = conflicts.with_columns(pl.concat_str("subject", "metric", "source", "locator", separator=", ").alias("row"))
    shown = ["subject", "metric", "value", "resolved_value", "unit", "ratio", "explained_by", "source"]
    grid = Grid(
        "conflicts",
        f"{counted(conflicts.height, 'figure')} that disagree with the one taken",
        keyed,
        "row",
        shown,
        ("subject", "explained_by", "source"),
        "subject",
    )
    return Content([figure], grid)


def _findings(tables: Tables) -> Content:
    findings = tables.need("mart.findings").with_columns(
        pl.col("severity").replace_strict({name: place for place, name in enumerate(SEVERITIES)}).alias("order")
    )
    frame = findings.sort("order", "kind", "subject").drop("order")
    shown = ["severity", "kind", "round", "subject", "explanation"]
    told = listed(counted(frame.filter(severity=name).height, noun) for name, noun in _SEVERITIES.items())
    caption = f"{counted(frame.height, 'finding')}: {told}"
    return Content(grid=Grid("findings", caption, frame, "finding_id", shown, ("severity", "kind", "round"), ""))


def _quality(tables: Tables) -> Content:
    checks = tables.need("mart.checks")
    passed = checks.filter(pl.col("status") == "passed").height
    is_passed = pl.col("status") == "passed"
    shown = checks.sort(is_passed, "table", "name").select(
        "status", "table", "name", "checked_count", "failed_count", "meaning"
    )
    written = [
        {"table": name, "partition": partition, "rows": manifest.rows, "rows_in_quarantine": manifest.quarantined_rows}
        for name, entry in TABLES.items()
        for partition in tables.lake.partitions(name)
        for manifest in [tables.lake.manifest(name, partition if entry.by_round else None)]
        if manifest is not None
    ]
    rows = pl.DataFrame(written, schema={"table": pl.String, "partition": pl.String, **_COUNTED_ROWS})
    apart = rows["rows_in_quarantine"].sum()
    return Content(
        sections=[
            Section(
                f"{passed} of {counted(checks.height, 'check')} passed",
                (_ON_CHECKS,),
                Plain("What came of each check, over all rounds here", shown),
                "checks",
            ),
            Section(
                f"{f'{apart:,} rows are' if apart else 'No row is'} in quarantine",
                ("A row that breaks a rule of its table is set apart with the rule. It is in no figure.",),
                Plain("Rows of each table and round", rows, summary=f"Rows of {counted(rows.height, 'partition')}"),
                "quarantine",
            ),
        ]
    )


def _dictionary(_: Tables) -> Content:
    return Content(
        sections=[
            Section(
                name,
                (entry.description,),
                Plain(
                    f"Columns of {name}",
                    pl.DataFrame(
                        [
                            {
                                "column": column_name,
                                "in_words": label(column_name),
                                "type": str(column.dtype),
                                "unit": (column.metadata or {}).get("unit") or "",
                                "meaning": column.description or "",
                            }
                            for column_name, column in entry.schema.columns().items()
                        ]
                    ),
                    summary=counted(len(entry.schema.column_names()), "column"),
                ),
                name,
            )
            for name, entry in TABLES.items()
        ]
    )


def _sources(tables: Tables) -> Content:
    columns = ("round", "source", "commit", "retrieved_at", "licence", "file_count")
    read_on = pl.col("retrieved_at").str.head(16).str.replace("T", " ") + " UTC"
    sources = tables.need("core.sources").select(columns).with_columns(read_on)
    return Content(sections=[Section("Where the figures come from", (), Plain("Repositories as read", sources))])


def _nothing(_: Tables) -> Content:
    return Content()


def _benchmarks(frame: pl.DataFrame) -> list[str]:
    """Return the benchmarks of a frame, the one with the largest systems first."""
    by_size = frame.group_by("benchmark").agg(pl.col("accelerator_count").max().alias("most"))
    return by_size.sort("most", "benchmark", descending=[True, False], nulls_last=True)["benchmark"].to_list()


PAGES = (
    Page(
        "results",
        "Training results",
        "Find a result, see what it rests on, link to it, take it with you. Scores are recomputed from the logs.",
        "Results",
        _results,
    ),
    Page(
        "inference",
        "Inference results",
        "What submitters published for inference, as they published it. A rate per accelerator is derived.",
        "Results",
        _inference,
    ),
    Page(
        "scaling",
        "Scaling curves",
        "How scores fall as systems grow, beside what the model predicts for each result without having seen it.",
        "Results",
        _scaling,
    ),
    Page(
        "prediction",
        "Predicted against reported",
        "Does the model, fitted without a result, give its score?",
        "Model",
        _prediction,
    ),
    Page("racks", "Rack fill", "Do the accelerators fit the racks that the submitter states?", "Results", _racks),
    Page("minutes", "Where the minutes go", "What a score is made of, and the largest loss.", "Model", _minutes),
    Page("nic", "NIC need against NIC", "Was each run's network enough for what it had to send?", "Model", _nic),
    Page(
        "mfu",
        "MFU over rounds",
        "How much of each part's peak went into the model's own arithmetic. The convention is in every label.",
        "Model",
        _mfu,
    ),
    Page("claims", "Claims ledger", "What documents state, and what comes of checking it.", "Checks", _claims),
    Page(
        "conflicts",
        "Source conflicts",
        "Published figures that differ from the one taken, and why they differ.",
        "Checks",
        _conflicts,
    ),
    Page("findings", "Findings", "Everything a person should look at.", "Checks", _findings),
    Page("quality", "Data quality", "What was checked on our own tables, and what was set apart.", "Checks", _quality),
    Page("dictionary", "Data dictionary", "Every table and column with its unit.", "About", _dictionary),
    Page("glossary", "Glossary", "The words of this report, each for a reader who is new to them.", "About", _nothing),
    Page("methods", "Methods", "How the figures are made and what they are not.", "About", _sources),
    Page("cite", "How to cite", "How to refer to these figures.", "About", _sources),
)
"""Every page but the first, in the order of the menu."""
