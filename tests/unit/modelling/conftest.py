"""A run of Llama 3.1 405B as the model's functions see it; every test changes what it is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from pipelines.modelling import workloads

MakeRuns = Callable[..., pl.DataFrame]

LAYOUT = {
    "tensor_parallel": 4,
    "context_parallel": 2,
    "pipeline_parallel": 8,
    "virtual_pipeline": 8,
    "expert_parallel": 1,
    "data_parallel": 39,
    "micro_batch": 1,
    "global_batch_size": 1248,
}
_HEADLINE: dict[str, Any] = LAYOUT | {
    "accelerator_count": 2496,
    "domain_accelerators": 72,
    "micro_batch_seconds": 0.16836173,
    "fixed_seconds": 0.27115095,
    "step_seconds": 5.8225007,
    "parameter_bytes": 1,
    "nic_available_gigabytes_per_second": 50.0,
}


@pytest.fixture
def make_runs() -> MakeRuns:
    """Return a function that makes one run, some of its columns replaced by single values or lists."""

    def make(**changes: Any) -> pl.DataFrame:
        columns = _HEADLINE | changes
        height = max((len(value) for value in columns.values() if isinstance(value, list)), default=1)
        rows = pl.DataFrame(
            {name: value if isinstance(value, list) else [value] * height for name, value in columns.items()}
        )
        model = workloads.frame().filter(benchmark="llama31_405b")
        return rows.join(model, how="cross")

    return make
