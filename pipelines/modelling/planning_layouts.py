"""Every way to spread a model over a replica: which sizes of each dimension a model and a machine allow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import polars as pl

from pipelines.modelling.workloads import Workload

LARGEST_TENSOR = 64
LARGEST_CONTEXT = 32
LARGEST_PIPELINE = 64
LARGEST_VIRTUAL = 16
"""Interleaved parts of a stage: twice what the largest published runs use."""

LARGEST_EXPERT = 512
MICRO_BATCHES = (1, 2, 4, 8)
"""Sizes of a micro-batch, in samples, or in multiples where a batch has very many short ones."""

MOST_MICRO_BATCHES = 4096
"""Micro-batches of a step from which their least size is doubled."""

PUBLISHED = (
    "tensor_parallel",
    "context_parallel",
    "pipeline_parallel",
    "virtual_pipeline",
    "expert_parallel",
    "micro_batch",
)
"""What launch files state of a layout."""

LAYOUT = (*PUBLISHED, "is_recomputed")

_SCHEMA = dict.fromkeys(PUBLISHED, pl.Int64) | {"is_recomputed": pl.Boolean}


def layouts(model: Workload, batch_most: int = MOST_MICRO_BATCHES) -> pl.DataFrame:
    """Return every layout of a replica, one row each, the columns of `LAYOUT`.

    Tensor ranks share the heads; context ranks take two pieces of the sequence each, so that a causal mask loads them
    alike (Llama Team 2024, arXiv 2407.21783, section 3.3.2); stages, and their interleaved parts, hold the same number
    of layers, where the first and the last may hold one less beside the embeddings (ibid.); expert ranks share the
    experts. `is_recomputed` is whether the layers run forward again in the backward pass.

    Args:
        model: the model.
        batch_most: the largest batch that will be looked at, in samples.
    """
    unit = 1 << max(0, -(-batch_most // MOST_MICRO_BATCHES) - 1).bit_length()
    rows = [
        (tensor, context, pipeline, virtual, expert, micro_batch, is_recomputed)
        for tensor, context, (pipeline, virtual), expert, micro_batch, is_recomputed in product(
            _divisors(model.heads, LARGEST_TENSOR),
            _contexts(model.sequence_length),
            _stages(model.layers),
            _divisors(max(model.experts, 1), LARGEST_EXPERT),
            [unit * size for size in MICRO_BATCHES],
            (False, True),
        )
    ]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _divisors(count: int, most: int) -> list[int]:
    return [size for size in range(1, min(count, most) + 1) if count % size == 0]


def _contexts(sequence_length: int) -> list[int]:
    sizes = (2**power for power in range(LARGEST_CONTEXT.bit_length()))
    return [size for size in sizes if size == 1 or sequence_length % (2 * size) == 0]


def _stages(layers: int) -> list[tuple[int, int]]:
    """Return pairs of pipeline stages and interleaved parts of each."""
    return sorted(set(_even_stages(layers)) | set(_even_stages(layers + 2)))


def _even_stages(layers: int) -> Iterator[tuple[int, int]]:
    for stages in _divisors(layers, LARGEST_PIPELINE):
        parts = _divisors(layers // stages, LARGEST_VIRTUAL) if stages > 1 else [1]
        yield from ((stages, virtual) for virtual in parts)
