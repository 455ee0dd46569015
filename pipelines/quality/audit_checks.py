"""What is plausible in descriptions, names, launches and facts: the second half of the list that `suites` begins."""

from __future__ import annotations

from pipelines.quality.expectations.built_in import above_zero, at_least, between, more_than, none_of, one_of
from pipelines.quality.expectations.products import expect_product
from pipelines.quality.expectations.ratios import expect_ratio
from pipelines.quality.outcomes import Check
from pipelines.schemas.audits_mart import LINK_VERDICTS, MEMORY_VERDICTS

FASTEST_PORT_GIGABITS_PER_SECOND = 1600.0
"""No port of a network adapter is faster yet; a figure above is likely bits for bytes or a sum of ports."""

NOTHING_WRONG = ("agrees", "no_facts", "not_stated", "not_checkable")

SAME_SCORE = 1e-3
"""A table prints scores to three digits behind the point, so the shortest differ by so much."""

_SYSTEM = ("round", "submitter_folder", "system")

_NAMES = (
    Check(
        name="names_count_what_they_say",
        table="mart.name_counts",
        severity="warning",
        meaning="a count in a system's name is that of its accelerators or nodes, as the form of the words says",
        expectation=one_of("verdict", NOTHING_WRONG),
        shown=(*_SYSTEM, "stated_in", "words", "stated_count", "expected_count", "verdict", "explanation"),
        rows_are_findings=True,
    ),
)

_DESCRIPTIONS = (
    Check(
        name="memory_is_of_the_part",
        table="mart.description_audit",
        severity="warning",
        meaning="the memory that a description states can be that of its accelerator",
        expectation=one_of("memory_verdict", (verdict for verdict in MEMORY_VERDICTS if verdict in NOTHING_WRONG)),
        shown=(
            *_SYSTEM,
            "accelerator",
            "accelerator_memory_text",
            "known_memory_bytes",
            "memory_ratio",
            "memory_verdict",
            "same_text_as",
        ),
        rows_are_findings=True,
    ),
    Check(
        name="link_is_of_the_part",
        table="mart.description_audit",
        severity="warning",
        meaning="the generation and rate of the link that a description states can be those of its accelerator",
        expectation=one_of("link_verdict", (verdict for verdict in LINK_VERDICTS if verdict in NOTHING_WRONG)),
        shown=(
            *_SYSTEM,
            "accelerator",
            "accelerator_interconnect_text",
            "link_generation",
            "known_link_generation",
            "link_verdict",
            "same_text_as",
        ),
        rows_are_findings=True,
    ),
    Check(
        name="port_rate_exists",
        table="core.systems",
        severity="warning",
        meaning=f"a network port has at most {FASTEST_PORT_GIGABITS_PER_SECOND:,.0f} Gb/s; above are bits for bytes",
        expectation=above_zero("nic_gigabits_per_second", FASTEST_PORT_GIGABITS_PER_SECOND),
        shown=(*_SYSTEM, "host_networking_text", "nic_text", "nic_count_per_node", "nic_gigabits_per_second"),
    ),
)

_LAUNCHES = (
    Check(
        name="batch_is_its_product",
        table="core.launches",
        severity="warning",
        meaning="replicas x micro-batch x accumulation steps give the global batch of the log",
        expectation=lambda: expect_product()(
            column_list=["data_parallel", "micro_batch", "gradient_accumulation_steps", "global_batch_size"]
        ),
        shown=(
            "result_id",
            "data_parallel",
            "micro_batch",
            "gradient_accumulation_steps",
            "global_batch_size",
            "batch_check",
            "config_path",
        ),
        rows_are_findings=True,
    ),
)

_SCORES = (
    Check(
        name="score_is_not_the_clock",
        table="mart.results",
        severity="error",
        meaning="a score is its clock time times its convergence factor: no raw time stands where a score belongs",
        expectation=lambda: expect_product()(
            column_list=["raw_minutes", "rcp_factor", "score_minutes"], tolerance=1e-9
        ),
        shown=("result_id", "raw_minutes", "rcp_factor", "score_minutes"),
    ),
    Check(
        name="published_score_is_the_score",
        table="mart.results",
        severity="warning",
        meaning="the score on MLCommons' own table is the one that follows from the logs, and not the clock time",
        expectation=lambda: expect_ratio()(
            column_A="score_published_minutes", column_B="score_minutes", least=1 - SAME_SCORE, most=1 + SAME_SCORE
        ),
        shown=("result_id", "score_published_minutes", "score_minutes", "raw_minutes", "rcp_factor"),
    ),
    Check(
        name="same_logs_score_alike",
        table="mart.comparability",
        severity="warning",
        meaning="the same logs have the same score wherever they are published",
        expectation=between("same_log_score_ratio", 1 - 1e-9, 1 + 1e-9),
        shown=(
            "benchmark",
            "group_a",
            "group_b",
            "same_log_count",
            "same_log_score_ratio",
            "reference_ratio",
            "explanation",
        ),
        rows_are_findings=True,
    ),
    Check(
        name="utilisation_possible",
        table="mart.reconciled_runs",
        severity="warning",
        meaning="no run computes faster than its part can at its precision, dense: 0 < utilisation <= 1",
        expectation=above_zero("model_flops_utilisation", 1),
        shown=(
            "result_id",
            "accelerator",
            "precision",
            "achieved_tflops",
            "model_flops_utilisation",
            "flops_convention",
        ),
    ),
)

_FACTS = (
    Check(
        name="lower_precision_is_no_slower",
        table="mart.accelerators",
        severity="warning",
        meaning="the dense rate at 8 bits is at least that at 16; a sparse figure at 16 bits breaks this",
        expectation=at_least("fp8_dense_teraflops", "bf16_dense_teraflops"),
        shown=("accelerator", "bf16_dense_teraflops", "fp8_dense_teraflops", "fp4_dense_teraflops"),
    ),
    Check(
        name="matrix_rate_above_vector_rate",
        table="mart.accelerators",
        severity="warning",
        meaning="the BF16 rate is that of the matrix engine, above the FP32 rate of the vector engine",
        expectation=more_than("bf16_dense_teraflops", "fp32_vector_teraflops"),
        shown=("accelerator", "fp32_vector_teraflops", "tf32_dense_teraflops", "bf16_dense_teraflops"),
    ),
    Check(
        name="disagreements_are_explained",
        table="mart.fact_conflicts",
        severity="warning",
        meaning="where two sources differ a known reading gives the other figure: density, direction, dies, unit",
        expectation=none_of("explained_by", "unexplained"),
        shown=("subject", "metric", "source", "value", "resolved_source", "resolved_value", "ratio"),
        rows_are_findings=True,
    ),
)

AUDIT_CHECKS: tuple[Check, ...] = (*_NAMES, *_DESCRIPTIONS, *_LAUNCHES, *_SCORES, *_FACTS)
"""The checks on audits, launches, comparisons and facts."""
