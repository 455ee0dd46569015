"""Which level of scale holds a job in memory and finishes it in time: accelerators by both, and the smallest level.

The levels and jobs are those of a published sizing program, so that its output and its exercises can be reproduced.
What a level draws belongs in `power`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

USABLE_MEMORY = 0.85
"""Share of an accelerator's memory that a job's state may fill."""

SECONDS_PER_DAY = 86_400.0

BEYOND = "beyond one campus"
"""What the program calls a need above its largest level, which is a cluster of 100,000: one campus can hold more."""


@dataclass(frozen=True, slots=True)
class Level:
    """A level of scale and the most accelerators that it holds."""

    name: str
    accelerators: int


LEVELS = (
    Level("package (1 GPU)", 1),
    Level("node (8)", 8),
    Level("rack (72)", 72),
    Level("pod (576)", 576),
    Level("cluster (16k)", 16_384),
    Level("cluster (100k)", 100_000),
)


@dataclass(frozen=True, slots=True)
class Job:
    """A job to place: the memory of all its state, and the work that it must finish by a deadline."""

    name: str
    memory_gigabytes: float
    flop: float = 0.0
    """Total work; 0 for serving, which is sized by memory."""
    deadline_days: float = 0.0


@dataclass(frozen=True, slots=True)
class Accelerator:
    """What the sizing takes an accelerator to be."""

    memory_gigabytes: float = 288.0
    flop_per_second: float = 2.25e15
    model_flops_utilisation: float = 0.4


def kv_cache_bytes_per_token(layers: int, kv_heads: int, head_dimension: int, bytes_per_value: float) -> float:
    """Return the bytes that one token adds to the cache of keys and values: 2 L g d b."""
    return 2 * layers * kv_heads * head_dimension * bytes_per_value


def state_gigabytes(parameters: float, overhead: float) -> float:
    """Return training state, 16 bytes a parameter (weights, gradients, Adam moments) times an overhead."""
    return parameters * 16 / 1e9 * overhead


def training_flop(parameters: float, tokens: float) -> float:
    """Return the work of a training run, 6 FLOPs per parameter and token."""
    return 6 * parameters * tokens


PRETRAIN_70B = Job("pretrain 70B on 15T tokens", state_gigabytes(70e9, 1.5), training_flop(70e9, 15e12), 60)

JOBS = (
    Job("serve 8B BF16, 32 users × 8k", 16 + 32 * 8192 * kv_cache_bytes_per_token(32, 8, 128, 2) / 1e9),
    Job("serve 70B FP8, 64 users × 32k", 70 + 64 * 32768 * kv_cache_bytes_per_token(80, 8, 128, 1) / 1e9),
    Job("serve 1T MoE FP8 + 2 TB KV", 1000 + 2000),
    Job("full fine-tune 70B, 2B tokens", state_gigabytes(70e9, 1.3), training_flop(70e9, 2e9), 2),
    PRETRAIN_70B,
    Job("pretrain 1T MoE (40B active), 30T", state_gigabytes(1e12, 1.5), training_flop(40e9, 30e12), 90),
)
"""The six jobs of the program."""


def accelerators_by_memory(accelerator: Accelerator) -> pl.Expr:
    """Return the accelerators whose usable memory holds `memory_gigabytes`, before rounding up."""
    return pl.col("memory_gigabytes") / (accelerator.memory_gigabytes * USABLE_MEMORY)


def accelerators_by_time(accelerator: Accelerator) -> pl.Expr:
    """Return the accelerators that finish `flop` in `deadline_days`, before rounding up; 0 where there is no work."""
    rate = accelerator.flop_per_second * accelerator.model_flops_utilisation
    needed = pl.col("flop") / (rate * pl.col("deadline_days") * SECONDS_PER_DAY)
    return pl.when(pl.col("flop") > 0).then(needed).otherwise(0.0)


def place_jobs(jobs: Sequence[Job] = JOBS, accelerator: Accelerator | None = None) -> pl.DataFrame:
    """Return the accelerators that each job needs and the smallest level that has them.

    Args:
        jobs: Jobs to place.
        accelerator: What one accelerator offers; the program's by default, which mixes the memory of one part with
            the rate of another.

    Returns:
        `job, memory_gigabytes, flop, deadline_days, needed_by_memory, needed_by_time` (unrounded), `by_memory,
        by_time` (rounded up), `needed, bound_by, level`; the level is `BEYOND` above the largest.
    """
    one = accelerator or Accelerator()
    frame = pl.DataFrame(
        {
            "job": [job.name for job in jobs],
            "memory_gigabytes": [float(job.memory_gigabytes) for job in jobs],
            "flop": [float(job.flop) for job in jobs],
            "deadline_days": [float(job.deadline_days) for job in jobs],
        },
        schema={"job": pl.String, "memory_gigabytes": pl.Float64, "flop": pl.Float64, "deadline_days": pl.Float64},
    )
    frame = frame.with_columns(needed_by_memory=accelerators_by_memory(one), needed_by_time=accelerators_by_time(one))
    frame = frame.with_columns(
        by_memory=pl.col("needed_by_memory").ceil().cast(pl.Int64),
        by_time=pl.col("needed_by_time").ceil().cast(pl.Int64),
    )
    frame = frame.with_columns(
        needed=pl.max_horizontal("by_memory", "by_time"),
        bound_by=pl.when(pl.col("by_time") > pl.col("by_memory")).then(pl.lit("time")).otherwise(pl.lit("memory")),
    )
    return frame.with_columns(level=smallest_level(pl.col("needed")))


def smallest_level(needed: pl.Expr) -> pl.Expr:
    """Return the name of the smallest level that has the accelerators."""
    level: pl.Expr = pl.lit(BEYOND)
    for entry in reversed(LEVELS):
        level = pl.when(needed <= entry.accelerators).then(pl.lit(entry.name)).otherwise(level)
    return level
