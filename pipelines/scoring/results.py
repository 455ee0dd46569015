"""Scores each result from its judged runs, exactly as the official rule and its tool do.

Which runs count is decided in `runs`; what a reader should be told about the scores is said in `remarks`.
"""

from __future__ import annotations

import polars as pl

from pipelines.schemas import mart
from pipelines.scoring.energy import run_energy
from pipelines.scoring.rcp import expected_progress, load_points, recompute_factors
from pipelines.scoring.remarks import remarks
from pipelines.scoring.rules import Rules, benchmark_name
from pipelines.scoring.runs import minutes
from pipelines.scoring.sums import plain_sum

_SYSTEM_KEYS = ["round", "submitter_folder", "system"]
_RULE_KEYS = ["round", "benchmark", "scaling_mode"]
_DESCRIBED = [
    "submitter",
    "system_name",
    "division",
    "availability",
    "accelerator_text",
    "accelerator",
    "accelerator_count",
]
_LOGGED = [
    "run_start_ms",
    "run_stop_ms",
    "status",
    "submitter_folder",
    "system",
    "benchmark",
    "scaling_mode",
    "global_batch_size",
    "step_median_seconds",
    "number_of_nodes",
    "accelerators_per_node",
]


def score_results(
    runs_core: pl.DataFrame,
    runs_mart: pl.DataFrame,
    systems: pl.DataFrame,
    scaling_factors: pl.DataFrame,
    power_readings: pl.DataFrame,
    rules: Rules,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return `mart.results` and what there is to say about them, as rows of `mart.findings`.

    Strong scaling: the mean of the kept runs' minutes, times the published convergence factor
    (`_compute_strong_score_standalone` of mlperf-logging). Weak scaling, HPC only: every counted file is a model
    instance, the result is the number of instances and the time from the first start to the last stop, without drop
    and without factor (`_compute_weak_score_standalone`). Open division by the same arithmetic.

    Args:
        runs_core: `core.runs` of any number of rounds.
        runs_mart: `mart.runs` of the same, as `judge_runs` gives it.
        systems: `core.systems` of those rounds.
        scaling_factors: `core.scaling_factors` of those rounds.
        power_readings: `core.power_readings` of those rounds.
        rules: the rules of the rounds.
    """
    runs = _runs_of_results(runs_core, runs_mart, rules)
    runs = runs.join(run_energy(runs, power_readings), on=["result_id", "source_path"], how="left")
    described = systems.lazy().select(*_SYSTEM_KEYS, *_DESCRIBED, is_described=True)
    published = scaling_factors.lazy().select("result_id", "rcp_factor", rcp_factor_path="source_path")
    # Results are so few that to start queries costs most, so this is one, and of the engine that starts sooner.
    results = (
        _grouped(runs.lazy())
        .join(described, on=_SYSTEM_KEYS, how="left")
        .join(published, on="result_id", how="left")
        .with_columns(_factor(), _factor_source())
        .with_columns(*_strong(), *_weak())
        .with_columns(score_minutes=pl.col("raw_minutes") * pl.col("rcp_factor"), energy_joules=_energy())
        .with_columns(no_score_reason=_no_score_reason(), score_published_minutes=pl.lit(None, dtype=pl.Float64))
        .sort("result_id")
        .collect(engine="in-memory")
    )
    results = _with_reference(results, rules)
    return mart.Results.cast(results.select(mart.Results.column_names())), remarks(results, runs, rules)


def _runs_of_results(runs_core: pl.DataFrame, runs_mart: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    """Return the files that belong to a result, judged, with what their logs say and the rule they fall under."""
    logged = runs_core.lazy().select("round", "source_path", *_LOGGED)
    return (
        runs_mart.lazy()
        .filter(pl.col("not_counted_rule").fill_null("") != "layout")
        .join(logged, on=["round", "source_path"], how="left")
        .with_columns(benchmark=benchmark_name(pl.col("benchmark"), rules))
        .join(rules.rounds.lazy().select("round", "ruleset"), on="round", how="left")
        .join(rules.benchmarks.lazy(), on=_RULE_KEYS, how="left")
        .sort("result_id", "rank", "source_path", nulls_last=True)
        .collect(engine="in-memory")
    )


def _grouped(runs: pl.LazyFrame) -> pl.LazyFrame:
    """Summarise the runs of each result; they come sorted by rank, so sums run in the official order."""
    kept, counted = pl.col("is_kept").fill_null(value=False), pl.col("is_counted").fill_null(value=False)
    batches = pl.col("global_batch_size").drop_nulls().unique()
    instances = (pl.col("number_of_nodes") * pl.col("accelerators_per_node").clip(lower_bound=1)).filter(counted)
    firsts = pl.col("first_result_id").unique()
    of_result = [*_SYSTEM_KEYS, "benchmark", "scaling_mode", "ruleset", "required_run_count", "olympic_drop"]
    return runs.group_by("result_id", maintain_order=True).agg(
        *(pl.col(name).first() for name in of_result),
        source_path=pl.col("source_path").min().str.replace(r"/[^/]*$", ""),
        run_count=pl.len(),
        counted_run_count=counted.sum(),
        kept_run_count=kept.sum(),
        kept_minutes=plain_sum(pl.col("raw_minutes").filter(kept)),
        kept_joules=plain_sum(pl.col("energy_joules").filter(kept)),
        kept_joules_count=pl.col("energy_joules").filter(kept).count(),
        metered_run_count=(pl.col("energy_joules").is_not_null() | pl.col("energy_problem").is_not_null()).sum(),
        energy_problem=pl.col("energy_problem").filter(kept).drop_nulls().first(),
        first_start_ms=pl.col("run_start_ms").filter(counted).min(),
        last_stop_ms=pl.col("run_stop_ms").filter(counted).max(),
        instance_size=instances.first(),
        instance_size_count=instances.n_unique(),
        batch_count=batches.len(),
        global_batch_size=pl.when(batches.len() == 1).then(batches.first()),
        step_median_seconds=pl.col("step_median_seconds").filter(counted).median(),
        samples_to_converge=_olympic_progress(),
        first_result_id=pl.when(firsts.len() == 1).then(firsts.first()).otherwise(pl.col("result_id").first()),
        copied_run_count=(pl.col("first_result_id") != pl.col("result_id")).sum(),
    )


def _olympic_progress() -> pl.Expr:
    """The mean that the reference check compares: epochs to three places, a run without success never converges."""
    reached = (
        pl.when(pl.col("status") == "success").then(pl.col("samples_to_converge").round(3)).otherwise(float("inf"))
    )
    drop = pl.col("olympic_drop").first()
    length = (pl.len().cast(pl.Int64) - 2 * drop).clip(lower_bound=0)
    kept = reached.sort().slice(drop.fill_null(0), length.fill_null(0))
    complete = kept.is_finite().all() & (kept.null_count() == 0) & (kept.len() > 0)
    return pl.when(complete).then(kept.mean())


def _is_strong() -> pl.Expr:
    return pl.col("scaling_mode") == "strong"


def _factor() -> pl.Expr:
    """The file's factor applies whatever the division; one that could not be read leaves no score."""
    published = pl.when(pl.col("rcp_factor_path").is_not_null()).then("rcp_factor").otherwise(1.0)
    return pl.when(_is_strong()).then(published).alias("rcp_factor")


def _factor_source() -> pl.Expr:
    points = load_points().select("round", "benchmark").unique()
    keys = pl.concat_str("round", "benchmark", separator="/")
    has_points = keys.is_in(points.select(keys).to_series().implode())
    return (
        pl.when(~_is_strong())
        .then(pl.lit("none"))
        .when(pl.col("rcp_factor_path").is_not_null())
        .then(pl.lit("file"))
        .when((pl.col("division") == "closed") & pl.col("required_run_count").is_not_null() & has_points)
        .then(pl.lit("not_needed"))
        .otherwise(pl.lit("none"))
        .alias("rcp_factor_source")
    )


def _strong() -> list[pl.Expr]:
    has_kept = _is_strong() & (pl.col("kept_run_count") > 0)
    known = pl.col("required_run_count").is_not_null()
    return [
        pl.when(has_kept).then(pl.col("kept_minutes") / pl.col("kept_run_count")).alias("raw_minutes"),
        pl.when(known).then("counted_run_count").alias("counted_run_count"),
    ]


def _weak() -> list[pl.Expr]:
    enough = ~_is_strong() & (pl.col("counted_run_count") >= pl.col("required_run_count"))
    total = minutes(pl.col("last_stop_ms") - pl.col("first_start_ms"))
    return [
        pl.when(enough).then("counted_run_count").alias("model_count"),
        pl.when(enough).then(total).alias("time_to_train_all_minutes"),
        pl.when(enough).then(pl.col("counted_run_count") / total).alias("models_per_minute"),
        pl.when(enough & (pl.col("instance_size_count") == 1))
        .then("instance_size")
        .alias("instance_accelerator_count"),
    ]


def _energy() -> pl.Expr:
    """Mean over the runs that are kept for time; no rule gives the energy of a weak result."""
    complete = (pl.col("kept_run_count") > 0) & (pl.col("kept_joules_count") == pl.col("kept_run_count"))
    mean = pl.col("kept_joules") / pl.col("kept_run_count")
    return pl.when(_is_strong() & complete).then(mean * pl.col("rcp_factor"))


def _no_score_reason() -> pl.Expr:
    failed = pl.col("run_count") - pl.col("counted_run_count")
    return (
        pl.when(pl.col("ruleset").is_null())
        .then(pl.format("No scoring rule is known for round {}.", "round"))
        .when(pl.col("required_run_count").is_null())
        .then(pl.format("Round {} has no rule for {} {}.", "round", "scaling_mode", "benchmark"))
        .when(pl.col("model_count").is_not_null())
        .then(pl.lit("A weak result is a number of models and the time for all of them, not a score."))
        .when(~_is_strong())
        .then(pl.format("{} model instances count, the rule asks for {}.", "counted_run_count", "required_run_count"))
        .when(failed > pl.col("olympic_drop"))
        .then(pl.format("{} of {} runs do not count, the rule allows {}.", failed, "run_count", "olympic_drop"))
        .when(pl.col("kept_run_count") == 0)
        .then(pl.format("No run is left of {} once the fastest and the slowest are dropped.", "run_count"))
        .when(pl.col("rcp_factor").is_null())
        .then(pl.lit("The published convergence factor (scaling.json) could not be read."))
    )


def _with_reference(results: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    checked = recompute_factors(expected_progress(results), rules)
    is_checked = _is_strong() & (pl.col("division") == "closed") & pl.col("required_run_count").is_not_null()
    return checked.with_columns(
        pl.when(is_checked).then(name).alias(name)
        for name in ("rcp_reference_samples", "rcp_check", "rcp_factor_recomputed")
    )
