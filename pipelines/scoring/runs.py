"""Judges each result log by its round's rule: does it count, is its time kept, was it published before.

What a result scores from its runs belongs in `results`.
"""

from __future__ import annotations

import polars as pl

from pipelines.schemas import mart
from pipelines.scoring.rules import Rules, benchmark_name, round_order

_SYSTEM_KEYS = ["round", "submitter_folder", "system"]
_READ = [
    *_SYSTEM_KEYS,
    "source_path",
    "source_sha256",
    "run_id",
    "result_id",
    "benchmark",
    "scaling_mode",
    "event_count",
    "broken_line_count",
    "first_broken_line",
    "submission_division",
    "run_start_count",
    "run_start_ms",
    "run_start_line",
    "run_stop_count",
    "run_stop_ms",
    "run_stop_line",
    "status",
    "init_start_ms",
    "init_stop_ms",
    "init_stop_line",
    "samples_to_converge",
]


def judge_runs(runs: pl.DataFrame, systems: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    """Return `mart.runs`: every result log with whether it counts, and which rule says so.

    A run counts when its log has exactly one run_start and one run_stop after it, status success, no event that fails
    to parse and an initialisation under the round's limit. These agree with MLCommons' checker on the published
    rounds, which itself compares more. Of the counted runs, the fastest and the slowest are dropped as
    `result_summarizer` of mlperf-logging does: a failed run takes the place of a slowest one.

    Args:
        runs: `core.runs` of any number of rounds.
        systems: `core.systems` of the same rounds.
        rules: the rules of the rounds.
    """
    judged = (
        runs.lazy()
        .select(_READ)
        .join(systems.lazy().select(*_SYSTEM_KEYS, "division"), on=_SYSTEM_KEYS, how="left")
        .with_columns(rule_benchmark=benchmark_name(pl.col("benchmark"), rules))
        .join(rules.rounds.lazy(), on="round", how="left")
        .join(
            rules.benchmarks.lazy().rename({"benchmark": "rule_benchmark"}),
            on=["round", "rule_benchmark", "scaling_mode"],
            how="left",
        )
        .with_columns(
            raw_ms=pl.col("run_stop_ms") - pl.col("run_start_ms"),
            init_ms=pl.col("init_stop_ms") - pl.col("init_start_ms"),
            init_limit_ms=_init_limit_ms(),
        )
        .with_columns(_verdict())
    )
    # Runs are so few that to start queries costs most, so this is one, and of the engine that starts sooner.
    ranked = _with_publication(_with_rank(judged)).select(mart.Runs.column_names()).collect(engine="in-memory")
    return mart.Runs.cast(ranked)


def minutes(milliseconds: pl.Expr) -> pl.Expr:
    """Return milliseconds as minutes, to the last digit as the official summarizer has them.

    It divides by 60, then by 1000. Polars multiplies by the reciprocal of a constant divisor, which can end in
    another digit; a divisor that is a column is divided by.
    """
    nothing = milliseconds * 0
    return milliseconds / (nothing + 60) / (nothing + 1000)


def _init_limit_ms() -> pl.Expr:
    """The checker takes the division from the log; the system description stands in where the log names none."""
    logged = pl.col("submission_division").str.to_lowercase()
    division = pl.when(logged.is_in(["closed", "open"])).then(logged).otherwise(pl.col("division"))
    return pl.when(division == "open").then("init_limit_open_ms").otherwise("init_limit_closed_ms")


def _verdict() -> list[pl.Expr]:
    """Which rule a run failed first, a sentence for each that it failed, and whether it counts."""
    conditions = _conditions()
    known = pl.col("required_run_count").is_not_null()
    failed = pl.coalesce(pl.when(condition).then(pl.lit(rule)) for rule, condition, _ in conditions)
    sentences = pl.concat_str(
        [pl.when(condition).then(sentence) for _, condition, sentence in conditions], separator=" ", ignore_nulls=True
    )
    no_rule = pl.format(
        "No scoring rule is known for {}{}.",
        pl.when(pl.col("ruleset").is_null()).then(pl.lit("")).otherwise(pl.col("benchmark") + " in "),
        pl.col("round"),
    )
    return [
        pl.when(known).then(failed.is_null()).alias("is_counted"),
        pl.when(known).then(failed).otherwise(pl.lit("no_rule")).alias("not_counted_rule"),
        pl.when(~known).then(no_rule).when(failed.is_not_null()).then(sentences).alias("not_counted_reason"),
    ]


def _conditions() -> list[tuple[str, pl.Expr, pl.Expr]]:
    """Each rule with the condition that breaks it and the sentence that says so."""
    starts, stops = pl.col("run_start_count"), pl.col("run_stop_count")
    stop_too_early = (pl.col("run_stop_line") < pl.col("run_start_line")) | (pl.col("raw_ms") < 0)
    status = pl.col("status").fill_null("none")
    return [
        (
            "layout",
            ~_is_in_place(),
            pl.lit("The file lies outside the benchmark's folder, where the rule does not look."),
        ),
        ("run_start", starts != 1, _not_exactly_one("run_start")),
        (
            "run_stop",
            (stops != 1) | stop_too_early.fill_null(value=False),
            pl.when(stops == 1)
            .then(
                pl.format(
                    "run_stop in line {} comes before run_start in line {}.",
                    pl.col("run_stop_line"),
                    pl.col("run_start_line"),
                )
            )
            .otherwise(_not_exactly_one("run_stop")),
        ),
        (
            "status",
            (stops > 0) & (status != "success"),
            pl.format("run_stop in line {} has status {}, not success.", pl.col("run_stop_line"), status),
        ),
        (
            "broken_line",
            pl.col("broken_line_count") > 0,
            pl.format(
                "Line {} holds a log event that does not parse (of {} such); one rejects the run.",
                pl.col("first_broken_line"),
                pl.col("broken_line_count"),
            ),
        ),
        (
            "init_time",
            (pl.col("init_ms") >= pl.col("init_limit_ms")).fill_null(value=True),
            pl.when(pl.col("init_ms").is_null())
            .then(pl.lit("The log has no init_start or no init_stop."))
            .otherwise(
                pl.format(
                    "Initialisation until line {} took {} minutes, the limit is {}.",
                    pl.col("init_stop_line"),
                    minutes(pl.col("init_ms")).round(2),
                    pl.col("init_limit_ms") // 60_000,
                )
            ),
        ),
    ]


def _not_exactly_one(key: str) -> pl.Expr:
    return (
        pl.when(pl.col(f"{key}_count") == 0)
        .then(pl.lit(f"The log has no {key}."))
        .otherwise(
            pl.format(
                f"The log has {{}} {key} events, the first in line {{}}; exactly one is allowed.",
                pl.col(f"{key}_count"),
                pl.col(f"{key}_line"),
            )
        )
    )


def _is_in_place() -> pl.Expr:
    """Only files right in the benchmark's folder are the result's: `weak/cosmoflow/pruned_results/` is not."""
    folder = pl.col("source_path").str.replace(r"/[^/]*$", "")
    plain = pl.format("results/{}/{}", pl.col("system"), pl.col("benchmark"))
    by_mode = pl.format("results/{}/{}/{}", pl.col("system"), pl.col("scaling_mode"), pl.col("benchmark"))
    return folder.str.ends_with(plain) | folder.str.ends_with(by_mode)


def _with_rank(judged: pl.LazyFrame) -> pl.LazyFrame:
    """Add `rank` among the counted runs of a result by time, and `is_kept` after the olympic drop."""
    counted = pl.col("is_counted")
    failed_count = (~counted & (pl.col("not_counted_rule") != "layout")).sum().over("result_id")
    counted_count = counted.sum().over("result_id")
    drop, rank = pl.col("olympic_drop"), pl.col("rank")
    survives = (failed_count <= drop) & (rank > drop) & (rank <= counted_count - (drop - failed_count))
    return (
        judged.sort("result_id", "raw_ms", "source_path", nulls_last=True)
        .with_columns(rank=pl.when(counted).then(counted.cast(pl.Int64).cum_sum().over("result_id")))
        .with_columns(
            raw_minutes=minutes(pl.col("raw_ms")),
            init_minutes=minutes(pl.col("init_ms")),
            is_kept=pl.when(counted)
            .then((pl.col("scaling_mode") == "weak") | survives)
            .otherwise(pl.when(counted.is_not_null()).then(pl.lit(value=False))),
        )
    )


def _with_publication(judged: pl.LazyFrame) -> pl.LazyFrame:
    """Add which other results publish the same bytes, and which one did so first.

    First is the earliest round, then the first submitter folder, system, benchmark, scaling mode and path in the
    order of the alphabet. Files without a log event say nothing, so they are nobody's copy.
    """
    log = pl.when(pl.col("event_count") > 0).then("source_sha256").otherwise(pl.format("{}/{}", "round", "source_path"))
    ordered = judged.with_columns(log=log).sort(
        *round_order(pl.col("round")), "submitter_folder", "system", "benchmark", "scaling_mode", "source_path"
    )
    # Most logs are published once, and nothing is to be told of them.
    first = (
        ordered.filter(pl.col("log").is_duplicated())
        .group_by("log", maintain_order=True)
        .agg(first=pl.col("result_id").first(), result_ids=pl.col("result_id").unique(maintain_order=True))
    )
    others = pl.col("result_ids").list.set_difference(pl.concat_list("result_id")).list.sort()
    return ordered.join(first, on="log", how="left", maintain_order="left").with_columns(
        first_result_id=pl.coalesce("first", "result_id"),
        is_first_publication=pl.col("log").is_first_distinct(),
        same_log_result_ids=pl.when(others.list.len() > 0).then(others.list.join(", ")),
    )
