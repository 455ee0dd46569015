"""The time of a training step: t = a (m + (PP - 1) / VP) + b.

a is the time of one micro-batch on one pipeline, m the micro-batches of a step, b what a step costs whatever m is
(optimizer, exposed communication). Within a family the published runs identify these two and nothing finer.
"""

from __future__ import annotations

import polars as pl

from pipelines.modelling.parallelism import bubble_slots, micro_batches


def pipeline_slots() -> pl.Expr:
    """Return the micro-batch times in a step, bubble included: m + (PP - 1) / VP."""
    return micro_batches() + bubble_slots()


def step_seconds(slots: pl.Expr) -> pl.Expr:
    """Return the time of a step; needs `micro_batch_seconds` (a) and `fixed_seconds` (b)."""
    return pl.col("micro_batch_seconds") * slots + pl.col("fixed_seconds")


def bubble_share() -> pl.Expr:
    """Return the part of the pipeline's time in which a stage idles."""
    return bubble_slots() / pipeline_slots()


def fixed_share(seconds: pl.Expr) -> pl.Expr:
    """Return the part of a step that does not depend on the micro-batches."""
    return pl.col("fixed_seconds") / seconds


def samples_per_second_per_accelerator(seconds: pl.Expr) -> pl.Expr:
    """Return the throughput of one accelerator over a step of the given time."""
    return pl.col("global_batch_size") / seconds / pl.col("accelerator_count")
