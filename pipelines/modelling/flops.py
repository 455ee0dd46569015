"""Parameters, FLOPs and utilisation, as expressions over the columns of `workloads.frame()`.

Published claims differ by what they count, so each function names its convention: `causal` counts the attention that
a causal mask leaves, `full` the whole square (as Megatron-Core does), `6n` six times every parameter that a token
passes and no attention.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

Convention = Literal["causal", "full", "6n"]
CONVENTIONS: tuple[Convention, ...] = ("causal", "full", "6n")

_PASSES_OF_ATTENTION = 6
"""FLOPs per context token and channel: a multiplication and an addition, forward once and backward twice."""


def attention_parameters() -> pl.Expr:
    """Return the matrix parameters of one layer's attention.

    With multi-latent attention (DeepSeek-AI 2024, arXiv 2412.19437, section 2.1.1) queries, and keys with values, pass
    through a narrow state each; the positions of a key are a part of their own.
    """
    hidden, heads, head = _number("hidden"), pl.col("heads"), pl.col("head_dim")
    queries = pl.coalesce(pl.col("query_rank") * (hidden + heads * head), hidden * heads * head)
    grouped = hidden * pl.col("kv_heads") * (head + value_width())
    compressed = pl.col("kv_rank") * (hidden + heads * (head - pl.col("rope_dim") + value_width()))
    keys_and_values = pl.coalesce(compressed + hidden * pl.col("rope_dim"), grouped)
    return queries + keys_and_values + hidden * heads * value_width()


def value_width() -> pl.Expr:
    """Return the width of a value head."""
    return pl.coalesce("value_head_dim", "head_dim")


def layer_parameters() -> pl.Expr:
    """Return the matrix parameters of one dense layer: attention and feed-forward block."""
    return attention_parameters() + pl.col("ffn_matrices") * _number("hidden") * pl.col("ffn")


def expert_parameters() -> pl.Expr:
    """Return the parameters of all routed experts, those of further prediction layers included."""
    return _mixtures() * pl.col("experts") * _one_expert()


def matmul_parameters() -> pl.Expr:
    """Return the parameters that a token is multiplied with: layers, of mixtures the experts chosen, output matrix.

    Further prediction layers count, and each uses the output matrix again.
    """
    outputs = (1 + pl.col("prediction_layers")) * _output_matrix()
    return _shared_matrices() + _mixtures() * pl.col("experts_per_token") * _one_expert() + outputs


def total_parameters() -> pl.Expr:
    """Return all parameters: matrices, every expert, both embeddings (one where tied), vectors."""
    embeddings = pl.when("tied_embeddings").then(1).otherwise(2) * _output_matrix()
    return _shared_matrices() + expert_parameters() + embeddings + pl.col("vector_parameters")


def active_parameters() -> pl.Expr:
    """Return the parameters that one token passes: all but the experts not chosen."""
    return total_parameters() - _mixtures() * (pl.col("experts") - pl.col("experts_per_token")) * _one_expert()


def trained_parameters() -> pl.Expr:
    """Return the parameters that get gradients: all, or those of the adapters (Hu et al. 2021, arXiv 2106.09685).

    Adapters of rank r stand beside each of the four attention matrices, with r parameters per row and column.
    """
    hidden, heads, groups = _number("hidden"), pl.col("heads"), pl.col("kv_heads")
    rows_and_columns = (
        4 * hidden + heads * (pl.col("head_dim") + value_width()) + groups * (pl.col("head_dim") + value_width())
    )
    adapters = pl.col("layers") * pl.col("adapter_rank") * rows_and_columns
    return pl.when(pl.col("adapter_rank") > 0).then(adapters).otherwise(total_parameters())


def attention_context(convention: Convention) -> pl.Expr:
    """Return the tokens that one token attends to, summed over the layers.

    Under a causal mask half the sequence on average, in a window of w tokens w - w^2 / 2s; without the mask the whole
    sequence or window.
    """
    sequence = _number("sequence_length")
    window = pl.min_horizontal(pl.col("window").cast(pl.Float64), sequence)
    windowed = pl.col("windowed_layers") * pl.coalesce("window", "sequence_length")
    unwindowed = pl.col("layers") + pl.col("prediction_layers") - pl.col("windowed_layers")
    if convention == "causal":
        windowed = pl.col("windowed_layers") * (window - window**2 / (2 * sequence)).fill_null(sequence / 2)
        return unwindowed * sequence / 2 + windowed
    return unwindowed * sequence + windowed


def flops_per_token(convention: Convention = "causal", *, is_recomputed: bool = False) -> pl.Expr:
    """Return the model FLOPs of one token, forward and backward.

    With the `full` convention this equals Megatron-Core's `num_floating_point_operations`.

    Args:
        convention: what of the attention counts.
        is_recomputed: whether the layers run forward twice; then these are hardware FLOPs, not model FLOPs
            (Narayanan et al. 2021, equation 3, has both).
    """
    if convention == "6n":
        return pl.col("weight_passes") * active_parameters()
    width = pl.col("heads") * (_number("head_dim") + value_width())
    attention = _PASSES_OF_ATTENTION * attention_context(convention) * width
    weights = pl.col("weight_passes") * matmul_parameters()
    if not is_recomputed:
        return weights + attention
    outputs = (1 + pl.col("prediction_layers")) * _output_matrix()
    return weights + attention + 2 * (matmul_parameters() - outputs) + attention / 3


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
    return micro_batch_seconds_at_peak(convention) / micro_batch_seconds


def micro_batch_seconds_at_peak(convention: Convention = "causal") -> pl.Expr:
    """Return the time of one micro-batch on one replica if it ran at peak; needs what `micro_batch_efficiency` does."""
    peak = pl.col("replica_accelerator_count") * pl.col("peak_tflops") * 1e12
    return flops_per_sequence(convention) * pl.col("micro_batch") / peak


def training_seconds(tokens: pl.Expr, tflops_per_accelerator: pl.Expr) -> pl.Expr:
    """Return the time to train on `tokens` at an achieved rate, 6 N T / (n X); needs `accelerator_count`.

    Narayanan et al. 2021, equation 4, without recomputation (with it, 8 stands in place of 6).
    """
    work = pl.col("weight_passes") * active_parameters() * tokens
    return work / (pl.col("accelerator_count") * tflops_per_accelerator * 1e12)


def _mixtures() -> pl.Expr:
    """Return the layers with experts; further prediction layers are built as the last layer is."""
    further = pl.when(pl.col("moe_layers") > 0).then(pl.col("prediction_layers")).otherwise(0)
    return _number("moe_layers") + further


def _one_expert() -> pl.Expr:
    return pl.col("ffn_matrices") * _number("hidden") * pl.col("expert_ffn")


def _output_matrix() -> pl.Expr:
    return _number("hidden") * pl.col("vocabulary")


def _shared_matrices() -> pl.Expr:
    """Return the matrix parameters of all layers that every token passes, without the output matrix."""
    hidden, layers = _number("hidden"), pl.col("layers") + pl.col("prediction_layers")
    dense = (layers - _mixtures()) * pl.col("ffn_matrices") * hidden * pl.col("ffn")
    mixed = _mixtures() * (pl.col("shared_experts") * _one_expert() + hidden * pl.col("experts"))
    projections = pl.col("prediction_layers") * 2 * hidden**2
    return layers * attention_parameters() + dense + mixed + projections


def _number(column: str) -> pl.Expr:
    """Return a whole-number column as a float: products of sizes leave the range of 64-bit integers."""
    return pl.col(column).cast(pl.Float64)
