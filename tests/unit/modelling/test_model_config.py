"""Models from configuration files: known ones equal the workloads, hostile ones are a typed error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.modelling import flops, workloads
from pipelines.modelling.model_config import LARGEST_BYTES, ModelConfigError, workload_from_config

LLAMA_405B: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 16384,
    "intermediate_size": 53248,
    "num_hidden_layers": 126,
    "num_attention_heads": 128,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
    "attention_bias": False,
    "mlp_bias": False,
}
GPT_OSS: dict[str, Any] = {
    "model_type": "gpt_oss",
    "attention_bias": True,
    "head_dim": 64,
    "hidden_size": 2880,
    "intermediate_size": 2880,
    "layer_types": ["sliding_attention", "full_attention"] * 12,
    "max_position_embeddings": 131072,
    "num_attention_heads": 64,
    "num_experts_per_tok": 4,
    "num_hidden_layers": 24,
    "num_key_value_heads": 8,
    "num_local_experts": 32,
    "sliding_window": 128,
    "tie_word_embeddings": False,
    "vocab_size": 201088,
}
DEEPSEEK: dict[str, Any] = {
    "model_type": "deepseek_v3",
    "first_k_dense_replace": 3,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "kv_lora_rank": 512,
    "max_position_embeddings": 163840,
    "moe_intermediate_size": 2048,
    "moe_layer_freq": 1,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_attention_heads": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 61,
    "num_key_value_heads": 128,
    "num_nextn_predict_layers": 1,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "tie_word_embeddings": False,
    "v_head_dim": 128,
    "vocab_size": 129280,
}
GPT2: dict[str, Any] = {
    "model_type": "gpt2",
    "n_ctx": 1024,
    "n_embd": 768,
    "n_head": 12,
    "n_layer": 12,
    "n_positions": 1024,
    "vocab_size": 50257,
}
MIXTRAL: dict[str, Any] = {
    "model_type": "mixtral",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "max_position_embeddings": 32768,
    "num_attention_heads": 32,
    "num_experts_per_tok": 2,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "num_local_experts": 8,
    "sliding_window": None,
    "tie_word_embeddings": False,
    "vocab_size": 32000,
}
QWEN3_MOE: dict[str, Any] = {
    "model_type": "qwen3_moe",
    "decoder_sparse_step": 1,
    "head_dim": 128,
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "max_position_embeddings": 40960,
    "mlp_only_layers": [],
    "moe_intermediate_size": 1536,
    "num_attention_heads": 64,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 94,
    "num_key_value_heads": 4,
    "sliding_window": None,
    "tie_word_embeddings": False,
    "use_sliding_window": False,
    "vocab_size": 151936,
}
LLAMA4_SCOUT: dict[str, Any] = {
    "model_type": "llama4",
    "text_config": {
        "model_type": "llama4_text",
        "head_dim": 128,
        "hidden_size": 5120,
        "interleave_moe_layer_step": 1,
        "intermediate_size": 8192,
        "intermediate_size_mlp": 16384,
        "max_position_embeddings": 10485760,
        "num_attention_heads": 40,
        "num_experts_per_tok": 1,
        "num_hidden_layers": 48,
        "num_key_value_heads": 8,
        "num_local_experts": 16,
        "tie_word_embeddings": False,
        "vocab_size": 202048,
    },
}


def _bytes(config: Any) -> bytes:
    return json.dumps(config).encode()


@pytest.mark.parametrize(
    ("config", "name"),
    [(LLAMA_405B, "llama31_405b"), (GPT_OSS, "gpt_oss_20b"), (DEEPSEEK, "deepseekv3_671b")],
)
def test_a_known_model_is_read_as_its_workload(config: dict[str, Any], name: str) -> None:
    (known,) = (workload for workload in workloads.WORKLOADS if workload.benchmark == name)
    read = workload_from_config(_bytes(config), sequence_length=known.sequence_length)
    for field in ("benchmark", "model", "source"):
        object.__setattr__(read, field, getattr(known, field))
    assert read == known


# published parameter counts, total and active, in 10^9
@pytest.mark.parametrize(
    ("config", "total", "active"),
    [
        (GPT2, 0.1244, 0.1244),
        (MIXTRAL, 46.70, 12.88),
        (QWEN3_MOE, 235.09, 22.2),
        (LLAMA4_SCOUT, 107.8, 17.2),
    ],
)
def test_other_models_have_their_published_parameters(config: dict[str, Any], total: float, active: float) -> None:
    frame = workloads.frame([workload_from_config(_bytes(config))])
    found = frame.select(total=flops.total_parameters() / 1e9, active=flops.active_parameters() / 1e9).row(0)
    assert found == pytest.approx((total, active), rel=6e-3)


def test_the_sequence_is_the_longest_unless_given() -> None:
    assert workload_from_config(_bytes(LLAMA_405B)).sequence_length == 131_072
    assert workload_from_config(_bytes(LLAMA_405B), sequence_length=8192).sequence_length == 8192
    with pytest.raises(ModelConfigError, match="sequence length: expected 1 to"):
        workload_from_config(_bytes(LLAMA_405B), sequence_length=0)


def test_the_name_is_what_is_asked_for_or_what_the_file_says() -> None:
    assert workload_from_config(_bytes(LLAMA_405B), name="mine").model == "mine"
    assert workload_from_config(_bytes(LLAMA_405B)).model == "llama"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_size": None}, "hidden_size: expected a whole number from 1 to 100,000,000, found nothing"),
        ({"hidden_size": "16384"}, "hidden_size: expected a whole number.*found '16384'"),
        ({"hidden_size": True}, "hidden_size: expected a whole number.*found True"),
        ({"hidden_size": -1}, "hidden_size"),
        ({"num_hidden_layers": 10**6}, "num_hidden_layers: expected a whole number from 1 to 10,000"),
        ({"num_key_value_heads": 7}, "num_key_value_heads: expected a divisor of 128 heads, found 7"),
        ({"num_key_value_heads": 256}, "num_key_value_heads"),
        ({"vocab_size": 1e5}, "vocab_size"),
        (
            {"num_local_experts": 4, "num_experts_per_tok": 5},
            "num_experts_per_tok: expected at most 4 experts, found 5",
        ),
        ({"is_encoder_decoder": True}, "model_type: expected a decoder-only language model, found 'llama'"),
        ({"model_type": "bert"}, "found 'bert'"),
        ({"layer_types": ["mamba", "full_attention"]}, "layer_types: expected attention in every layer, found mamba"),
        ({"linear_num_value_heads": 32}, "found linear_num_value_heads: not modelled"),
        ({"kv_lora_rank": 512}, "qk_rope_head_dim"),
        ({"max_position_embeddings": 10**12}, "max_position_embeddings"),
    ],
)
def test_what_no_workload_follows_from_is_told(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelConfigError, match=message):
        workload_from_config(_bytes(LLAMA_405B | changes))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected JSON"),
        (b"\xff\xfe\x00", "expected JSON"),
        (b"[]", "expected a JSON object, found list"),
        (
            b"{}",
            "expected a model's config.json; hidden_size, num_hidden_layers, num_attention_heads, "
            "max_position_embeddings, vocab_size missing",
        ),
        (b"[" * 100_000, "expected JSON"),
        (b'{"hidden_size": ' + b"9" * 5000 + b"}", "expected JSON|hidden_size"),
        (b" " * (LARGEST_BYTES + 1), "expected at most"),
    ],
)
def test_what_is_no_configuration_is_told(content: bytes, message: str) -> None:
    with pytest.raises(ModelConfigError, match=message):
        workload_from_config(content)


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from([LLAMA_405B, GPT_OSS, DEEPSEEK, QWEN3_MOE, LLAMA4_SCOUT, GPT2]), st.data())
def test_any_value_gives_a_workload_or_the_typed_error(config: dict[str, Any], data: st.DataObject) -> None:
    changed = config | {data.draw(st.sampled_from(sorted(config))): data.draw(_values)}
    try:
        workload = workload_from_config(_bytes(changed))
    except ModelConfigError:
        return
    assert workload.layers >= 1
    work = workloads.frame([workload]).select(flops.flops_per_sequence()).item()
    assert work > 0
