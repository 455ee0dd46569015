"""Memory of one accelerator in training and serving: weights, gradients, optimizer states, activations, cache.

Columns: those of `workloads.frame()` and of `parallelism`. Sources: Rajbhandari et al. 2020 (arXiv 1910.02054) for
sharded states, Korthikanti et al. 2022 (arXiv 2205.05198) for activations, Narayanan et al. 2021 for the micro-batches
that a pipeline holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from pipelines.modelling.flops import expert_parameters, total_parameters, trained_parameters, value_width
from pipelines.modelling.parallelism import bubble_slots, experts_over, micro_batches, stage_accelerators

Recompute = Literal["none", "selective", "full"]
Sharding = Literal["none", "optimizer", "gradients", "parameters"]
"""What is spread over the data-parallel group: nothing, or ZeRO's stages 1, 2, 3 (3 is also called FSDP)."""


@dataclass(frozen=True)
class Storage:
    """Bytes that each kind of number takes."""

    weight: float = 2.0
    gradient: float = 4.0
    optimizer: float = 12.0
    """Of one parameter: a full-precision copy and two moments (Adam)."""
    activation_per_channel: float = 34.0
    """Of one token, channel and layer: 34 for 16 bits, plain blocks and full attention heads (Korthikanti et al.)."""


LOW_PRECISION = Storage(weight=1.0, activation_per_channel=26.5)
"""8-bit weights; activations of gated blocks with grouped queries in 8 bits."""


def weight_bytes(storage: Storage, sharding: Sharding = "optimizer") -> pl.Expr:
    """Return the bytes of the weights on one accelerator."""
    return _states(storage.weight, total_parameters(), is_sharded=sharding == "parameters")


def gradient_bytes(storage: Storage, sharding: Sharding = "optimizer") -> pl.Expr:
    """Return the bytes of the gradients, of what is trained."""
    return _states(storage.gradient, trained_parameters(), is_sharded=sharding in ("gradients", "parameters"))


def optimizer_bytes(storage: Storage, sharding: Sharding = "optimizer") -> pl.Expr:
    """Return the bytes of the optimizer's states, of what is trained."""
    return _states(storage.optimizer, trained_parameters(), is_sharded=sharding != "none")


def activation_bytes(storage: Storage, recompute: Recompute = "selective") -> pl.Expr:
    """Return the bytes of the activations that wait for the backward pass on the first pipeline stage.

    The first stage holds PP + (PP - 1) / VP micro-batches of its share of the layers, or all of a step where there
    are fewer. Selective recomputation drops what attention scores take, 5 a s / h a channel; full recomputation keeps
    the input of each layer only, 2 bytes a channel.
    """
    per_channel = {
        "none": storage.activation_per_channel + 5.0 * pl.col("heads") * pl.col("sequence_length") / pl.col("hidden"),
        "selective": pl.lit(storage.activation_per_channel),
        "full": pl.lit(2.0),
    }[recompute]
    tokens = pl.col("sequence_length").cast(pl.Float64) * pl.col("micro_batch") / pl.col("context_parallel")
    one_layer = per_channel * tokens * pl.col("hidden") / pl.col("tensor_parallel")
    return one_layer * pl.col("layers") / pl.col("pipeline_parallel") * micro_batches_in_flight()


def micro_batches_in_flight() -> pl.Expr:
    """Return the micro-batches whose activations the first stage holds."""
    return pl.min_horizontal(pl.col("pipeline_parallel") + bubble_slots(), micro_batches())


def training_bytes(
    storage: Storage = LOW_PRECISION, sharding: Sharding = "optimizer", recompute: Recompute = "selective"
) -> pl.Expr:
    """Return what a training run needs of one accelerator."""
    states = weight_bytes(storage, sharding) + gradient_bytes(storage, sharding) + optimizer_bytes(storage, sharding)
    return states + activation_bytes(storage, recompute)


def cache_bytes_per_token(bytes_per_value: float) -> pl.Expr:
    """Return the bytes that one token adds to the cache of keys and values.

    2 L g d b for keys and values of g groups; with multi-latent attention the compressed state and the shared part of
    the key, L (r + d_rope) b.
    """
    grouped = pl.col("kv_heads") * (pl.col("head_dim").cast(pl.Float64) + value_width())
    latent = pl.col("kv_rank").cast(pl.Float64) + pl.col("rope_dim")
    return pl.col("layers") * pl.coalesce(latent, grouped) * bytes_per_value


def serving_bytes(bytes_per_weight: float, bytes_per_value: float, tokens: pl.Expr) -> pl.Expr:
    """Return the bytes of all weights and of the cache of `tokens`, before they are spread over accelerators."""
    return total_parameters() * bytes_per_weight + tokens * cache_bytes_per_token(bytes_per_value)


def _states(bytes_each: float, parameters: pl.Expr, *, is_sharded: bool) -> pl.Expr:
    """Return bytes per accelerator of a state of `parameters`, experts over EP and the rest over TP; both over PP.

    Sharded states are spread over the ranks that hold the same parameters: CP x DP of dense ones, of experts a whole
    stage over EP.
    """
    routed = pl.when(pl.col("adapter_rank") > 0).then(0.0).otherwise(expert_parameters())
    experts = pl.min_horizontal(routed, parameters)
    dense = (parameters - experts) / (pl.col("tensor_parallel") * pl.col("pipeline_parallel"))
    spread = experts / (experts_over() * pl.col("pipeline_parallel"))
    if is_sharded:
        dense = dense / (pl.col("data_parallel") * pl.col("context_parallel"))
        spread = spread / (stage_accelerators() / experts_over())
    return bytes_each * (dense + spread)
