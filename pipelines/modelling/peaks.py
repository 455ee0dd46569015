"""Peak rates that an efficiency is held against: dense, per accelerator package, by precision."""

from __future__ import annotations

import polars as pl

BASIS = "dense, per accelerator"

_RATES = {
    "fp4": "fp4_dense_teraflops",
    "fp8": "fp8_dense_teraflops",
    "bf16": "bf16_dense_teraflops",
    "fp16": "fp16_dense_teraflops",
    "tf32": "tf32_dense_teraflops",
    "fp32": "fp32_vector_teraflops",
}
"""Column of `mart.accelerators` that holds the peak of each precision."""

PRECISIONS = tuple(_RATES)


def by_precision(accelerators: pl.DataFrame) -> pl.DataFrame:
    """Return `accelerator, precision, peak_tflops`, one row per part and precision whose peak is known.

    Args:
        accelerators: `mart.accelerators`.
    """
    return (
        accelerators.select("accelerator", **_RATES)
        .unpivot(index="accelerator", variable_name="precision", value_name="peak_tflops")
        .drop_nulls("peak_tflops")
        .sort("accelerator", "precision")
    )
