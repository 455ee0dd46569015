"""The language models that benchmarks train, as parameters of their architecture.

Facts about models belong here, with their source; what a model costs to run is computed in the other modules, and a
model that is none of these is read from its configuration file in `model_config`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import polars as pl


@dataclass(frozen=True)
class Workload:
    """A benchmark's model: decoder layers of attention and a feed-forward block, between two embeddings.

    Grouped queries, multi-latent attention, windows, gated blocks and mixtures of experts are all parameters: a model
    without one leaves it at its default.
    """

    benchmark: str
    """Name as in the logs."""
    model: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    """Key and value heads: fewer than `heads` in grouped-query attention."""
    head_dim: int
    """Width of a query and key head."""
    ffn: int
    """Width of the dense feed-forward block."""
    ffn_matrices: int
    """3 for a gated block (SwiGLU), 2 for a plain one."""
    vocabulary: int
    """Tokens of the output matrix, padding included."""
    sequence_length: int
    """Tokens of one sample."""
    vector_parameters: int
    """Norms, biases and learned positions: parameters outside the matrix multiplications."""
    tied_embeddings: bool = False
    """Whether input and output share one embedding matrix."""
    value_head_dim: int | None = None
    """Width of a value head where it is not `head_dim`."""
    query_rank: int | None = None
    """Width that queries are compressed to (multi-latent attention); None where they are not."""
    kv_rank: int | None = None
    """Width that keys and values are compressed to together; None without multi-latent attention."""
    rope_dim: int = 0
    """Part of a key head that carries positions and is shared by all heads; only beside `kv_rank`."""
    window: int | None = None
    """Tokens that a windowed layer attends to; None where every layer attends to all."""
    windowed_layers: int = 0
    moe_layers: int = 0
    """Layers whose feed-forward block is a mixture of experts; the others are dense."""
    experts: int = 0
    """Routed experts of such a layer."""
    experts_per_token: int = 0
    shared_experts: int = 0
    """Experts that every token passes."""
    expert_ffn: int = 0
    """Width of one expert."""
    prediction_layers: int = 0
    """Further layers that predict the tokens after the next, each behind a projection of two states to one."""
    weight_passes: int = 6
    """FLOPs per matrix weight and token: 2 forward, 2 for activation gradients, 2 for weight gradients if trained."""
    adapter_rank: int = 0
    """Rank of the trained adapters of the attention matrices; 0 where all weights are trained."""
    source: str = ""


def _norms(layers: int, hidden: int) -> int:
    """Return the parameters of two norms a layer and a last one."""
    return (2 * layers + 1) * hidden


WORKLOADS = (
    Workload(
        benchmark="gpt3",
        model="GPT-3 175B",
        layers=96,
        hidden=12288,
        heads=96,
        kv_heads=96,
        head_dim=128,
        ffn=49152,
        ffn_matrices=2,
        vocabulary=51200,
        sequence_length=2048,
        # per layer: two layer norms (4h), attention biases (4h), feed-forward biases (5h); a last norm, positions
        vector_parameters=(13 * 96 + 2 + 2048) * 12288,
        tied_embeddings=True,
        source="Brown et al. 2020, table 2.1; vocabulary padded as in the reference implementation",
    ),
    Workload(
        benchmark="llama31_405b",
        model="Llama 3.1 405B",
        layers=126,
        hidden=16384,
        heads=128,
        kv_heads=8,
        head_dim=128,
        ffn=53248,
        ffn_matrices=3,
        vocabulary=128256,
        sequence_length=8192,
        vector_parameters=_norms(126, 16384),
        source="Llama Team 2024, arXiv 2407.21783, table 3",
    ),
    Workload(
        benchmark="llama31_8b",
        model="Llama 3.1 8B",
        layers=32,
        hidden=4096,
        heads=32,
        kv_heads=8,
        head_dim=128,
        ffn=14336,
        ffn_matrices=3,
        vocabulary=128256,
        sequence_length=8192,
        vector_parameters=_norms(32, 4096),
        source="Llama Team 2024, arXiv 2407.21783, table 3",
    ),
    Workload(
        benchmark="llama2_70b_lora",
        model="Llama 2 70B, low-rank adaptation",
        layers=80,
        hidden=8192,
        heads=64,
        kv_heads=8,
        head_dim=128,
        ffn=28672,
        ffn_matrices=3,
        vocabulary=32000,
        sequence_length=8192,
        vector_parameters=_norms(80, 8192),
        weight_passes=4,
        adapter_rank=16,
        source="Touvron et al. 2023, arXiv 2307.09288; config.json of meta-llama/Llama-2-70b-hf; rank and place of the "
        "adapters: reference implementation of the benchmark",
    ),
    Workload(
        benchmark="gpt_oss_20b",
        model="GPT-OSS 20B",
        layers=24,
        hidden=2880,
        heads=64,
        kv_heads=8,
        head_dim=64,
        ffn=2880,
        ffn_matrices=3,
        vocabulary=201088,
        sequence_length=8192,
        # per layer: two norms, attention biases and a sink a head, router biases, biases of every expert
        vector_parameters=24 * (2 * 2880 + (64 + 2 * 8) * 64 + 2880 + 64 + 32 + 32 * 3 * 2880) + 2880,
        window=128,
        windowed_layers=12,
        moe_layers=24,
        experts=32,
        experts_per_token=4,
        expert_ffn=2880,
        source="config.json of openai/gpt-oss-20b; sequence length: reference implementation of the benchmark",
    ),
    Workload(
        benchmark="deepseekv3_671b",
        model="DeepSeek-V3 671B",
        layers=61,
        hidden=7168,
        heads=128,
        kv_heads=128,
        head_dim=192,
        ffn=18432,
        ffn_matrices=3,
        vocabulary=129280,
        sequence_length=4096,
        # norms of the layers, of both compressed states, and the router's biases
        vector_parameters=_norms(61, 7168) + 61 * (1536 + 512) + 58 * 256,
        value_head_dim=128,
        query_rank=1536,
        kv_rank=512,
        rope_dim=64,
        moe_layers=58,
        experts=256,
        experts_per_token=8,
        shared_experts=1,
        expert_ffn=2048,
        prediction_layers=1,
        source="DeepSeek-AI 2024, arXiv 2412.19437, section 4.2; sequence length and one prediction layer: launch "
        "files of training-v6.0",
    ),
)

UNMODELLED = {"qwen35_397b_grpo": "no model of reinforcement learning has been tested"}
"""Language-model benchmarks without a workload here, and why none is predicted."""

LANGUAGE_MODEL_BENCHMARKS = (*(workload.benchmark for workload in WORKLOADS), *UNMODELLED)
"""Benchmarks that train a decoder-only language model; BERT, an encoder, is not among them."""

_NULLABLE = {
    "value_head_dim": pl.Int64,
    "query_rank": pl.Int64,
    "kv_rank": pl.Int64,
    "window": pl.Int64,
}


def frame(workloads: Iterable[Workload] = WORKLOADS) -> pl.DataFrame:
    """Return the workloads, one row per benchmark, one column per field of `Workload`."""
    return pl.DataFrame([asdict(workload) for workload in workloads], schema_overrides=_NULLABLE)


def without_prediction() -> pl.DataFrame:
    """Return `benchmark, not_validated_reason` of every language-model benchmark that has no workload."""
    schema = {"benchmark": pl.String, "not_validated_reason": pl.String}
    return pl.DataFrame(list(UNMODELLED.items()), schema=schema, orient="row")
