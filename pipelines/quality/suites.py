"""What is plausible in the published tables: one list of checks, read top to bottom.

A rule that must hold for a row to exist is a schema's; what is said here can be broken by data that is well formed.
Severity error: our own arithmetic cannot give this, so nothing may be published on it. Warning: a person should look.
"""

from __future__ import annotations

from pipelines.quality.audit_checks import AUDIT_CHECKS
from pipelines.quality.expectations.built_in import above_zero, at_least, between, none_of, not_null
from pipelines.quality.expectations.whole_racks import expect_whole_racks
from pipelines.quality.outcomes import Check

LARGEST_CREDIBLE_RCP_FACTOR = 1.25
"""Eight rounds were surveyed: 498 factors between 1.00028 and 1.188827."""

LARGEST_CREDIBLE_MINUTES = 10_000.0
"""A week of training; the longest score of the surveyed rounds is under a tenth of it."""


_RACK_COLUMNS = (
    "round",
    "submitter_folder",
    "system",
    "accelerator_count",
    "slots_per_rack",
    "remainder_by_slots",
    "racks_stated",
    "active_per_rack",
    "verdict",
    "explanation",
)

_RACKS = (
    Check(
        name="whole_racks",
        table="mart.rack_audit",
        severity="warning",
        meaning="the accelerators fill whole racks, or less than one",
        expectation=lambda: expect_whole_racks()(column_list=["accelerator_count", "slots_per_rack"]),
        shown=_RACK_COLUMNS,
        rows_are_findings=True,
    ),
    Check(
        name="racks_not_contradicted",
        table="mart.rack_audit",
        severity="warning",
        meaning="no submitter's rack count contradicts the accelerators",
        expectation=none_of("verdict", "contradicted"),
        shown=_RACK_COLUMNS,
        rows_are_findings=True,
    ),
    Check(
        name="racks_have_the_slots",
        table="mart.rack_audit",
        severity="warning",
        meaning="the stated racks have at least as many slots as there are accelerators",
        expectation=above_zero("fill_fraction", 1),
        shown=(*_RACK_COLUMNS, "fill_fraction"),
        rows_are_findings=True,
    ),
)

_RESULT_COLUMNS = ("result_id", "raw_minutes", "rcp_factor", "rcp_factor_source", "score_minutes")

_RESULTS = (
    Check(
        name="score_credible",
        table="mart.results",
        severity="error",
        meaning=f"a score is above 0 and at most {LARGEST_CREDIBLE_MINUTES:,.0f} minutes",
        expectation=above_zero("score_minutes", LARGEST_CREDIBLE_MINUTES),
        shown=_RESULT_COLUMNS,
    ),
    Check(
        name="score_not_below_clock",
        table="mart.results",
        severity="warning",
        meaning="a score is never below the clock time that it was made from",
        expectation=at_least("score_minutes", "raw_minutes"),
        shown=_RESULT_COLUMNS,
    ),
    Check(
        name="rcp_factor_credible",
        table="mart.results",
        severity="warning",
        meaning=f"a convergence factor lies between 1 and {LARGEST_CREDIBLE_RCP_FACTOR}",
        expectation=between("rcp_factor", 1, LARGEST_CREDIBLE_RCP_FACTOR),
        shown=(*_RESULT_COLUMNS, "rcp_factor_path"),
    ),
    Check(
        name="counted_runs_within_runs",
        table="mart.results",
        severity="error",
        meaning="no result counts more runs than it has",
        expectation=at_least("run_count", "counted_run_count"),
        shown=("result_id", "run_count", "counted_run_count"),
    ),
    Check(
        name="accelerators_known",
        table="mart.results",
        severity="warning",
        meaning="the system of each result states how many accelerators it has",
        expectation=not_null("accelerator_count"),
        shown=("result_id", "system_name", "accelerator_text"),
    ),
)

_CALIBRATIONS = (
    Check(
        name="efficiency_possible",
        table="mart.calibrations",
        severity="error",
        meaning="no family computes faster than the peak of its part: 0 < efficiency <= 1",
        expectation=above_zero("efficiency", 1),
        shown=("family", "efficiency", "flops_convention", "peak_basis", "micro_batch_seconds"),
    ),
    Check(
        name="held_out_error_small",
        table="mart.calibrations",
        severity="warning",
        meaning="a family predicts its held-out members within 5 % on average",
        expectation=between("leave_one_out_mape_percent", most=5),
        shown=("family", "n", "leave_one_out_mape_percent", "largest_held_out_error_percent"),
    ),
)

_RECONCILED_COLUMNS = (
    "result_id",
    "score_minutes",
    "predicted_minutes",
    "predicted_low_minutes",
    "predicted_high_minutes",
    "residual_percent",
    "family",
)

_RECONCILED = (
    Check(
        name="prediction_inside_interval",
        table="mart.reconciled_runs",
        severity="error",
        meaning="a prediction lies inside its own interval",
        expectation=at_least("predicted_high_minutes", "predicted_minutes"),
        shown=_RECONCILED_COLUMNS,
    ),
    Check(
        name="residual_small",
        table="mart.reconciled_runs",
        severity="warning",
        meaning="a score is within 10 % of its held-out prediction",
        expectation=between("residual_percent", -10, 10),
        shown=_RECONCILED_COLUMNS,
    ),
)

CHECKS: tuple[Check, ...] = (*_RACKS, *_RESULTS, *_CALIBRATIONS, *_RECONCILED, *AUDIT_CHECKS)
"""Every plausibility check, grouped by table."""
