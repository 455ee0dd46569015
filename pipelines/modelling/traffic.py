"""Bytes that one accelerator sends in a step, by parallel dimension and by tier.

A dimension stays inside the scale-up domain where its ranks and all those nested in it fit: tensor innermost, then
context, experts, pipeline, data. Collectives move (n - 1) / n of a buffer for each gather or reduce-scatter, as a ring
does; between domains they are hierarchical (each rank carries its part of what its domain has reduced) or flat.

Columns: those of `parallelism`, those of `workloads.frame()`, and `domain_accelerators`, the size of the domain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from pipelines.modelling.flops import expert_parameters, total_parameters, trained_parameters, value_width
from pipelines.modelling.parallelism import experts_over, micro_batches, require_world, stage_accelerators

Algorithm = Literal["hierarchical", "flat"]
"""Whether ranks of a data group reduce inside their domain before they send outside it."""

DIMENSIONS = ("tensor", "context", "expert", "pipeline")
"""Parallel dimensions that exchange activations, from the innermost out; data parallelism exchanges parameters."""


@dataclass(frozen=True)
class ByteWidths:
    """Bytes of one number of each kind on the wire."""

    activation: int = 2
    gradient: int = 2
    parameter: int = 2
    dispatch: int = 2
    """Activations on their way to an expert; those on their way back are as wide as any activation."""


LOW_PRECISION_GATHER = ByteWidths(parameter=1, dispatch=1)
"""Gradients reduced in 16 bits, parameters gathered and tokens dispatched in 8: published FP8 and FP4 runs."""


@dataclass(frozen=True)
class Sharding:
    """How parameters are kept over a data group."""

    is_gathered_for_use: bool = False
    """Whether weights are gathered for each pass as well (ZeRO stage 3, FSDP), not once a step after the update."""
    is_gathered_each_micro_batch: bool = False
    """Whether that happens for every micro-batch, as where a step has no room to hold them."""


OPTIMIZER_STATES = Sharding()
FULLY_SHARDED = Sharding(is_gathered_for_use=True)


def traffic(
    runs: pl.DataFrame,
    widths: ByteWidths = LOW_PRECISION_GATHER,
    *,
    algorithm: Algorithm = "hierarchical",
    sharding: Sharding = OPTIMIZER_STATES,
) -> pl.DataFrame:
    """Add the bytes of each class and tier, per accelerator and step.

    Columns added: `tensor_bytes, context_bytes, expert_bytes, pipeline_bytes` with `*_scale_up_share` beside each; of
    the data dimension `gradient_scale_out_bytes, gather_scale_out_bytes, data_scale_up_bytes`; the totals
    `scale_up_bytes, scale_out_bytes`.

    Raises:
        WorldSizeError: a row's accelerators are not the product of its parallelisms.
    """
    require_world(runs)
    gathers = gathers_per_step(sharding)
    by_class = runs.with_columns(
        tensor_bytes=tensor_bytes(widths),
        context_bytes=context_bytes(widths),
        expert_bytes=expert_bytes(widths),
        pipeline_bytes=pipeline_bytes(widths),
        tensor_scale_up_share=is_inside("tensor").cast(pl.Float64),
        context_scale_up_share=is_inside("context").cast(pl.Float64),
        expert_scale_up_share=expert_scale_up_share(),
        pipeline_scale_up_share=is_inside("pipeline").cast(pl.Float64),
        gradient_scale_out_bytes=data_scale_out_bytes(widths.gradient, algorithm),
        gather_scale_out_bytes=gathers * data_scale_out_bytes(widths.parameter, algorithm),
        data_scale_up_bytes=data_scale_up_bytes(widths.gradient, algorithm)
        + gathers * data_scale_up_bytes(widths.parameter, algorithm),
    )
    return by_class.with_columns(
        scale_up_bytes=_activations(scale_up=True) + pl.col("data_scale_up_bytes"),
        scale_out_bytes=_activations(scale_up=False)
        + pl.col("gradient_scale_out_bytes")
        + pl.col("gather_scale_out_bytes"),
    )


def gathers_per_step(sharding: Sharding) -> pl.Expr:
    """Return how often a step gathers the parameters: once after the update, or before each pass forward and back."""
    if not sharding.is_gathered_for_use:
        return pl.lit(1.0)
    return 2 * micro_batches() if sharding.is_gathered_each_micro_batch else pl.lit(2.0)


def activation_bytes(widths: ByteWidths) -> pl.Expr:
    """Return the bytes of one micro-batch's activations between two layers, before tensor sharding."""
    return _tokens() * pl.col("hidden") * widths.activation


def tensor_bytes(widths: ByteWidths) -> pl.Expr:
    """Return the bytes of tensor parallelism with sequence parallelism.

    Two gathers and two reduce-scatters a layer forward and the same backward (Korthikanti et al. 2022); an all-reduce
    without sequence parallelism moves as much.
    """
    return _layer_passes(pl.col("layers")) * 8 * activation_bytes(widths) * _ring("tensor_parallel")


def context_bytes(widths: ByteWidths) -> pl.Expr:
    """Return the bytes of context parallelism: keys and values gathered forward and backward, gradients scattered."""
    channels = pl.col("kv_heads") * (_number("head_dim") + value_width())
    keys_and_values = pl.col("micro_batch") * pl.col("sequence_length") * channels
    per_pass = keys_and_values / pl.col("tensor_parallel") * widths.activation
    return _layer_passes(pl.col("layers")) * 3 * per_pass * _ring("context_parallel")


def expert_bytes(widths: ByteWidths) -> pl.Expr:
    """Return the bytes of expert parallelism: tokens to their experts and back, forward and backward.

    Each of the four exchanges sends all but 1 / EP of the tokens once for every expert chosen.
    """
    tokens = _tokens() / pl.col("tensor_parallel") * pl.col("hidden") * pl.col("experts_per_token")
    exchanged = tokens * 2 * (widths.dispatch + widths.activation) * (experts_over() - 1) / experts_over()
    return _layer_passes(pl.col("moe_layers")) * exchanged


def pipeline_bytes(widths: ByteWidths) -> pl.Expr:
    """Return the bytes between pipeline stages: activations on, gradients back, once per interleaved stage."""
    stages = pl.col("virtual_pipeline").fill_null(1)
    sent = micro_batches() * stages * 2 * activation_bytes(widths) / pl.col("tensor_parallel")
    return pl.when(pl.col("pipeline_parallel") > 1).then(sent).otherwise(0.0)


def span(dimension: str) -> pl.Expr:
    """Return the accelerators over which a dimension's ranks lie, with all that is nested in it.

    Experts lie over whole tensor and context groups: EP accelerators, or TP x CP where that is more.
    """
    tensor = pl.col("tensor_parallel")
    context = tensor * pl.col("context_parallel")
    expert = pl.max_horizontal(context, experts_over())
    return {
        "tensor": tensor,
        "context": context,
        "expert": expert,
        "pipeline": expert * pl.col("pipeline_parallel"),
        "data": pl.col("accelerator_count"),
    }[dimension]


def is_inside(dimension: str) -> pl.Expr:
    """Return whether a dimension stays inside the scale-up domain."""
    return span(dimension) <= pl.col("domain_accelerators")


def expert_scale_up_share() -> pl.Expr:
    """Return the share of the tokens exchanged that goes to experts in the same domain.

    (q - 1) / (EP - 1) where q of the group's ranks share a domain; all where there is no group.
    """
    group = experts_over()
    ranks = pl.min_horizontal(group, pl.col("domain_accelerators"))
    return pl.when(group > 1).then((ranks - 1) / (group - 1)).otherwise(1.0)


def shard_parameters() -> pl.Expr:
    """Return the dense parameters whose gradients one accelerator holds: those trained over TP x PP."""
    return _trained_dense() / (pl.col("tensor_parallel") * pl.col("pipeline_parallel"))


def expert_shard_parameters() -> pl.Expr:
    """Return the parameters of experts whose gradients one accelerator holds: all over EP x PP."""
    return _trained_experts() / (experts_over() * pl.col("pipeline_parallel"))


def data_group() -> pl.Expr:
    """Return the ranks that hold the same dense shard: DP x CP."""
    return pl.col("data_parallel") * pl.col("context_parallel")


def expert_data_group() -> pl.Expr:
    """Return the ranks that hold the same experts: a pipeline stage over EP."""
    return stage_accelerators() / experts_over()


def data_ranks_in_domain() -> pl.Expr:
    """Return the ranks of one data group that share a scale-up domain.

    Context ranks first, and those replicas that an expert group spans, then whole replicas.
    """
    domain, inner = pl.col("domain_accelerators"), span("context")
    of_block = span("expert") / pl.col("tensor_parallel")
    of_part = pl.max_horizontal(1, domain // inner) * pl.col("context_parallel")
    ranks = (
        pl.when(is_inside("expert"))
        .then(of_block * _blocks_in_domain())
        .when(is_inside("context"))
        .then(of_part)
        .otherwise(1)
    )
    return pl.min_horizontal(ranks, data_group())


def expert_data_ranks_in_domain() -> pl.Expr:
    """Return the ranks that hold the same experts and share a scale-up domain."""
    copies = span("expert") / experts_over() * _blocks_in_domain()
    return pl.min_horizontal(pl.when(is_inside("expert")).then(copies).otherwise(1.0), expert_data_group())


def data_scale_out_bytes(width: int, algorithm: Algorithm = "hierarchical") -> pl.Expr:
    """Return the bytes of one gather or reduce-scatter of the shards between domains.

    Hierarchical: each of the q ranks that share a domain carries 1 / q of the shard between the r / q domains. Flat:
    the ring runs over all r ranks and crosses domains wherever it has more than one.
    """
    dense = _between(shard_parameters() * width, data_group(), data_ranks_in_domain(), algorithm)
    ranks = expert_data_ranks_in_domain()
    return dense + _between(expert_shard_parameters() * width, expert_data_group(), ranks, algorithm)


def data_scale_up_bytes(width: int, algorithm: Algorithm = "hierarchical") -> pl.Expr:
    """Return the bytes of the same inside the domain."""
    dense = _within(shard_parameters() * width, data_group(), data_ranks_in_domain(), algorithm)
    ranks = expert_data_ranks_in_domain()
    return dense + _within(expert_shard_parameters() * width, expert_data_group(), ranks, algorithm)


def _between(buffer: pl.Expr, group: pl.Expr, ranks: pl.Expr, algorithm: Algorithm) -> pl.Expr:
    if algorithm == "flat":
        return pl.when(ranks < group).then(buffer * (group - 1) / group).otherwise(0.0)
    domains = group / ranks
    return buffer * (domains - 1) / domains / ranks


def _within(buffer: pl.Expr, group: pl.Expr, ranks: pl.Expr, algorithm: Algorithm) -> pl.Expr:
    if algorithm == "flat":
        return pl.when(ranks < group).then(0.0).otherwise(buffer * (group - 1) / group)
    return buffer * (ranks - 1) / ranks


def _trained_experts() -> pl.Expr:
    return pl.when(pl.col("adapter_rank") > 0).then(0.0).otherwise(expert_parameters())


def _trained_dense() -> pl.Expr:
    all_trained = total_parameters() - expert_parameters()
    return pl.when(pl.col("adapter_rank") > 0).then(trained_parameters()).otherwise(all_trained)


def _blocks_in_domain() -> pl.Expr:
    """Return the whole replicas, or pipelines of expert groups, that one domain holds; at least one."""
    return pl.max_horizontal(1, pl.col("domain_accelerators") // span("pipeline"))


def _tokens() -> pl.Expr:
    """Return the tokens of a micro-batch on one context rank."""
    return _number("micro_batch") * pl.col("sequence_length") / pl.col("context_parallel")


def _layer_passes(layers: pl.Expr) -> pl.Expr:
    """Return how often a step runs one of these layers on one accelerator: micro-batches times those of the stage."""
    return micro_batches() * layers / pl.col("pipeline_parallel")


def _ring(column: str) -> pl.Expr:
    return (pl.col(column) - 1) / pl.col(column)


def _activations(*, scale_up: bool) -> pl.Expr:
    """Return the bytes of activations on one tier, over all dimensions."""
    shares = {name: pl.col(f"{name}_scale_up_share") for name in DIMENSIONS}
    return pl.sum_horizontal(
        pl.col(f"{name}_bytes") * (share if scale_up else 1 - share) for name, share in shares.items()
    )


def _number(column: str) -> pl.Expr:
    """Return a whole-number column as a float: products of sizes leave the range of 64-bit integers."""
    return pl.col(column).cast(pl.Float64)
