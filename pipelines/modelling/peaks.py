"""Peak rates that an efficiency is held against: dense, per accelerator package, by precision.

A vendor's figure "with sparsity" is twice the dense one; the dense one stands here, with the page it follows from.
"""

from __future__ import annotations

import polars as pl

BASIS = "dense, per accelerator"

_A100 = "https://www.nvidia.com/en-us/data-center/a100/"
_H100 = "https://www.nvidia.com/en-us/data-center/h100/"
_H200 = "https://nvdam.widen.net/s/nb5zzzsjdf/hpc-datasheet-sc23-h200-datasheet-3002446"
_B200 = "https://resources.nvidia.com/en-us-dgx-systems/dgx-b200-datasheet"
_GB200 = "https://www.nvidia.com/en-us/data-center/gb200-nvl72/"
_GB300 = "https://www.nvidia.com/en-us/data-center/gb300-nvl72/"

_TFLOPS = (
    ("A100-SXM4-40GB", "bf16", 312.0, _A100),
    ("A100-SXM4-80GB", "bf16", 312.0, _A100),
    ("H100-SXM5-80GB", "bf16", 989.4, _H100),
    ("H100-SXM5-80GB", "fp8", 1978.9, _H100),
    ("H200-SXM-141GB", "bf16", 989.4, _H200),
    ("H200-SXM-141GB", "fp8", 1978.9, _H200),
    ("B200-SXM-180GB", "bf16", 2250.0, _B200),
    ("B200-SXM-180GB", "fp8", 4500.0, _B200),
    ("B200-SXM-180GB", "fp4", 9000.0, _B200),
    ("GB200 (per GPU)", "bf16", 2500.0, _GB200),
    ("GB200 (per GPU)", "fp8", 5000.0, _GB200),
    ("GB200 (per GPU)", "fp4", 10000.0, _GB200),
    ("GB300 (per GPU)", "bf16", 2500.0, _GB300),
    ("GB300 (per GPU)", "fp8", 5000.0, _GB300),
    ("GB300 (per GPU)", "fp4", 15000.0, _GB300),
)


def frame() -> pl.DataFrame:
    """Return `accelerator, precision, peak_tflops, peak_source`, one row per part and precision."""
    columns = {"accelerator": pl.String, "precision": pl.String, "peak_tflops": pl.Float64, "peak_source": pl.String}
    return pl.DataFrame(_TFLOPS, schema=columns, orient="row")
