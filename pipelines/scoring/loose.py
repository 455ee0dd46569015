"""Scores of logs that are in no lake: by the official rule, and what the rule would still ask for.

The arithmetic is that of `runs` and `results`; how far convergence is from the reference belongs in `margins`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from pipelines.schemas.core import Systems
from pipelines.scoring.margins import evaluation_intervals, rcp_status, with_margins
from pipelines.scoring.rcp import load_points
from pipelines.scoring.remarks import FACTOR_TOLERANCE
from pipelines.scoring.results import score_results
from pipelines.scoring.rules import Rules, benchmark_name
from pipelines.scoring.rulesets import with_renamed_benchmarks
from pipelines.scoring.runs import judge_runs

_SYSTEM = ["submitter_folder", "system"]

_OF_RESULT = [
    "result_id",
    "round",
    "submitter_folder",
    "system",
    "system_name",
    "division",
    "benchmark",
    "scaling_mode",
    "accelerator",
    "accelerator_count",
    "raw_minutes",
    "run_count",
    "counted_run_count",
    "required_run_count",
    "no_score_reason",
    "energy_joules",
    "instance_accelerator_count",
    "model_count",
    "time_to_train_all_minutes",
    "global_batch_size",
    "samples_to_converge",
    "step_median_seconds",
    "source_path",
]
_OF_RUN = [
    "source_path",
    "raw_minutes",
    "init_minutes",
    "state",
    "reason",
    "samples_to_converge",
    "over_mean_samples",
    "over_minimum_samples",
    "over_minimum_evaluations",
    "eval_count",
    "step_count",
    "step_median_seconds",
    "run_start_line",
    "run_stop_line",
]


@dataclass(frozen=True, slots=True)
class LooseTables:
    """What the files of one tree say: frames of the `core` tables of those names."""

    runs: pl.DataFrame
    evals: pl.DataFrame
    systems: pl.DataFrame
    scaling_factors: pl.DataFrame
    power_readings: pl.DataFrame


def score_loose(tables: LooseTables, rules: Rules, ruleset: str, *, is_own_ruleset: bool) -> pl.DataFrame:
    """Return one row per result with its score, its margins and whether it would pass.

    The score is the official one: the mean of the kept runs times the convergence factor. The factor is the file's
    where the files are scored under their own round's rules, else, and where there is no file, the one that the
    round's reference points give. A result of which no description is found has the division that its logs name.

    Args:
        tables: what the files say; their `round` is whatever their folder states.
        rules: the rules of the rounds.
        ruleset: the round whose rules and reference points apply.
        is_own_ruleset: whether a published factor was made with those points.

    Returns:
        Columns of `mart.results`, and beside them `ruleset`, `rcp_factor_file`, `samples_unit`, `samples_basis`,
        the columns of `margins.with_margins`, `evaluation_interval`, `rcp` (`pass`, `fail`, `missing`,
        `not_checked`), `would_pass`, `would_not_pass_because` (sentences), `notes` (sentences) and `runs`, a list of
        structs, one per run, `state` being kept, dropped, non-converged, not counted, or counted.
    """
    rules = with_renamed_benchmarks(rules, ruleset)
    # Everything is joined by round, so the round of the rules takes the place of the folder's.
    moved = pl.lit(ruleset).alias("round")
    runs, systems = tables.runs.with_columns(moved), _described(tables).with_columns(moved)
    factors = tables.scaling_factors.with_columns(moved)
    judged = judge_runs(runs, systems, rules)
    official = factors if is_own_ruleset else factors.clear()
    results, _ = score_results(runs, judged, systems, official, tables.power_readings.with_columns(moved), rules)
    read = runs.join(evaluation_intervals(tables.evals, runs), on="source_path", how="left")
    scored = (
        results.select(_OF_RESULT)
        .join(_of_runs(read, judged), on="result_id", how="left", maintain_order="left")
        .with_columns(_samples(), _samples_basis())
        .pipe(with_margins, rules)
        .with_columns(is_checked=_is_checked())
        .with_columns(rcp=rcp_status(is_checked=pl.col("is_checked")))
        .join(
            factors.select("result_id", rcp_factor_file="rcp_factor", rcp_factor_path="source_path"),
            on="result_id",
            how="left",
            maintain_order="left",
        )
        .with_columns(pl.when("is_checked").then(pl.col("rcp_factor_recomputed")), is_own=pl.lit(is_own_ruleset))
        .with_columns(_factor(), _factor_source())
        .with_columns(score_minutes=_score(results))
        .join(_states(read, judged, rules), on="result_id", how="left", maintain_order="left")
        .join(tables.systems.select(*_SYSTEM, is_described=True), on=_SYSTEM, how="left", maintain_order="left")
    )
    told = scored.with_columns(would_not_pass_because=_sentences(_obstacles()), notes=_sentences(_notes()))
    return told.with_columns(
        would_pass=pl.col("would_not_pass_because").list.len() == 0,
        ruleset=pl.col("round"),
    ).drop("round", "is_checked", "is_own", "is_described", "batch_count", "counted_mean")


def _described(tables: LooseTables) -> pl.DataFrame:
    """Return the descriptions, and for a system without one what its logs say: the division."""
    division = pl.col("submission_division").drop_nulls().first().str.to_lowercase()
    from_logs = (
        tables.runs.join(tables.systems, on=_SYSTEM, how="anti")
        .group_by(_SYSTEM, maintain_order=True)
        .agg(pl.col("round", "source_path", "source_sha256").first(), division=division)
    )
    return pl.concat([tables.systems, from_logs.cast({"division": pl.String})], how="diagonal").select(
        Systems.column_names()
    )


def _of_runs(read: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """Summarise what the reference check takes from the runs of each result beyond `mart.results`."""
    counted = judged.select("source_path", "is_counted")
    progress = pl.col("samples_to_converge").filter(pl.col("is_counted").fill_null(value=False))
    return (
        read.join(counted, on="source_path", how="left")
        .group_by("result_id", maintain_order=True)
        .agg(
            samples_unit=pl.col("samples_unit").drop_nulls().first(),
            evaluation_interval=pl.col("evaluation_interval").median(),
            counted_mean=progress.round(3).mean(),
            batch_count=pl.col("global_batch_size").drop_nulls().n_unique(),
        )
    )


def _is_short() -> pl.Expr:
    return pl.col("run_count") < pl.col("required_run_count")


def _samples() -> pl.Expr:
    """Too few runs for the olympic mean are compared by their plain mean."""
    return pl.when(_is_short()).then("counted_mean").otherwise("samples_to_converge").alias("samples_to_converge")


def _samples_basis() -> pl.Expr:
    plain = pl.format("plain mean of {} counted, the rule asks for {} runs", "counted_run_count", "required_run_count")
    return pl.when(_is_short()).then(plain).otherwise(pl.lit("olympic mean")).alias("samples_basis")


def _is_checked() -> pl.Expr:
    """The rules compare closed results of strong scaling, where the round has reference points for the benchmark."""
    points = load_points().select(pl.concat_str("round", "benchmark", separator="/").unique()).to_series()
    has_points = pl.concat_str("round", "benchmark", separator="/").is_in(points.implode())
    is_closed_strong = (pl.col("division") == "closed") & (pl.col("scaling_mode") == "strong")
    return (is_closed_strong & pl.col("required_run_count").is_not_null() & has_points).fill_null(value=False)


def _factor() -> pl.Expr:
    recomputed = pl.col("rcp_factor_recomputed").fill_null(1.0)
    is_file = pl.col("is_own") & pl.col("rcp_factor_path").is_not_null()
    factor = pl.when(is_file).then("rcp_factor_file").otherwise(recomputed)
    return pl.when(pl.col("scaling_mode") == "strong").then(factor).alias("rcp_factor")


def _factor_source() -> pl.Expr:
    is_file = pl.col("is_own") & pl.col("rcp_factor_path").is_not_null()
    return (
        pl.when(pl.col("scaling_mode") != "strong")
        .then(pl.lit("none"))
        .when(is_file)
        .then(pl.lit("file"))
        .when(pl.col("rcp_factor_recomputed").is_null())
        .then(pl.lit("none"))
        .when(pl.col("rcp_factor_recomputed") == 1.0)
        .then(pl.lit("not_needed"))
        .otherwise(pl.lit("recomputed"))
        .alias("rcp_factor_source")
    )


def _score(results: pl.DataFrame) -> pl.Expr:
    """Where the official rule gives no score there is none, whatever the factor."""
    without = pl.lit(results.filter(pl.col("no_score_reason").is_not_null())["result_id"].implode())
    return pl.when(~pl.col("result_id").is_in(without)).then(pl.col("raw_minutes") * pl.col("rcp_factor"))


def _states(read: pl.DataFrame, judged: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    """Return the runs of each result as a list of structs, in the order of their file names."""
    required = rules.benchmarks.select("round", "scaling_mode", "required_run_count", rule_benchmark="benchmark")
    logged = read.select(
        *("source_path", "global_batch_size", "evaluation_interval", "eval_count", "step_count"),
        *("step_median_seconds", "run_start_line", "run_stop_line", "benchmark", "scaling_mode"),
    )
    runs = (
        judged.join(logged, on="source_path", how="left")
        .with_columns(rule_benchmark=benchmark_name(pl.col("benchmark"), rules), run_count=pl.len().over("result_id"))
        .join(required, on=["round", "rule_benchmark", "scaling_mode"], how="left")
        .with_columns(benchmark="rule_benchmark")
        .with_columns(_state(), reason=pl.col("not_counted_reason"))
        .pipe(with_margins, rules)
        .sort("source_path")
    )
    return runs.group_by("result_id", maintain_order=True).agg(runs=pl.struct(_OF_RUN))


def _state() -> pl.Expr:
    """Name what became of a run in the words of the rules."""
    is_fast = pl.col("rank") * 2 <= pl.col("is_counted").cast(pl.Int64).sum().over("result_id")
    return (
        pl.when(pl.col("is_counted").is_null())
        .then(pl.lit("no rule"))
        .when(pl.col("not_counted_rule") == "status")
        .then(pl.lit("non-converged"))
        .when(~pl.col("is_counted"))
        .then(pl.lit("not counted"))
        .when((pl.col("run_count") < pl.col("required_run_count")) & (pl.col("scaling_mode") == "strong"))
        .then(pl.lit("counted"))
        .when("is_kept")
        .then(pl.lit("kept"))
        .when(is_fast)
        .then(pl.lit("dropped, fastest"))
        .otherwise(pl.lit("dropped, slowest"))
        .alias("state")
    )


def _obstacles() -> list[tuple[pl.Expr, Any]]:
    """Give each condition under which a result would not pass, with the sentence that says so."""
    is_weak = pl.col("scaling_mode") == "weak"
    wrong_count = pl.when(is_weak).then(_is_short()).otherwise(pl.col("run_count") != pl.col("required_run_count"))
    least = pl.when(is_weak).then(pl.lit("at least ")).otherwise(pl.lit(""))
    has_result = pl.col("model_count").is_not_null() | pl.col("score_minutes").is_not_null()
    return [
        (
            wrong_count,
            pl.format("The rule asks for {}{} runs, here are {}.", least, "required_run_count", "run_count"),
        ),
        (~has_result & ~wrong_count.fill_null(value=False), pl.col("no_score_reason")),
        (pl.col("batch_count") > 1, pl.format("The runs log {} different global batch sizes.", "batch_count")),
        (
            pl.col("rcp") == "fail",
            pl.format(
                "The runs converge faster than the reference check allows: {} {}, the minimum is {}.",
                _figure("samples_to_converge"),
                "samples_unit",
                _figure("rcp_minimum_samples"),
            ),
        ),
        (
            (pl.col("rcp") == "missing") & (pl.col("batch_count") < 2),
            pl.format(
                "Missing RCP: {} has no reference convergence point for batch size {}; submit one.",
                "round",
                pl.col("global_batch_size").cast(pl.String).fill_null("unknown"),
            ),
        ),
    ]


def _notes() -> list[tuple[pl.Expr, Any]]:
    """Give what a reader of the score should know beside it."""
    file, recomputed = pl.col("rcp_factor_file"), pl.col("rcp_factor_recomputed")
    differs = (file - recomputed).abs() > FACTOR_TOLERANCE * recomputed
    return [
        (
            pl.col("is_described").is_null(),
            pl.format(
                "No description of system {} is there: the division is the logs', the accelerators are not known.",
                "system",
            ),
        ),
        (
            pl.col("is_own") & differs,
            pl.format(
                "scaling.json says {}, the reference points of {} give {}; the score keeps to the file, the official "
                "check would write the other.",
                file,
                "round",
                recomputed,
            ),
        ),
        (
            pl.col("is_own").not_() & file.is_not_null(),
            pl.format("scaling.json says {}; it was made under other rules and does not apply.", file),
        ),
        (
            pl.col("rcp_factor_source") == "recomputed",
            pl.lit("The factor is recomputed from the reference points, not official."),
        ),
        (
            (pl.col("scaling_mode") == "strong") & (pl.col("division") == "open"),
            pl.lit("Open division: convergence is not compared with the reference."),
        ),
        (pl.col("scaling_mode") == "weak", pl.lit("Weak scaling: no drop, no factor, no convergence check.")),
    ]


def _figure(column: str) -> pl.Expr:
    return pl.col(column).round(3).cast(pl.String).str.strip_suffix(".0")


def _sentences(conditions: list[tuple[pl.Expr, Any]]) -> pl.Expr:
    said = [pl.when(condition).then(sentence) for condition, sentence in conditions]
    return pl.concat_list(one.cast(pl.String) for one in said).list.drop_nulls()
