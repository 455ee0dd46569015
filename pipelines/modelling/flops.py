"""Parameters, FLOPs and utilisation, as expressions over the columns of `workloads.frame()`.

Published claims differ by what they count, so each function names its convention: `causal` counts the attention that
a causal mask leaves, `full` the whole square (as Megatron-Core does), `6n` six times every parameter and no attention.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

Convention = Literal["causal", "full", "6n"]

_ATTENTION_FACTOR = {"causal": 6, "full": 12}


def layer_parameters() -> pl.Expr:
    """Return the matrix parameters of one layer: query and output, key and value, feed-forward."""
    hidden = _number("hidden")
    attention = 2 * hidden * pl.col("heads") * pl.col("head_dim")
    keys_and_values = 2 * hidden * pl.col("kv_heads") * pl.col("head_dim")
    return attention + keys_and_values + pl.col("ffn_matrices") * hidden * pl.col("ffn")


def matmul_parameters() -> pl.Expr:
    """Return the parameters that every token is multiplied with: all layers and the output matrix."""
    return pl.col("layers") * layer_parameters() + _number("hidden") * pl.col("vocabulary")


def total_parameters() -> pl.Expr:
    """Return all parameters: matrices, both embeddings (one where tied), vectors."""
    input_embedding = pl.when("tied_embeddings").then(0.0).otherwise(_number("hidden") * pl.col("vocabulary"))
    return matmul_parameters() + input_embedding + pl.col("vector_parameters")


def flops_per_token(convention: Convention = "causal") -> pl.Expr:
    """Return the model FLOPs of one token, forward and backward, without recomputation.

    With the `full` convention this equals Megatron-Core's `num_floating_point_operations` for dense models.
    """
    if convention == "6n":
        return pl.col("weight_passes") * total_parameters()
    width = _number("heads") * pl.col("head_dim")
    attention = _ATTENTION_FACTOR[convention] * pl.col("layers") * width * pl.col("sequence_length")
    return pl.col("weight_passes") * matmul_parameters() + attention


def flops_per_sequence(convention: Convention = "causal") -> pl.Expr:
    """Return the model FLOPs of one sample of `sequence_length` tokens."""
    return flops_per_token(convention) * pl.col("sequence_length")


def achieved_tflops(step_seconds: pl.Expr, convention: Convention = "causal") -> pl.Expr:
    """Return the model TFLOPS of one accelerator over a step; needs `global_batch_size, accelerator_count`."""
    work = flops_per_sequence(convention) * pl.col("global_batch_size")
    return work / step_seconds / pl.col("accelerator_count") / 1e12


def micro_batch_efficiency(micro_batch_seconds: pl.Expr, convention: Convention = "causal") -> pl.Expr:
    """Return the share of peak that a pipeline reaches on a micro-batch.

    Needs `micro_batch`, `replica_accelerator_count` and `peak_tflops`, the dense peak of one accelerator.
    """
    peak = pl.col("replica_accelerator_count") * pl.col("peak_tflops") * 1e12
    return flops_per_sequence(convention) * pl.col("micro_batch") / (peak * micro_batch_seconds)


def training_seconds(tokens: pl.Expr, tflops_per_accelerator: pl.Expr) -> pl.Expr:
    """Return the time to train on `tokens` at an achieved rate, 6 N T / (n X); needs `accelerator_count`.

    Narayanan et al. 2021, equation 4, without recomputation (with it, 8 stands in place of 6).
    """
    return (
        pl.col("weight_passes")
        * total_parameters()
        * tokens
        / (pl.col("accelerator_count") * tflops_per_accelerator * 1e12)
    )


def _number(column: str) -> pl.Expr:
    """Return a whole-number column as a float: products of sizes leave the range of 64-bit integers."""
    return pl.col(column).cast(pl.Float64)
