"""How a run spreads a model over accelerators, as expressions over the columns of `core.launches`.

The accelerators of a run are the product of its parallelisms; a run that says otherwise is an error, not a rounding.
Columns: `tensor_parallel, context_parallel, pipeline_parallel, virtual_pipeline, expert_parallel, data_parallel,
micro_batch, global_batch_size, accelerator_count`. Experts are spread over ranks of the other dimensions, so expert
parallelism takes no accelerators of its own.
"""

from __future__ import annotations

import polars as pl


class WorldSizeError(ValueError):
    """The accelerators of a run are not the product of its parallelisms."""


def replica_accelerators() -> pl.Expr:
    """Return the accelerators that hold one copy of the dense parameters: TP x CP x PP."""
    return pl.col("tensor_parallel") * pl.col("context_parallel") * pl.col("pipeline_parallel")


def fills_world() -> pl.Expr:
    """Return whether the accelerators are TP x CP x PP x DP."""
    return replica_accelerators() * pl.col("data_parallel") == pl.col("accelerator_count")


def spreads_experts() -> pl.Expr:
    """Return whether the ranks of one pipeline stage, TP x CP x DP, can be split into groups of EP."""
    return stage_accelerators() % experts_over() == 0


def experts_over() -> pl.Expr:
    """Return expert parallelism; 1 where none is set."""
    return pl.col("expert_parallel").fill_null(1)


def stage_accelerators() -> pl.Expr:
    """Return the accelerators of one pipeline stage over all replicas: TP x CP x DP."""
    return pl.col("tensor_parallel") * pl.col("context_parallel") * pl.col("data_parallel")


def require_world(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame unchanged.

    Raises:
        WorldSizeError: a row's accelerators are not the product of its parallelisms, or cannot be told, or its experts
            cannot be spread over a stage.
    """
    wrong = frame.filter(~fills_world().fill_null(value=False))
    if not wrong.is_empty():
        row = wrong.row(0, named=True)
        factors = {name: row[f"{name}_parallel"] for name in ("tensor", "context", "pipeline", "data")}
        product = " x ".join(f"{name} {size}" for name, size in factors.items())
        raise WorldSizeError(f"{row['accelerator_count']} accelerators are not {product} ({wrong.height} such rows)")
    if "expert_parallel" in frame.columns:
        uneven = frame.filter(~spreads_experts())
        if not uneven.is_empty():
            row = uneven.row(0, named=True)
            stage = uneven.select(stage_accelerators()).item(0, 0)
            raise WorldSizeError(
                f"expert parallelism {row['expert_parallel']} does not divide the {stage} accelerators of a pipeline "
                f"stage ({uneven.height} such rows)"
            )
    return frame


def micro_batches() -> pl.Expr:
    """Return the micro-batches of a step on one pipeline: batch over DP and micro-batch size, not always whole."""
    return pl.col("global_batch_size") / (pl.col("data_parallel") * pl.col("micro_batch"))


def bubble_slots() -> pl.Expr:
    """Return the micro-batch times that a pipeline idles in a step: (PP - 1) / VP; VP is 1 where none is set.

    Narayanan et al. 2021, section 2.2: interleaved stages divide the bubble.
    """
    return (pl.col("pipeline_parallel") - 1) / pl.col("virtual_pipeline").fill_null(1)


def layout() -> pl.Expr:
    """Return the parallelism of one replica as a name, such as `tp4-cp2-pp8-vp8-mb1`; null where a part is.

    Expert parallelism stands in it where it is set: `tp2-cp1-pp4-vp4-ep32-mb1`.
    """
    experts = pl.when(experts_over() > 1).then(pl.format("-ep{}", "expert_parallel")).otherwise(pl.lit(""))
    return pl.format(
        "tp{}-cp{}-pp{}-vp{}{}-mb{}",
        "tensor_parallel",
        "context_parallel",
        "pipeline_parallel",
        pl.col("virtual_pipeline").fill_null(1),
        experts,
        "micro_batch",
    )
