"""What fills each page behind the first, from which table. Which pages there are is in `menu`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from pipelines.publishing.report.charts.counts import counts_by
from pipelines.publishing.report.charts.network import nic_need
from pipelines.publishing.report.charts.racks import rack_fill
from pipelines.publishing.report.charts.scores import predicted_against_reported, prediction_errors, scaling_curves
from pipelines.publishing.report.charts.time import minutes_spent, utilisation
from pipelines.publishing.report.parts import Figure, Grid, Plain, Section
from pipelines.publishing.report.tables import AbsentTableError, Tables, nic_needs
from pipelines.publishing.report.words import counted, label, listed
from pipelines.schemas import TABLES
from pipelines.schemas.core import SEVERITIES

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


def results(tables: Tables) -> Content:
    """Return training results, with what the model says of them."""
    results = tables.need("mart.results")
    runs = tables.want("mart.reconciled_runs")
    if runs is not None:
        columns = ["predicted_minutes", "residual_percent", "precision", "layout", "verdict", "explanation"]
        results = results.join(runs.select("result_id", *columns), on="result_id", how="left")
    shown = ["system", "round", "benchmark", "submitter", "accelerator", "accelerator_count", "division"]
    shown += ["score_minutes", "predicted_minutes"]
    return Content(
        grid=Grid(
            "results",
            f"{counted(results.height, 'training result')} of {listed(results['round'].unique().sort())}",
            results,
            "result_id",
            [name for name in shown if name in results.columns],
            ("round", "benchmark", "accelerator", "division", "submitter", "scaling_mode"),
            "round",
            is_descending=True,
            labels={"verdict": "Verdict on the time", "explanation": "In words"},
            command="rackrecon explain",
        )
    )


def inference(tables: Tables) -> Content:
    """Return inference results as published."""
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
            "round",
            is_descending=True,
            labels={"system_name": "System", "accelerators": "Accelerators"},
        )
    )


def scaling(tables: Tables) -> Content:
    """Return scaling curves and pairs of sizes."""
    runs = tables.need("mart.reconciled_runs")
    told = _benchmarks(runs.filter(pl.col("predicted_minutes").is_not_null()))
    if not told:
        raise AbsentTableError("No result has a prediction yet: a family needs three results of one part and layout.")
    figures = [scaling_curves(runs, benchmark) for benchmark in told]
    pairs = tables.want("mart.strong_scaling")
    return Content(figures, None if pairs is None else _scaling_pairs(pairs))


def _scaling_pairs(pairs: pl.DataFrame) -> Grid:
    """Return the pairs of results that tell how one scales from the other."""
    told = pairs.filter(pl.col("no_efficiency_reason").is_null())
    left_out = pairs.height - told.height
    shown = ["result_id", "accelerator", "base_accelerator_count", "accelerator_count", "efficiency_score"]
    shown += ["efficiency_throughput", "efficiency_model", "is_other_submitter"]
    others = f"; {counted(left_out, 'pair')} of other precision or software left out" if left_out else ""
    return Grid(
        "scaling",
        f"{counted(told.height, 'pair')} of results of one part and benchmark: speed-up over growth in accelerators, "
        f"1 is linear; derived{others}",
        told.with_columns(pl.concat_str("result_id", pl.lit(" from "), "base_result_id").alias("pair")),
        "pair",
        shown,
        ("benchmark", "accelerator", "is_other_submitter"),
        "is_other_submitter",
    )


def prediction(tables: Tables) -> Content:
    """Return predictions beside what was reported."""
    runs = tables.need("mart.reconciled_runs")
    if runs["predicted_minutes"].is_null().all():
        raise AbsentTableError("No result has a prediction yet: a family needs three results of one part and layout.")
    reasons = runs["no_prediction_reason"].drop_nulls().value_counts(sort=True, name="results")
    section = Section(
        "Results without a prediction",
        (f"{reasons['results'].sum()} of {runs.height} language-model results have none.",),
        Plain("Why there is no prediction", reasons.rename({"no_prediction_reason": "reason"}).sort("reason")),
    )
    figures = [predicted_against_reported(runs), prediction_errors(runs)]
    return Content(figures, sections=[section] if reasons.height else [])


def racks(tables: Tables) -> Content:
    """Return how full racks are."""
    audit = tables.need("mart.rack_audit")
    against = audit.filter(pl.col("verdict") == "contradicted").height
    verdicts = counts_by(
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
        figures.append(rack_fill(audit))
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
        is_descending=True,
    )
    return Content(figures, grid)


def minutes(tables: Tables) -> Content:
    """Return the parts of scores."""
    breakdown = tables.need("mart.time_breakdown")
    told = _benchmarks(breakdown.filter(pl.col("score_seconds").is_not_null()))
    return Content([minutes_spent(breakdown, benchmark) for benchmark in told])


def nic(tables: Tables) -> Content:
    """Return NIC need beside NIC bandwidth."""
    needs = nic_needs(tables)
    if needs is None:
        raise AbsentTableError("No run here tells how it was launched, from which its need follows.")
    need = pl.col("nic_needed_gigabytes_per_second_mid")
    told = _benchmarks(needs.filter(need > 0))
    if not told:
        raise AbsentTableError("No run here has traffic outside its scale-up domain whose need could be worked out.")
    inside = needs.filter(need == 0)
    section = Section(
        "Runs that stay inside their scale-up domain",
        (
            f"{counted(inside.height, 'run')} of {needs.height:,} send nothing beyond it in a step, so that no network "
            f"is too slow for them. They are in no figure above; the {inside['nic_verdict'].count():,} whose NIC is "
            "known are among those that have enough on the first page.",
        ),
    )
    return Content([nic_need(needs, benchmark) for benchmark in told], sections=[section] if inside.height else [])


def mfu(tables: Tables) -> Content:
    """Return utilisation by convention."""
    runs = tables.need("mart.reconciled_runs").filter(pl.col("model_flops_utilisation").is_not_null())
    conventions = runs["flops_convention"].drop_nulls().unique().sort().to_list()
    if not conventions:
        raise AbsentTableError("No result here has a utilisation: it needs a step time, a model and a known peak.")
    return Content([utilisation(runs, convention) for convention in conventions])


def claims(tables: Tables) -> Content:
    """Return claims with their verdicts."""
    ledger = tables.need("mart.claims_ledger")
    supported = ledger.filter(pl.col("verdict") == "supported").height
    figure = counts_by(
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


def conflicts(tables: Tables) -> Content:
    """Return figures that disagree with the one taken."""
    conflicts = tables.need("mart.fact_conflicts")
    explained = conflicts.filter(pl.col("explained_by") != "unexplained").height
    figure = counts_by(
        conflicts,
        "explained_by",
        anchor="explained-by",
        title=f"There is a known reason for {explained} of {counted(conflicts.height, 'published figure')} that "
        "disagree with the one taken",
        noun="figures by what explains them",
        note="A row of the table below, once opened, says it in a sentence.",
    )
    keyed = _in_gigabytes(conflicts).with_columns(
        pl.concat_str("subject", "metric", "source", "locator", separator=", ").alias("row")
    )
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


def _in_gigabytes(conflicts: pl.DataFrame) -> pl.DataFrame:
    """Return conflicts with figures in bytes as GB."""
    is_bytes = pl.col("unit") == "bytes"
    figures = pl.col("value", "resolved_value", "expected_value")
    return conflicts.with_columns(
        pl.when(is_bytes).then(figures / 1e9).otherwise(figures),
        unit=pl.when(is_bytes).then(pl.lit("GB")).otherwise("unit"),
    )


def findings(tables: Tables) -> Content:
    """Return findings, the worst first."""
    findings = tables.need("mart.findings").with_columns(
        pl.col("severity").replace_strict({name: place for place, name in enumerate(SEVERITIES)}).alias("order")
    )
    frame = findings.sort("order", "kind", "subject").drop("order")
    shown = ["severity", "kind", "round", "subject", "explanation"]
    told = listed(f"{frame.filter(severity=name).height:,} {name}" for name in SEVERITIES)
    caption = f"{counted(frame.height, 'finding')}: {told}"
    return Content(grid=Grid("findings", caption, frame, "finding_id", shown, ("severity", "kind", "round"), ""))


def quality(tables: Tables) -> Content:
    """Return outcomes of the checks, and what is in quarantine."""
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


def dictionary(_: Tables) -> Content:
    """Return every table with its columns."""
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


def sources(tables: Tables) -> Content:
    """Return repositories as they were read."""
    columns = ("round", "source", "commit", "retrieved_at", "licence", "file_count")
    read_on = pl.col("retrieved_at").str.head(16).str.replace("T", " ") + " UTC"
    sources = tables.need("core.sources").select(columns).with_columns(read_on)
    return Content(sections=[Section("Where the figures come from", (), Plain("Repositories as read", sources))])


def nothing(_: Tables) -> Content:
    """Return nothing: the template has it all."""
    return Content()


def _benchmarks(frame: pl.DataFrame) -> list[str]:
    """Return the benchmarks of a frame, the one with the largest systems first."""
    by_size = frame.group_by("benchmark").agg(pl.col("accelerator_count").max().alias("most"))
    return by_size.sort("most", "benchmark", descending=[True, False], nulls_last=True)["benchmark"].to_list()
