"""Strong scaling between two runs, on three bases that published efficiencies are told on, and a law through two.

Columns of the smaller run carry the ending `_base`.
"""

from __future__ import annotations

import polars as pl

BASES = ("raw", "score", "throughput")
"""Clock time, official score, samples per second of a step: a figure is stated with its basis, or means nothing."""


def size_ratio() -> pl.Expr:
    """Return the accelerators over those of the base."""
    return pl.col("accelerator_count") / pl.col("accelerator_count_base")


def time_efficiency(minutes: str) -> pl.Expr:
    """Return the speed-up in a time over the size ratio.

    Args:
        minutes: column with the time, such as `raw_minutes` or `score_minutes`.
    """
    return pl.col(f"{minutes}_base") / pl.col(minutes) / size_ratio()


def throughput_efficiency(seconds: str) -> pl.Expr:
    """Return the ratio of samples per second and accelerator.

    Args:
        seconds: column with the time of a step, measured or modelled.
    """
    rate, base = (
        pl.col(f"global_batch_size{end}") / pl.col(f"{seconds}{end}") / pl.col(f"accelerator_count{end}")
        for end in ("", "_base")
    )
    return rate / base


def power_law_exponent() -> pl.Expr:
    """Return p of minutes ~ accelerators^-p through the two runs; 1 would be linear."""
    return (pl.col("score_minutes_base") / pl.col("score_minutes")).log() / size_ratio().log()


def accelerators_by_power_law(minutes: pl.Expr) -> pl.Expr:
    """Return the accelerators that the law through the two runs needs for a time."""
    speed_up = pl.col("score_minutes_base") / minutes
    return pl.col("accelerator_count_base") * speed_up ** (1 / power_law_exponent())
