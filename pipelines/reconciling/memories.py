"""Whether each run fits in its accelerators' memory, and what the workloads cost, by formula: two `mart` tables."""

from __future__ import annotations

import polars as pl

from pipelines.modelling import flops, memory, workloads
from pipelines.modelling.memory import LOW_PRECISION, Storage
from pipelines.modelling.parallelism import fills_world, spreads_experts
from pipelines.schemas.modelling_mart import Memory, Workloads

_NARROW = ("fp8", "fp4")


def memories(known: pl.DataFrame) -> pl.DataFrame:
    """Return `mart.memory`: the results of `members.language_model_results` whose parallelism is known."""
    is_told = (
        fills_world()
        & spreads_experts()
        & pl.col("micro_batch").is_not_null()
        & pl.col("global_batch_size").is_not_null()
        & pl.col("precision").is_not_null()
    )
    told = (
        known.filter(is_told.fill_null(value=False))
        .with_columns(
            weight_bytes=_by_precision(memory.weight_bytes(LOW_PRECISION), memory.weight_bytes(Storage())),
            gradient_bytes=_by_precision(memory.gradient_bytes(LOW_PRECISION), memory.gradient_bytes(Storage())),
            optimizer_bytes=_by_precision(memory.optimizer_bytes(LOW_PRECISION), memory.optimizer_bytes(Storage())),
            activation_bytes=_by_precision(memory.activation_bytes(LOW_PRECISION), memory.activation_bytes(Storage())),
            recomputed_bytes=memory.activation_bytes(Storage(), "full"),
            available_bytes="memory_bytes",
        )
        .with_columns(states=pl.col("weight_bytes") + pl.col("gradient_bytes") + pl.col("optimizer_bytes"))
        .with_columns(
            needed_bytes=pl.col("states") + pl.col("activation_bytes"),
            needed_with_full_recompute_bytes=pl.col("states") + pl.col("recomputed_bytes"),
        )
        .with_columns(fits_with=_fits_with())
    )
    return Memory.cast(told.select(Memory.column_names()).sort("result_id"))


def workload_costs() -> pl.DataFrame:
    """Return `mart.workloads`."""
    per_token = {f"flops_per_token_{name}": flops.flops_per_token(name) for name in flops.CONVENTIONS}
    told = workloads.frame().with_columns(
        parameters=flops.total_parameters(),
        active_parameters=flops.active_parameters(),
        trained_parameters=flops.trained_parameters(),
        flops_per_sample_causal=flops.flops_per_sequence(),
        cache_bytes_per_token_8_bit=memory.cache_bytes_per_token(1),
        cache_bytes_per_token_16_bit=memory.cache_bytes_per_token(2),
        **per_token,
    )
    return Workloads.cast(told.select(Workloads.column_names()).sort("benchmark"))


def _by_precision(narrow: pl.Expr, wide: pl.Expr) -> pl.Expr:
    return pl.when(pl.col("precision").is_in(_NARROW)).then(narrow).otherwise(wide)


def _fits_with() -> pl.Expr:
    available = pl.col("available_bytes")
    return (
        pl.when(available.is_null())
        .then(None)
        .when(pl.col("needed_bytes") <= available)
        .then(pl.lit("selective_recompute"))
        .when(pl.col("needed_with_full_recompute_bytes") <= available)
        .then(pl.lit("full_recompute"))
        .otherwise(pl.lit("nothing"))
    )
