"""What a reader of the scores should be told: missing rules, uncounted runs, copied logs, factors that do not follow.

Each remark is one small function from scored results or judged runs to rows of `mart.findings`.
"""

from __future__ import annotations

import polars as pl

from pipelines.schemas.findings import findings_frame
from pipelines.scoring.rules import Rules

FACTOR_TOLERANCE = 1e-9
"""Relative difference below which a recomputed factor counts as the published one."""


def remarks(results: pl.DataFrame, runs: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    """Return rows of `mart.findings` about the scores.

    Args:
        results: `mart.results` with the helper columns of `results.score_results`.
        runs: judged runs of those results, with `energy_problem`.
        rules: the rules of the rounds.
    """
    scored, judged = results.lazy(), runs.lazy()
    told = pl.concat(
        [
            _unknown_round(scored, rules),
            _unknown_benchmark(scored, rules),
            _no_score(scored),
            _run_count(scored),
            _not_counted(judged),
            _copied(scored),
            _same_log_twice(judged),
            _not_described(scored),
            _batch_differs(scored),
            _instances(scored),
            _energy(scored),
            _caveats(scored, rules),
            *_reference(scored),
        ]
    )
    return findings_frame(told.collect(engine="in-memory"))


def _rows(
    frame: pl.LazyFrame,
    kind: str,
    severity: str | pl.Expr,
    explanation: pl.Expr,
    *,
    subject: str = "result_id",
    expected: pl.Expr | None = None,
    found: pl.Expr | None = None,
    evidence: pl.Expr | None = None,
) -> pl.LazyFrame:
    nothing = pl.lit(None, dtype=pl.String)
    return frame.select(
        kind=pl.lit(kind),
        severity=pl.lit(severity) if isinstance(severity, str) else severity,
        round="round",
        subject=subject,
        explanation=explanation,
        expected=(nothing if expected is None else expected).cast(pl.String),
        found=(nothing if found is None else found).cast(pl.String),
        evidence=nothing if evidence is None else evidence,
    )


def _unknown_round(results: pl.LazyFrame, rules: Rules) -> pl.LazyFrame:
    rounds = results.filter(pl.col("ruleset").is_null()).group_by("round", maintain_order=True).agg(count=pl.len())
    return _rows(
        rounds,
        "score.unknown_round",
        "warning",
        pl.format("Round {} has no scoring rule here, so its {} results have no score.", "round", "count"),
        subject="round",
        expected=pl.lit(f"one of {', '.join(rules.rounds['round'])}"),
        found=pl.col("round"),
    )


def _unknown_benchmark(results: pl.LazyFrame, rules: Rules) -> pl.LazyFrame:
    missing = pl.col("ruleset").is_not_null() & pl.col("required_run_count").is_null()
    benchmarks = (
        results.filter(missing)
        .group_by("round", "benchmark", "scaling_mode", maintain_order=True)
        .agg(count=pl.len())
        .join(_known_benchmarks(rules), on=["round", "scaling_mode"], how="left")
        .with_columns(subject=pl.concat_str("round", "benchmark", "scaling_mode", separator="/"))
    )
    return _rows(
        benchmarks,
        "score.unknown_benchmark",
        "warning",
        pl.format(
            "Round {} has no rule for {} scaling of {}, so its {} results have no score.",
            *("round", "scaling_mode", "benchmark", "count"),
        ),
        subject="subject",
        expected=pl.format("one of {}", pl.col("known").fill_null("none")),
        found=pl.col("benchmark"),
    )


def _known_benchmarks(rules: Rules) -> pl.LazyFrame:
    return (
        rules.benchmarks.lazy()
        .group_by("round", "scaling_mode", maintain_order=True)
        .agg(known=pl.col("benchmark").str.join(", "))
    )


def _no_score(results: pl.LazyFrame) -> pl.LazyFrame:
    scoreless = results.filter(
        pl.col("required_run_count").is_not_null()
        & pl.col("no_score_reason").is_not_null()
        & pl.col("model_count").is_null()
    )
    return _rows(
        scoreless,
        "score.none",
        "warning",
        pl.col("no_score_reason"),
        expected=pl.format("{} runs, at most {} of them not counted", "required_run_count", "olympic_drop"),
        found=pl.format("{} runs, {} of them counted", "run_count", "counted_run_count"),
        evidence=pl.col("source_path"),
    )


def _run_count(results: pl.LazyFrame) -> pl.LazyFrame:
    is_weak = pl.col("scaling_mode") == "weak"
    wrong = pl.when(is_weak).then(pl.col("run_count") < pl.col("required_run_count"))
    least = pl.when(is_weak).then(pl.lit("at least ")).otherwise(pl.lit(""))
    return _rows(
        results.filter(wrong.otherwise(pl.col("run_count") != pl.col("required_run_count"))),
        "score.run_count",
        "warning",
        pl.format("The result has {} files, the rule asks for {}{}.", "run_count", least, "required_run_count"),
        expected=pl.concat_str(least, "required_run_count"),
        found=pl.col("run_count"),
        evidence=pl.col("source_path"),
    )


def _not_counted(runs: pl.LazyFrame) -> pl.LazyFrame:
    return _rows(
        runs.filter(pl.col("is_counted").not_()),
        "run.not_counted",
        "info",
        pl.format("The run does not count: {}", "not_counted_reason"),
        subject="run_id",
        found=pl.col("not_counted_rule"),
        evidence=pl.col("source_path"),
    )


def _copied(results: pl.LazyFrame) -> pl.LazyFrame:
    first = results.select(first_result_id="result_id", first_score="score_minutes")
    in_round = pl.len().over("round", "first_result_id")
    copies = (
        results.with_columns(in_round=in_round)
        .filter(pl.col("copied_run_count") > 0)
        .join(first, on="first_result_id", how="left")
    )
    whole = pl.col("first_result_id") != pl.col("result_id")
    is_rescored = (pl.col("score_minutes") / pl.col("first_score") - 1).abs() > FACTOR_TOLERANCE
    same_round = whole & (pl.col("in_round") > 1)
    return _rows(
        copies,
        "run.same_log",
        pl.when(same_round).then(pl.lit("warning")).otherwise(pl.lit("info")),
        pl.concat_str(
            pl.when(whole)
            .then(pl.format("The logs are those of {}: the same runs, not new ones.", "first_result_id"))
            .otherwise(
                pl.format("{} of {} logs were published before under another result.", "copied_run_count", "run_count")
            ),
            pl.when(same_round).then(pl.format(" {} results of this round rest on them.", "in_round")),
            pl.when(whole & is_rescored).then(pl.lit(" The scores differ by the factors that the rounds published.")),
            ignore_nulls=True,
        ),
        expected=pl.when(whole).then(pl.format("{} minutes there", pl.col("first_score").round(4))),
        found=pl.when(whole).then(pl.format("{} minutes here", pl.col("score_minutes").round(4))),
        evidence=pl.lit("mart.runs.same_log_result_ids"),
    )


def _same_log_twice(runs: pl.LazyFrame) -> pl.LazyFrame:
    twice = ~pl.col("is_first_publication") & (pl.col("first_result_id") == pl.col("result_id"))
    return _rows(
        runs.filter(twice),
        "run.same_log_twice",
        "warning",
        pl.lit("The same bytes stand in another file of the same result: one run was counted more than once."),
        subject="run_id",
        evidence=pl.col("source_path"),
    )


def _not_described(results: pl.LazyFrame) -> pl.LazyFrame:
    return _rows(
        results.filter(pl.col("is_described").is_null()),
        "score.no_system",
        "warning",
        pl.format("No description of system {} was found, so division and accelerators are not known.", "system"),
        expected=pl.format("{}/systems/{}.json", "submitter_folder", "system"),
    )


def _batch_differs(results: pl.LazyFrame) -> pl.LazyFrame:
    return _rows(
        results.filter(pl.col("batch_count") > 1),
        "score.batch_differs",
        "warning",
        pl.format("The runs of one result log {} different global batch sizes.", "batch_count"),
        evidence=pl.col("source_path"),
    )


def _instances(results: pl.LazyFrame) -> pl.LazyFrame:
    weak = results.filter(pl.col("model_count").is_not_null())
    needed = pl.col("model_count") * pl.col("instance_accelerator_count")
    return pl.concat(
        [
            _rows(
                weak.filter(needed > pl.col("accelerator_count")),
                "score.instances_exceed_system",
                "warning",
                pl.lit(
                    "The model instances together need more accelerators than the system has; the logged instance "
                    "size may be that of the whole system."
                ),
                expected=pl.format("at most {} accelerators", "accelerator_count"),
                found=pl.format("{} instances of {}", "model_count", "instance_accelerator_count"),
                evidence=pl.col("source_path"),
            ),
            _rows(
                weak.filter(pl.col("instance_size_count") > 1),
                "score.instance_sizes_differ",
                "warning",
                pl.format("The logs state {} different sizes of a model instance.", "instance_size_count"),
                evidence=pl.col("source_path"),
            ),
        ]
    )


def _energy(results: pl.LazyFrame) -> pl.LazyFrame:
    metered = results.filter((pl.col("metered_run_count") > 0) & pl.col("energy_joules").is_null())
    is_weak = pl.col("scaling_mode") == "weak"
    return _rows(
        metered,
        "energy.none",
        "warning",
        pl.when(is_weak)
        .then(pl.lit("Power was logged, but no rule gives the energy of a weak result."))
        .when(pl.col("energy_problem").is_not_null())
        .then(pl.format("Power was logged, but {}.", "energy_problem"))
        .otherwise(
            pl.format(
                "Power was logged, but only for {} of the {} runs that the score rests on.",
                *("kept_joules_count", "kept_run_count"),
            )
        ),
        evidence=pl.col("source_path") + "/power",
    )


def _caveats(results: pl.LazyFrame, rules: Rules) -> pl.LazyFrame:
    scored = results.filter(pl.col("score_minutes").is_not_null()).select("round", "benchmark").unique()
    concerned = rules.caveats.lazy().join(scored, on=["round", "benchmark"], how="semi", maintain_order="left")
    named = concerned.with_columns(subject=pl.concat_str("round", "benchmark", separator="/"))
    return _rows(named, "score.caveat", "info", pl.col("caveat"), subject="subject")


def _reference(results: pl.LazyFrame) -> list[pl.LazyFrame]:
    checked = results.filter(pl.col("score_minutes").is_not_null())
    published, recomputed = pl.col("rcp_factor"), pl.col("rcp_factor_recomputed")
    progress = pl.format("mean progress {}", "samples_to_converge")
    samples = pl.col("samples_to_converge")
    has_points = pl.col("rcp_factor_source") != "none"
    return [
        _rows(
            checked.filter((published - recomputed).abs() > FACTOR_TOLERANCE * recomputed),
            "rcp.factor_differs",
            "info",
            pl.when(pl.col("rcp_factor_path").is_null())
            .then(pl.lit("No convergence factor was published, although the round's reference points give one."))
            .otherwise(
                pl.lit("The published convergence factor is not the one that the round's reference points give.")
            )
            + " The score keeps to what was published.",
            expected=recomputed,
            found=published,
            evidence=pl.coalesce("rcp_factor_path", "source_path"),
        ),
        _rows(
            checked.filter(pl.col("rcp_check") == "too_fast"),
            "rcp.too_fast",
            "warning",
            pl.lit(
                "The runs converge faster than the reference check allows; the round published the score all the same."
            ),
            expected=pl.format("reference mean {}", "rcp_reference_samples"),
            found=progress,
            evidence=pl.col("source_path"),
        ),
        _rows(
            checked.filter((pl.col("rcp_check") == "no_point") & has_points),
            "rcp.no_point",
            "info",
            pl.when(samples.is_null())
            .then(pl.lit("The logs do not tell after how many samples they end, so the convergence cannot be checked."))
            .otherwise(
                pl.lit("The published reference points do not reach this result, so its convergence cannot be checked.")
            ),
            found=pl.format("batch size {}", pl.col("global_batch_size").cast(pl.String).fill_null("unknown")),
            evidence=pl.col("source_path"),
        ),
    ]
