"""How a run spreads a model over accelerators, as expressions over the columns of `core.launches`.

The accelerators of a run are the product of its parallelisms; a run that says otherwise is an error, not a rounding.
Columns: `tensor_parallel, context_parallel, pipeline_parallel, virtual_pipeline, data_parallel, micro_batch,
global_batch_size, accelerator_count`.
"""

from __future__ import annotations

import polars as pl


class WorldSizeError(ValueError):
    """The accelerators of a run are not the product of its parallelisms."""


def replica_accelerators() -> pl.Expr:
    """Return the accelerators that hold one copy of the model: TP x CP x PP."""
    return pl.col("tensor_parallel") * pl.col("context_parallel") * pl.col("pipeline_parallel")


def fills_world() -> pl.Expr:
    """Return whether the accelerators are TP x CP x PP x DP."""
    return replica_accelerators() * pl.col("data_parallel") == pl.col("accelerator_count")


def require_world(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame unchanged.

    Raises:
        WorldSizeError: a row's accelerators are not the product of its parallelisms, or cannot be told.
    """
    wrong = frame.filter(~fills_world().fill_null(value=False))
    if wrong.is_empty():
        return frame
    row = wrong.row(0, named=True)
    factors = {name: row[f"{name}_parallel"] for name in ("tensor", "context", "pipeline", "data")}
    product = " x ".join(f"{name} {size}" for name, size in factors.items())
    raise WorldSizeError(f"{row['accelerator_count']} accelerators are not {product} ({wrong.height} such rows)")


def micro_batches() -> pl.Expr:
    """Return the micro-batches of a step on one pipeline: batch over DP and micro-batch size, not always whole."""
    return pl.col("global_batch_size") / (pl.col("data_parallel") * pl.col("micro_batch"))


def bubble_slots() -> pl.Expr:
    """Return the micro-batch times that a pipeline idles in a step: (PP - 1) / VP; VP is 1 where none is set.

    Narayanan et al. 2021, section 2.2: interleaved stages divide the bubble.
    """
    return (pl.col("pipeline_parallel") - 1) / pl.col("virtual_pipeline").fill_null(1)


def layout() -> pl.Expr:
    """Return the parallelism of one replica as a name, such as `tp4-cp2-pp8-vp8-mb1`; null where a part is."""
    return pl.format(
        "tp{}-cp{}-pp{}-vp{}-mb{}",
        "tensor_parallel",
        "context_parallel",
        "pipeline_parallel",
        pl.col("virtual_pipeline").fill_null(1),
        "micro_batch",
    )
