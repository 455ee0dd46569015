"""Every finding in one table: what parsers, scores, audits, facts, the model and the checks leave to look at.

What a station finds is its own to say; here it is put side by side, and what occurs many times is told once.
"""

from __future__ import annotations

from collections.abc import Set

import polars as pl

from pipelines.reconciling.descriptions import description_findings
from pipelines.reconciling.fact_findings import conflict_findings, part_findings
from pipelines.reconciling.name_counts import name_findings
from pipelines.reconciling.naming import name_list_findings
from pipelines.schemas.core import SEVERITIES
from pipelines.schemas.findings import findings_frame

PLACES_NAMED = 3
"""Files that an aggregated finding names; the rest stand in `core.parse_findings`."""

_RACK_SEVERITY = {"contradicted": "warning", "ambiguous": "info", "not_stated": "info", "explained": "info"}
_RUN_SEVERITY = {"slower_than_predicted": "warning", "faster_than_predicted": "warning"}
_NIC_VERDICTS_TOLD = ("not_enough", "too_close_to_call")
_CLAIM_SEVERITY = {"contradicted": "warning", "implausible": "warning", "misplaced": "info"}
"""A misplaced figure is true of something else."""


def gather_findings(
    *,
    parse_findings: pl.DataFrame,
    scoring_findings: pl.DataFrame,
    rack_audit: pl.DataFrame,
    reconciled_runs: pl.DataFrame,
    claims_ledger: pl.DataFrame,
    checks: pl.DataFrame,
    told_elsewhere: Set[tuple[str, str]],
    systems: pl.DataFrame,
    accelerators: pl.DataFrame,
    fact_conflicts: pl.DataFrame,
    names: pl.DataFrame,
    name_counts: pl.DataFrame,
    description_audit: pl.DataFrame,
) -> pl.DataFrame:
    """Return `mart.findings`.

    Args:
        parse_findings: `core.parse_findings`; those of severity error stand alone, others once a round and kind.
        scoring_findings: rows of `mart.findings` that scoring gives.
        rack_audit: `mart.rack_audit`.
        reconciled_runs: `mart.reconciled_runs`.
        claims_ledger: `mart.claims_ledger`; those that are refuted, repeats of one claim told once.
        checks: `mart.checks`; those that failed or errored.
        told_elsewhere: table and name of the checks whose offending rows are findings of their own; such a check is
            told only where it errored.
        systems: `core.systems`.
        accelerators: `mart.accelerators`.
        fact_conflicts: `mart.fact_conflicts`; those that nothing explains.
        names: `mart.names`.
        name_counts: `mart.name_counts`.
        description_audit: `mart.description_audit`.
    """
    frames = [
        _parse_errors(parse_findings),
        _parse_remarks(parse_findings),
        scoring_findings,
        _racks(rack_audit),
        _predictions(reconciled_runs),
        _networks(reconciled_runs),
        _claims(claims_ledger),
        name_list_findings(names),
        name_findings(name_counts),
        description_findings(description_audit),
        part_findings(systems, accelerators),
        conflict_findings(fact_conflicts),
        _checks(checks, told_elsewhere),
    ]
    return pl.concat(frames).sort("finding_id")


def _parse_errors(findings: pl.DataFrame) -> pl.DataFrame:
    place = pl.when(pl.col("place") != "").then(pl.format(", {}", "place")).otherwise(pl.lit(""))
    return findings_frame(
        findings.filter(pl.col("severity") == "error").with_columns(
            subject=pl.format("{}/{}{}", "round", "source_path", place),
            evidence=pl.format("{}{}", "source_path", place),
        )
    )


def _parse_remarks(findings: pl.DataFrame) -> pl.DataFrame:
    rank = pl.col("severity").replace_strict({name: order for order, name in enumerate(SEVERITIES)}, default=None)
    grouped = (
        findings.filter(pl.col("severity") != "error")
        .sort("round", "kind", rank, "source_path", "place")
        .group_by("round", "kind", maintain_order=True)
        .agg(
            pl.col("severity", "explanation", "expected", "found").first(),
            finding_count=pl.len(),
            file_count=pl.col("source_path").n_unique(),
            evidence=pl.col("source_path").unique(maintain_order=True).head(PLACES_NAMED).str.join(", "),
        )
    )
    more = pl.col("finding_count") > 1
    once = pl.format("{} times in {} files, such as: {}", "finding_count", "file_count", "explanation")
    rest = pl.format("{} and others, in core.parse_findings", "evidence")
    return findings_frame(
        grouped.with_columns(
            subject=pl.col("round"),
            explanation=pl.when(more).then(once).otherwise("explanation"),
            evidence=pl.when(pl.col("file_count") > PLACES_NAMED).then(rest).otherwise("evidence"),
        )
    )


def _racks(audit: pl.DataFrame) -> pl.DataFrame:
    told = audit.filter(pl.col("verdict").is_in(list(_RACK_SEVERITY)))
    return findings_frame(
        told.with_columns(
            kind=pl.format("racks.{}", "verdict"),
            severity=pl.col("verdict").replace_strict(_RACK_SEVERITY, default=None, return_dtype=pl.String),
            subject=pl.format("{}/{}/{}", "round", "submitter_folder", "system"),
            expected=pl.format("a whole number of racks of {}", "slots_per_rack"),
            found=pl.format("{} accelerators, {} left over", pl.col("accelerator_count"), pl.col("remainder_by_slots")),
            evidence=pl.lit("mart.rack_audit: racks_stated, active_per_rack, verdict"),
        )
    )


def _predictions(runs: pl.DataFrame) -> pl.DataFrame:
    told = runs.filter(pl.col("verdict").is_in(list(_RUN_SEVERITY)))
    return findings_frame(
        told.with_columns(
            kind=pl.format("model.{}", "verdict"),
            severity=pl.col("verdict").replace_strict(_RUN_SEVERITY, default=None, return_dtype=pl.String),
            subject=pl.col("result_id"),
            expected=pl.format(
                "{} to {} min", pl.col("predicted_low_minutes").round(2), pl.col("predicted_high_minutes").round(2)
            ),
            found=pl.format("{} min", pl.col("score_minutes").round(2)),
            evidence=pl.format("mart.reconciled_runs: family {}", "family"),
        )
    )


def _networks(runs: pl.DataFrame) -> pl.DataFrame:
    told = runs.filter(pl.col("nic_verdict").is_in(list(_NIC_VERDICTS_TOLD)))
    return findings_frame(
        told.with_columns(
            kind=pl.format("network.{}", "nic_verdict"),
            severity=pl.lit("info"),
            subject=pl.col("result_id"),
            expected=pl.format(
                "{} GB/s per accelerator ({} to {}) to keep exposed communication under 1 % of a step",
                pl.col("nic_needed_gigabytes_per_second_mid").round(1),
                pl.col("nic_needed_gigabytes_per_second_low").round(1),
                pl.col("nic_needed_gigabytes_per_second_high").round(1),
            ),
            found=pl.format("{} GB/s", "nic_available_gigabytes_per_second"),
            evidence=pl.lit("mart.reconciled_runs: nic_needed_gigabytes_per_second_low, _mid, _high"),
        )
    )


def _claims(ledger: pl.DataFrame) -> pl.DataFrame:
    told = ledger.filter(pl.col("verdict").is_in(list(_CLAIM_SEVERITY)) & pl.col("repeat_of").is_null())
    unit = pl.when(pl.col("unit").is_null()).then(pl.lit("")).otherwise(pl.format(" {}", "unit"))
    return findings_frame(
        told.with_columns(
            kind=pl.format("claim.{}", "verdict"),
            severity=pl.col("verdict").replace_strict(_CLAIM_SEVERITY, default=None, return_dtype=pl.String),
            subject=pl.col("claim_id"),
            explanation=pl.format("{}: {}", "document", "explanation"),
            expected=pl.col("expression"),
            found=pl.format("{}{}", "value", unit),
            evidence=pl.format("mart.claims_ledger: {}", pl.coalesce("evidence", "checked_by")),
        )
    )


def _checks(checks: pl.DataFrame, told_elsewhere: Set[tuple[str, str]]) -> pl.DataFrame:
    elsewhere = pl.DataFrame(sorted(told_elsewhere), schema={"table": pl.String, "name": pl.String}, orient="row")
    by_row = checks.filter(pl.col("status") == "failed").join(elsewhere, on=["table", "name"], how="semi")
    told = checks.filter(pl.col("status") != "passed").join(by_row, on=["table", "name"], how="anti")
    return findings_frame(
        told.with_columns(
            kind=pl.format("check.{}", "name"),
            severity=pl.when(pl.col("status") == "errored").then(pl.lit("error")).otherwise("severity"),
            subject=pl.col("table"),
            expected=pl.col("meaning"),
            found=pl.when(pl.col("status") == "failed").then(pl.format("{} rows that do not", "failed_count")),
            evidence=pl.format("mart.checks: {}", "name"),
        )
    )
