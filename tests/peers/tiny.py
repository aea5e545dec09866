# SPDX-License-Identifier: GPL-3.0-or-later
"""Small random models of each architecture, as folders that transformers writes."""
import json
import os
from typing import NamedTuple

import torch
import transformers

import vocabularies

torch.set_num_threads(2)
transformers.utils.logging.disable_progress_bar()


class Tiny(NamedTuple):
    name: str
    type: str  # model_type of config.json
    vocabulary: str
    settings: dict
    old_rope: bool = False  # config.json has rope_theta and rope_scaling, as older files have


def yarn(factor, original, **more):
    return {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": original,
            **more}


LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64, "rope_theta": 5000.0}
GEMMA = {"num_hidden_layers": 7, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 24,
         "query_pre_attn_scalar": 24, "sliding_window": 16}
GPT_OSS = {"num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 2,
           "head_dim": 16, "num_local_experts": 8, "num_experts_per_tok": 4, "sliding_window": 16,
           "intermediate_size": 96}
GPT_OSS_ROPE = {**yarn(16.0, 32, beta_fast=32.0, beta_slow=1.0, truncate=False),
                "rope_theta": 150000.0}
HYBRID = {"num_hidden_layers": 6, "head_dim": 32, "linear_num_key_heads": 2,
          "linear_num_value_heads": 6, "linear_key_head_dim": 16, "linear_value_head_dim": 16,
          "full_attention_interval": 3, "rms_norm_eps": 1e-6, "rope_parameters":
          {"rope_type": "default", "rope_theta": 1e5, "partial_rotary_factor": 0.25}}
HYBRID_EXPERTS = {"num_experts": 12, "num_experts_per_tok": 3, "moe_intermediate_size": 40,
                  "shared_expert_intermediate_size": 56}
MODELS = [
    Tiny("llama", "llama", "llama-bpe", {}),
    Tiny("llama, tied, llama3 scaling, wide heads", "llama", "llama-bpe",
         {"tie_word_embeddings": True, "head_dim": 24, "rope_parameters": LLAMA3}),
    Tiny("llama, the same, old keys", "llama", "llama-bpe",
         {"tie_word_embeddings": True, "head_dim": 24, "rope_parameters": LLAMA3}, True),
    Tiny("llama, SPM, linear scaling, one group", "llama", "spm",
         {"num_key_value_heads": 1, "rope_parameters":
          {"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0}}),
    Tiny("llama, YaRN", "llama", "llama-bpe",
         {"rope_parameters": {**yarn(8.0, 64), "rope_theta": 10000.0}}),
    Tiny("mistral, no groups", "mistral", "spm",
         {"num_key_value_heads": 4, "sliding_window": None}),
    Tiny("qwen2, tied", "qwen2", "qwen2", {"tie_word_embeddings": True}),
    Tiny("qwen2, odd widths", "qwen2", "qwen2",
         {"hidden_size": 72, "num_attention_heads": 6, "num_key_value_heads": 3,
          "intermediate_size": 88}),
    Tiny("qwen2, YaRN", "qwen2", "qwen2",
         {"rope_parameters": {**yarn(8.0, 64), "rope_theta": 1e6}}, True),
    Tiny("qwen3, tied, wide heads", "qwen3", "qwen2",
         {"tie_word_embeddings": True, "head_dim": 32}),
    Tiny("qwen3, YaRN", "qwen3", "qwen2",
         {"head_dim": 20, "rope_parameters": {**yarn(8.0, 64), "rope_theta": 1e6}}),
    Tiny("qwen3moe, 8 of 16 experts", "qwen3_moe", "qwen2",
         {"head_dim": 32, "num_experts": 16, "num_experts_per_tok": 8, "moe_intermediate_size": 40,
          "norm_topk_prob": True}),
    Tiny("qwen3moe, 2 of 5 experts, tied", "qwen3_moe", "qwen2",
         {"head_dim": 16, "num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 48,
          "norm_topk_prob": True, "tie_word_embeddings": True}),
    Tiny("gemma3, 5 windows of 16 in 6 layers", "gemma3_text", "gemma3", GEMMA),
    Tiny("gemma3, linear scaling of whole layers", "gemma3_text", "gemma3",
         {**GEMMA, "num_key_value_heads": 1, "rope_parameters": {
             "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
             "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}}),
    Tiny("gpt-oss, 4 of 8 experts", "gpt_oss", "gpt-4o",
         {**GPT_OSS, "rope_parameters": GPT_OSS_ROPE}),
    Tiny("gpt-oss, 4 of 32 experts, one group", "gpt_oss", "gpt-4o",
         {**GPT_OSS, "num_hidden_layers": 3, "num_key_value_heads": 1, "num_local_experts": 32,
          "head_dim": 32, "rope_parameters": {**GPT_OSS_ROPE, "factor": 8.0,
                                             "original_max_position_embeddings": 64}}),
    Tiny("qwen35, tied", "qwen3_5_text", "qwen35", {**HYBRID, "tie_word_embeddings": True}),
    Tiny("qwen35, a value head for each key head", "qwen3_5_text", "qwen35",
         {**HYBRID, "linear_num_key_heads": 4, "linear_num_value_heads": 4, "layer_types":
          ["full_attention", "linear_attention", "linear_attention", "full_attention",
           "linear_attention", "linear_attention"]}),
    Tiny("qwen35moe, 3 of 12 experts", "qwen3_5_moe_text", "qwen35", {**HYBRID, **HYBRID_EXPERTS}),
    Tiny("qwen3next, 3 of 12 experts", "qwen3_next", "qwen2",
         {**HYBRID, **HYBRID_EXPERTS, "norm_topk_prob": True, "decoder_sparse_step": 1}),
]
USUAL = {"vocab_size": 640, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3,
         "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512,
         "rms_norm_eps": 1e-5}
TOKENS = 600  # of the vocabulary; the other rows of the embedding have no token


def configuration(tiny, begin, end):
    settings = {**USUAL, **tiny.settings, "bos_token_id": begin, "eos_token_id": end,
                "pad_token_id": None}
    return transformers.AutoConfig.for_model(tiny.type, **settings)


def spread(name, shape):
    """The standard deviation of a tensor's values: logits of about 2, attention that picks."""
    if name.endswith("norm.weight") or "layernorm" in name:
        return 0.3
    if name.endswith("A_log") or name.endswith("dt_bias"):
        return 1.0
    if "bias" in name or "sinks" in name:
        return 0.5
    if "embed_tokens" in name:
        return 2.0 / shape[1] ** 0.5
    if "lm_head" in name or "router" in name or name.endswith("mlp.gate.weight"):
        return 2.0 / shape[-1] ** 0.5
    if "experts" in name:
        wide = 4.0 if "gate_up" in name else 1.5  # gpt-oss limits values at 7
        return wide / min(shape[1:]) ** 0.5
    return 1.5 / shape[-1] ** 0.5


def randomise(model, seed):
    generator = torch.Generator().manual_seed(seed)
    adds_one = model.config.model_type.startswith(("gemma", "qwen3_next", "qwen3_5"))
    with torch.no_grad():
        for name, tensor in sorted(model.named_parameters()):
            values = torch.randn(tensor.shape, generator=generator) * spread(name, tensor.shape)
            is_norm = name.endswith("norm.weight") or "layernorm" in name
            around_one = is_norm and (not adds_one or name.endswith("linear_attn.norm.weight"))
            tensor.copy_(values + 1.0 if around_one else values)


def make(tiny, folder, seed=1, tokens=TOKENS):
    """Writes the folder; returns the model itself."""
    begin, end = vocabularies.save(tiny.vocabulary, tokens, folder)
    config = configuration(tiny, begin, end)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    model = model.to(torch.float32).eval()
    randomise(model, seed)
    model.tie_weights()
    model.save_pretrained(folder)
    if tiny.old_rope:
        rename_rope(os.path.join(folder, "config.json"))
    return model


def rename_rope(path):
    with open(path) as file:
        config = json.load(file)
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    config["rope_scaling"] = rope
    with open(path, "w") as file:
        json.dump(config, file, indent=1)


def rows(model, tokens):
    """Logits (tokens, V) in float by transformers."""
    with torch.no_grad():
        return model(torch.tensor([tokens]), use_cache=False).logits[0].float().numpy()
