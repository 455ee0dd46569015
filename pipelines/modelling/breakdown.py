"""Where the time of a run goes, and what is lost of it, as expressions.

The parts of a step follow from a fit (`micro_batch_seconds`, `fixed_seconds`), those of a run from its log.
"""

from __future__ import annotations

import polars as pl

from pipelines.modelling.parallelism import bubble_slots, micro_batches


def ideal_seconds() -> pl.Expr:
    """Return the time of a run's steps in which every stage of the pipeline works; needs `step_count`."""
    return pl.col("step_count") * pl.col("micro_batch_seconds") * micro_batches()


def bubble_seconds() -> pl.Expr:
    """Return the time of a run's steps in which the pipeline fills and drains."""
    return pl.col("step_count") * pl.col("micro_batch_seconds") * bubble_slots()


def fixed_seconds() -> pl.Expr:
    """Return what a run's steps take whatever their micro-batches: optimizer, exposed communication, launches."""
    return pl.col("step_count") * pl.col("fixed_seconds")


def largest_part(parts: list[str]) -> pl.Expr:
    """Return the name of the largest of the columns, without its ending `_seconds`; null where all are null."""
    largest = pl.max_horizontal(parts)
    return pl.coalesce(pl.when(pl.col(part) == largest).then(pl.lit(part.removesuffix("_seconds"))) for part in parts)
