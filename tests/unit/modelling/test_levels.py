"""Levels of scale: the sizing program's output to the digit, and its three exercises."""

from __future__ import annotations

import polars as pl
import pytest

from pipelines.modelling.levels import (
    BEYOND,
    JOBS,
    PRETRAIN_70B,
    Accelerator,
    Job,
    kv_cache_bytes_per_token,
    place_jobs,
    smallest_level,
)

PRINTED = """\
job                                  needs GPUs (mem)  (time)   smallest level
serve 8B BF16, 32 users × 8k                  1         0   package (1 GPU)
serve 70B FP8, 64 users × 32k                 2         0   node (8)
serve 1T MoE FP8 + 2 TB KV                   13         0   rack (72)
full fine-tune 70B, 2B tokens                 6         6   node (8)
pretrain 70B on 15T tokens                    7      1351   cluster (16k)
pretrain 1T MoE (40B active), 30T            99      1029   cluster (16k)
"""


def printed(placed: pl.DataFrame) -> str:
    """Return what the program prints: a heading, then a line a job, names padded by characters."""
    lines = ["job                                  needs GPUs (mem)  (time)   smallest level"]
    for job, by_memory, by_time, level in placed.select("job", "by_memory", "by_time", "level").iter_rows():
        lines.append(f"{job:<36} {by_memory:10d} {by_time:9d}   {level}")
    return "\n".join(lines) + "\n"


def test_the_program_prints_this() -> None:
    assert printed(place_jobs()) == PRINTED


def test_unrounded_figures() -> None:
    placed = place_jobs()
    assert placed["memory_gigabytes"].to_list() == pytest.approx(
        [50.359738368, 413.597384, 3000, 1456, 1680, 24000], rel=1e-8
    )
    assert placed["needed_by_memory"].to_list()[:4] == pytest.approx(
        [0.205718, 1.689532, 12.254902, 5.947712], abs=1e-6
    )
    assert placed["needed_by_time"].to_list()[3:] == pytest.approx([5.401235, 1350.308642, 1028.806584], abs=1e-6)


def test_halving_the_deadline_does_not_change_the_level() -> None:
    halved = Job(PRETRAIN_70B.name, PRETRAIN_70B.memory_gigabytes, PRETRAIN_70B.flop, 30)
    row = place_jobs([halved]).row(0, named=True)
    assert (row["by_time"], row["level"], row["bound_by"]) == (2701, "cluster (16k)", "time")
    assert row["needed_by_time"] == pytest.approx(2700.617284, abs=1e-6)


def test_with_80_gigabytes_only_the_fine_tune_moves_up() -> None:
    placed = place_jobs(accelerator=Accelerator(memory_gigabytes=80))
    assert placed["by_memory"].to_list() == [1, 7, 45, 22, 25, 353]
    before, after = place_jobs()["level"].to_list(), placed["level"].to_list()
    assert after == ["package (1 GPU)", "node (8)", "rack (72)", "rack (72)", "cluster (16k)", "cluster (16k)"]
    assert [job.name for job, old, new in zip(JOBS, before, after, strict=True) if old != new] == [
        "full fine-tune 70B, 2B tokens"
    ]


@pytest.mark.parametrize(
    ("bytes_per_value", "per_token", "gigabytes", "large", "small"),
    [
        (1, 258_048, 946.165879, (4, "node (8)"), (14, "rack (72)")),
        (2, 516_096, 1487.331759, (7, "node (8)"), (22, "rack (72)")),
    ],
)
def test_serving_405b(
    bytes_per_value: int, per_token: int, gigabytes: float, large: tuple[int, str], small: tuple[int, str]
) -> None:
    cache = kv_cache_bytes_per_token(126, 8, 128, bytes_per_value)
    assert cache == per_token
    job = Job("serve 405B FP8, 128 users × 16k", 405 + 128 * 16_384 * cache / 1e9)
    assert job.memory_gigabytes == pytest.approx(gigabytes, abs=1e-6)
    for memory, expected in ((288.0, large), (80.0, small)):
        row = place_jobs([job], Accelerator(memory_gigabytes=memory)).row(0, named=True)
        assert (row["by_memory"], row["level"]) == expected


def test_cache_of_the_smaller_models() -> None:
    assert kv_cache_bytes_per_token(32, 8, 128, 2) == 131_072
    assert kv_cache_bytes_per_token(80, 8, 128, 1) == 163_840


def test_a_need_above_the_largest_level() -> None:
    levels = pl.DataFrame({"n": [100_000, 100_001, 1]}).select(level=smallest_level(pl.col("n")))["level"].to_list()
    assert levels == ["cluster (100k)", BEYOND, "package (1 GPU)"]


def test_no_jobs() -> None:
    assert place_jobs([]).height == 0
