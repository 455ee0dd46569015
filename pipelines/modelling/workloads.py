"""The language models that benchmarks train, as parameters of their architecture.

Facts about models belong here, with their source; what a model costs to run is computed in the other modules.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import polars as pl


@dataclass(frozen=True)
class Workload:
    """A benchmark's model: decoder layers of attention and a feed-forward block, between two embeddings."""

    benchmark: str
    """Name as in the logs."""
    model: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    """Key and value heads: fewer than `heads` in grouped-query attention."""
    head_dim: int
    ffn: int
    """Width of the feed-forward block."""
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
    weight_passes: int = 6
    """FLOPs per matrix weight and token: 2 forward, 2 for activation gradients, 2 for weight gradients if trained."""
    source: str = ""
    not_validated_reason: str | None = None
    """Why no prediction is published for the benchmark; None where the step-time model was tested on its results."""


_NOT_YET = "the step-time model has not been tested on this benchmark's results"


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
        not_validated_reason=_NOT_YET,
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
        not_validated_reason=_NOT_YET,
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
        source="Touvron et al. 2023, arXiv 2307.09288; config.json of meta-llama/Llama-2-70b-hf",
        not_validated_reason=_NOT_YET,
    ),
)

UNMODELLED = {
    "gpt_oss_20b": "no model of mixtures of experts has been tested",
    "deepseekv3_671b": "no model of mixtures of experts has been tested",
    "qwen35_397b_grpo": "no model of reinforcement learning has been tested",
}
"""Language-model benchmarks without a workload here, and why none is predicted."""

LANGUAGE_MODEL_BENCHMARKS = (*(workload.benchmark for workload in WORKLOADS), *UNMODELLED)
"""Benchmarks that train a decoder-only language model; BERT, an encoder, is not among them."""


def frame() -> pl.DataFrame:
    """Return the workloads, one row per benchmark, one column per field of `Workload`."""
    return pl.DataFrame(
        [asdict(workload) for workload in WORKLOADS], schema_overrides={"not_validated_reason": pl.String}
    )


def without_prediction() -> pl.DataFrame:
    """Return `benchmark, not_validated_reason` of every language-model benchmark that is not predicted."""
    reasons = {workload.benchmark: workload.not_validated_reason for workload in WORKLOADS} | UNMODELLED
    rows = [(benchmark, reason) for benchmark, reason in reasons.items() if reason]
    return pl.DataFrame(rows, schema={"benchmark": pl.String, "not_validated_reason": pl.String}, orient="row")
