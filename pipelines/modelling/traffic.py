"""Bytes that one accelerator sends in a step, by parallel dimension and by tier.

A dimension stays inside the scale-up domain where its ranks and all those nested in it fit: tensor innermost, then
context, pipeline, data. Collectives move (n - 1) / n of a buffer for each gather or reduce-scatter, as a ring does.

Columns: those of `parallelism`, those of `workloads.frame()`, and `domain_accelerators`, the size of the domain.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from pipelines.modelling.flops import total_parameters
from pipelines.modelling.parallelism import micro_batches, require_world


@dataclass(frozen=True)
class ByteWidths:
    """Bytes of one number of each kind on the wire."""

    activation: int = 2
    gradient: int = 2
    parameter: int = 2


LOW_PRECISION_GATHER = ByteWidths(parameter=1)
"""Gradients reduced in 16 bits, parameters gathered in 8: the settings of the published FP8 and FP4 runs."""


def traffic(runs: pl.DataFrame, widths: ByteWidths = LOW_PRECISION_GATHER) -> pl.DataFrame:
    """Add the bytes of each class and tier, per accelerator and step.

    Columns added: `tensor_bytes, context_bytes, pipeline_bytes` with `is_*_scale_up` beside each, and of the data
    dimension `gradient_scale_out_bytes, gather_scale_out_bytes, data_scale_up_bytes`; the totals
    `scale_up_bytes, scale_out_bytes`.

    Raises:
        WorldSizeError: a row's accelerators are not the product of its parallelisms.
    """
    require_world(runs)
    by_class = runs.with_columns(
        tensor_bytes=tensor_bytes(widths),
        context_bytes=context_bytes(widths),
        pipeline_bytes=pipeline_bytes(widths),
        is_tensor_scale_up=_fits("tensor"),
        is_context_scale_up=_fits("tensor", "context"),
        is_pipeline_scale_up=_fits("tensor", "context", "pipeline"),
        gradient_scale_out_bytes=data_scale_out_bytes(widths.gradient),
        gather_scale_out_bytes=data_scale_out_bytes(widths.parameter),
        data_scale_up_bytes=data_scale_up_bytes(widths.gradient + widths.parameter),
    )
    return by_class.with_columns(
        scale_up_bytes=_on_tier(is_scale_up=True) + pl.col("data_scale_up_bytes"),
        scale_out_bytes=_on_tier(is_scale_up=False)
        + pl.col("gradient_scale_out_bytes")
        + pl.col("gather_scale_out_bytes"),
    )


def activation_bytes(widths: ByteWidths) -> pl.Expr:
    """Return the bytes of one micro-batch's activations between two layers, before tensor sharding."""
    tokens = _number("micro_batch") * pl.col("sequence_length") / pl.col("context_parallel")
    return tokens * pl.col("hidden") * widths.activation


def tensor_bytes(widths: ByteWidths) -> pl.Expr:
    """Return the bytes of tensor parallelism with sequence parallelism.

    Two gathers and two reduce-scatters a layer forward and the same backward (Korthikanti et al. 2022); an all-reduce
    without sequence parallelism moves as much.
    """
    return _layer_passes() * 8 * activation_bytes(widths) * _ring("tensor_parallel")


def context_bytes(widths: ByteWidths) -> pl.Expr:
    """Return the bytes of context parallelism: keys and values gathered forward and backward, gradients scattered."""
    keys_and_values = 2 * _number("micro_batch") * pl.col("sequence_length") * pl.col("kv_heads") * pl.col("head_dim")
    per_pass = keys_and_values / pl.col("tensor_parallel") * widths.activation
    return _layer_passes() * 3 * per_pass * _ring("context_parallel")


def pipeline_bytes(widths: ByteWidths) -> pl.Expr:
    """Return the bytes between pipeline stages: activations on, gradients back, once per interleaved stage."""
    stages = pl.col("virtual_pipeline").fill_null(1)
    sent = micro_batches() * stages * 2 * activation_bytes(widths) / pl.col("tensor_parallel")
    return pl.when(pl.col("pipeline_parallel") > 1).then(sent).otherwise(0.0)


def shard_parameters() -> pl.Expr:
    """Return the parameters whose gradients one accelerator holds: all over TP x PP."""
    return total_parameters() / (pl.col("tensor_parallel") * pl.col("pipeline_parallel"))


def data_group() -> pl.Expr:
    """Return the ranks that hold the same shard: DP x CP."""
    return pl.col("data_parallel") * pl.col("context_parallel")


def data_ranks_in_domain() -> pl.Expr:
    """Return the ranks of one data group that share a scale-up domain, context ranks first, then whole replicas."""
    inner = pl.col("tensor_parallel") * pl.col("context_parallel")
    context = pl.when(_fits("tensor", "context")).then(pl.col("context_parallel")).otherwise(1)
    replicas = pl.max_horizontal(1, pl.col("domain_accelerators") // (inner * pl.col("pipeline_parallel")))
    return pl.min_horizontal(context * replicas, data_group())


def data_scale_out_bytes(width: int) -> pl.Expr:
    """Return the bytes of one gather or reduce-scatter of the shard between domains.

    The group reduces inside each domain first, so each of its q ranks there carries 1 / q of the shard between the
    r / q domains; with q = 1 this is the flat ring.
    """
    domains = data_group() / data_ranks_in_domain()
    return shard_parameters() * width * (domains - 1) / domains / data_ranks_in_domain()


def data_scale_up_bytes(width: int) -> pl.Expr:
    """Return the bytes of the same inside the domain."""
    ranks = data_ranks_in_domain()
    return shard_parameters() * width * (ranks - 1) / ranks


def _layer_passes() -> pl.Expr:
    """Return how often a step runs a layer on one accelerator: micro-batches times layers of the stage."""
    return micro_batches() * pl.col("layers") / pl.col("pipeline_parallel")


def _ring(column: str) -> pl.Expr:
    return (pl.col(column) - 1) / pl.col(column)


def _fits(*dimensions: str) -> pl.Expr:
    span = pl.lit(1)
    for dimension in dimensions:
        span = span * pl.col(f"{dimension}_parallel")
    return span <= pl.col("domain_accelerators")


def _on_tier(*, is_scale_up: bool) -> pl.Expr:
    parts = [
        pl.when(pl.col(f"is_{name}_scale_up") == is_scale_up).then(pl.col(f"{name}_bytes")).otherwise(0.0)
        for name in ("tensor", "context", "pipeline")
    ]
    return parts[0] + parts[1] + parts[2]


def _number(column: str) -> pl.Expr:
    """Return a whole-number column as a float: products of sizes leave the range of 64-bit integers."""
    return pl.col(column).cast(pl.Float64)
