"""A model from its configuration file, the `config.json` of a Hugging Face model, as a workload.

The bytes are untrusted: what cannot be modelled is a typed error that names the key, what was expected and what was
found. Weights and tokenizers do not belong here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pipelines.modelling.workloads import Workload

LARGEST_BYTES = 1_000_000
"""Length beyond which a file is no configuration of a model."""

_LARGEST_NUMBER = 10**8
_MOST_LAYERS = 10_000
_ENCODERS = {"bert", "roberta", "distilbert", "electra", "deberta", "deberta-v2", "albert", "t5", "mt5", "vit", "clip"}
_OTHER_MIXERS = ("mamba", "ssm", "rwkv", "linear_attention", "recurrent")
_KEYS_OF_OTHER_MIXERS = ("linear_num_value_heads", "mamba_d_state", "ssm_state_size", "ssm_cfg", "lru_width")
_PLAIN_BLOCKS = {"gpt2", "gpt_neox", "gpt_neo", "gptj", "opt", "bloom", "falcon", "phi", "mpt", "starcoder2", "codegen"}
"""Models whose feed-forward block has two matrices; all others here are gated."""

_TIED = {"gpt2", "gpt_neo", "opt", "bloom", "falcon", "mpt", "starcoder2", "gemma", "gemma2", "gemma3", "gemma3_text"}
"""Models that share one embedding matrix where the file does not say."""

_KEYS = {
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "heads": ("num_attention_heads", "n_head", "n_heads"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads", "n_head_kv"),
    "ffn": ("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"),
    "experts": ("n_routed_experts", "num_local_experts", "num_experts"),
    "chosen": ("num_experts_per_tok", "experts_per_token", "num_experts_per_token", "moe_topk"),
    "expert_ffn": ("moe_intermediate_size", "expert_ffn_hidden_size"),
    "sequence": ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length"),
}


class ModelConfigError(ValueError):
    """A configuration that no workload follows from; the message names the key, what was expected and found."""


def workload_from_config(content: bytes, *, name: str = "", sequence_length: int | None = None) -> Workload:
    """Return the workload of a decoder-only model.

    Grouped-query and multi-latent attention, sliding windows, gated and plain blocks, and mixtures of experts are
    read; of a model for text and images, the text part.

    Args:
        content: the file.
        name: what to call it; the configuration's own name where empty.
        sequence_length: tokens of one sample; the most that the model can take where not given.

    Raises:
        ModelConfigError: the file is no such configuration, or a value is missing or out of range.
    """
    return _Reader(_parsed(content)).workload(name, sequence_length)


def _parsed(content: bytes) -> Mapping[str, Any]:
    if len(content) > LARGEST_BYTES:
        raise ModelConfigError(f"expected at most {LARGEST_BYTES:,} bytes, found {len(content):,}")
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ModelConfigError(f"expected JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise ModelConfigError(f"expected a JSON object, found {type(parsed).__name__}")
    inner = parsed.get("text_config")
    return {**parsed, **inner} if isinstance(inner, dict) else parsed


class _Reader:
    """Reads one configuration; every number that it gives out is a whole number in range."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config
        self._kind = str(config.get("model_type", "")).lower()

    def workload(self, name: str, sequence_length: int | None) -> Workload:
        """Return the workload."""
        self._refuse_what_is_no_decoder()
        self._refuse_what_is_no_configuration(sequence_length)
        hidden, layers, heads = self._whole("hidden"), self._whole("layers", most=_MOST_LAYERS), self._whole("heads")
        attention = self._attention(hidden, heads)
        mixture = self._mixture(layers)
        ffn_matrices = 2 if self._kind in _PLAIN_BLOCKS else 3
        ffn = self._key("intermediate_size_mlp", default=self._whole("ffn", default=4 * hidden))
        called = name or str(self._config.get("_name_or_path") or self._kind or "model")
        return Workload(
            benchmark=called,
            model=called,
            layers=layers,
            hidden=hidden,
            heads=heads,
            ffn=ffn,
            ffn_matrices=ffn_matrices,
            vocabulary=self._key("vocab_size"),
            sequence_length=self._sequence(sequence_length),
            vector_parameters=self._vectors(hidden, layers, heads, ffn, ffn_matrices, attention, mixture),
            tied_embeddings=self._is_tied(),
            prediction_layers=self._key("num_nextn_predict_layers", default=0, least=0, most=_MOST_LAYERS),
            source="config.json",
            **attention,
            **mixture,
            **self._windows(layers),
        )

    def _refuse_what_is_no_decoder(self) -> None:
        config = self._config
        if config.get("is_encoder_decoder") is True or self._kind in _ENCODERS:
            raise ModelConfigError(f"model_type: expected a decoder-only language model, found {self._kind!r}")
        layer_types = config.get("layer_types")
        kinds = {str(kind) for kind in layer_types} if isinstance(layer_types, list) else set()
        mixers = {kind for kind in kinds | {self._kind} if any(word in kind for word in _OTHER_MIXERS)}
        mixers |= {key for key in _KEYS_OF_OTHER_MIXERS if config.get(key) is not None}
        if mixers:
            raise ModelConfigError(
                f"layer_types: expected attention in every layer, found {', '.join(sorted(mixers))}: not modelled"
            )

    def _refuse_what_is_no_configuration(self, sequence_length: int | None) -> None:
        """Name all that is missing at once, where it is more than one key: then it is some other file."""
        whats = ("hidden", "layers", "heads", *(("sequence",) if sequence_length is None else ()))
        needed = [_KEYS[what] for what in whats] + [("vocab_size",)]
        missing = [names[0] for names in needed if all(self._config.get(name) is None for name in names)]
        if len(missing) > 1:
            raise ModelConfigError(f"expected a model's config.json; {', '.join(missing)} missing")

    def _attention(self, hidden: int, heads: int) -> dict[str, Any]:
        if self._config.get("kv_lora_rank") is None:
            head_dim = self._key("head_dim", default=max(1, hidden // heads))
            return {"kv_heads": self._kv_heads(heads), "head_dim": head_dim}
        rope, rest = self._key("qk_rope_head_dim"), self._key("qk_nope_head_dim")
        return {
            "kv_heads": heads,
            "head_dim": rope + rest,
            "value_head_dim": self._key("v_head_dim"),
            "query_rank": self._key("q_lora_rank") if self._config.get("q_lora_rank") is not None else None,
            "kv_rank": self._key("kv_lora_rank"),
            "rope_dim": rope,
        }

    def _kv_heads(self, heads: int) -> int:
        if self._config.get("multi_query") is True and self._config.get("new_decoder_architecture") is not True:
            return 1
        groups = self._whole("kv_heads", default=heads)
        if groups > heads or heads % groups:
            raise ModelConfigError(f"num_key_value_heads: expected a divisor of {heads} heads, found {groups}")
        return groups

    def _mixture(self, layers: int) -> dict[str, int]:
        experts = self._whole("experts", default=0, least=0)
        if experts <= 1:
            return {}
        chosen = self._whole("chosen", default=1)
        if chosen > experts:
            raise ModelConfigError(f"num_experts_per_tok: expected at most {experts} experts, found {chosen}")
        expert_ffn = self._whole("expert_ffn", default=self._whole("ffn"))
        return {
            "moe_layers": self._mixture_layers(layers),
            "experts": experts,
            "experts_per_token": chosen,
            "shared_experts": self._shared_experts(expert_ffn),
            "expert_ffn": expert_ffn,
        }

    def _shared_experts(self, expert_ffn: int) -> int:
        """Return the experts that all tokens pass; one of another width counts as so many of the usual."""
        width = self._key("shared_expert_intermediate_size", default=0, least=0)
        if width:
            return max(1, round(width / expert_ffn))
        unsaid = 1 if self._kind.startswith("llama4") else 0
        return self._key("n_shared_experts", default=unsaid, least=0, most=_MOST_LAYERS)

    def _mixture_layers(self, layers: int) -> int:
        """Return the layers with experts: all but the first few and, where they alternate, every n-th."""
        dense_first = self._key("first_k_dense_replace", default=0, least=0, most=layers)
        only_dense = self._config.get("mlp_only_layers")
        left_out = {place for place in only_dense if isinstance(place, int)} if isinstance(only_dense, list) else set()
        if self._config.get("interleave_moe_layer_step") is not None:
            every = self._key("interleave_moe_layer_step", most=_MOST_LAYERS)
            return sum((place + 1) % every == 0 for place in range(layers))
        every = self._key("moe_layer_freq", default=1, most=_MOST_LAYERS)
        step = self._key("decoder_sparse_step", default=1, most=_MOST_LAYERS)
        return sum(
            place >= dense_first and place % every == 0 and (place + 1) % step == 0 and place not in left_out
            for place in range(layers)
        )

    def _windows(self, layers: int) -> dict[str, int]:
        if self._config.get("sliding_window") is None or self._config.get("use_sliding_window") is False:
            return {}
        window = self._key("sliding_window")
        kinds = self._config.get("layer_types")
        stated = kinds[:layers] if isinstance(kinds, list) else ["sliding_attention"] * layers
        return {"window": window, "windowed_layers": stated.count("sliding_attention")}

    def _vectors(
        self,
        hidden: int,
        layers: int,
        heads: int,
        ffn: int,
        ffn_matrices: int,
        attention: Mapping[str, Any],
        mixture: Mapping[str, int],
    ) -> int:
        """Return norms, biases and learned positions, which are below a thousandth of a model."""
        plain = self._kind in _PLAIN_BLOCKS
        a_layer = (4 if plain else 2) * hidden
        if self._config.get("attention_bias") is True or plain or self._kind in {"qwen2", "qwen2_moe"}:
            a_layer += (heads + 2 * attention["kv_heads"]) * attention["head_dim"]
            a_layer += hidden if self._config.get("attention_bias") is True or plain else 0
        if self._config.get("mlp_bias") is True or plain:
            a_layer += (ffn_matrices - 1) * ffn + hidden
        if self._kind == "gpt_oss":
            a_layer += heads + mixture["experts"] * (1 + 2 * mixture["expert_ffn"] + hidden)
        a_layer += (attention.get("query_rank") or 0) + (attention.get("kv_rank") or 0)
        router = mixture.get("moe_layers", 0) * mixture.get("experts", 0) if attention.get("kv_rank") else 0
        positions = self._key("n_positions", default=0, least=0) * hidden if self._kind == "gpt2" else 0
        return layers * a_layer + (2 if plain else 1) * hidden + router + positions

    def _is_tied(self) -> bool:
        tied = self._config.get("tie_word_embeddings")
        return tied if isinstance(tied, bool) else self._kind in _TIED

    def _sequence(self, given: int | None) -> int:
        if given is None:
            return self._whole("sequence")
        if not 0 < given <= _LARGEST_NUMBER:
            raise ModelConfigError(f"sequence length: expected 1 to {_LARGEST_NUMBER:,} tokens, found {given}")
        return given

    def _whole(self, what: str, *, default: int | None = None, least: int = 1, most: int = _LARGEST_NUMBER) -> int:
        """Return the number under whichever of its names the file uses."""
        names = _KEYS[what]
        used = next((name for name in names if self._config.get(name) is not None), names[0])
        return self._key(used, default=default, least=least, most=most)

    def _key(self, name: str, *, default: int | None = None, least: int = 1, most: int = _LARGEST_NUMBER) -> int:
        value = self._config.get(name)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            found = "nothing" if value is None else repr(value)[:60]
            raise ModelConfigError(f"{name}: expected a whole number from {least} to {most:,}, found {found}")
        return value
