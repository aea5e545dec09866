# SPDX-License-Identifier: GPL-3.0-or-later
"""Small random targets and drafts of dflash, as GGUF files for speclab and llama.cpp."""
from typing import NamedTuple

import gguf
import numpy as np

VOCAB, DIM, LAYERS, CONTEXT = 288, 32, 4, 512
BEGIN, END = 1, 2
HEADS, KV_HEADS, HEAD_DIM, FFN = 4, 2, 16, 48


class Case(NamedTuple):
    """A draft: its kind, what its file says, and the keys of its spec for speclab."""
    name: str
    settings: dict = {}
    p_min: float = 0.0


CASES = [
    Case("dflash"),
    Case("dflash of 16 positions, one tap", {"block": 16, "taps": [3]}),
    Case("dflash of 2 positions", {"block": 2}),
    Case("dflash, causal", {"causal": True}),
    Case("dflash, windows of 7 in layers 0 and 2", {"window": 7, "windowed": [1, 0, 1]}),
    Case("dflash, causal windows of 3", {"window": 3, "windowed": [1, 1, 1], "causal": True}),
    Case("dflash, scales", {"embedding_scale": 2.5, "attention_scale": 0.4, "value_scale": 0.6}),
    Case("dflash, capped logits", {"logit_scale": 0.3, "softcap": 5.0}),
    Case("dflash, GELU", {"gelu": True}),
    Case("dflash, norms after branches, layer scale", {"post_norms": True, "layer_scale": True}),
    Case("dflash, values from keys", {"no_values": True}),
    Case("dflash, own ends", {"embedding": True, "output": True}),
    Case("dflash, own embedding tied", {"embedding": True}),
    Case("dflash of 61 tokens", {"draft_vocab": 61}),
    Case("dflash, rope factors", {"base": 500.0, "factors": True}),
    Case("dflash, linear rope, sections", {"linear": 4.0, "sections": True}),
    Case("dflash, f16", {"type": "F16"}),
    Case("dflash, bf16", {"type": "BF16"}),
    Case("dflash, q8_0", {"type": "Q8_0"}),
    Case("dspark", {"markov": 6}),
    Case("dspark of 2 positions", {"markov": 6, "block": 2}),
    Case("dspark, anchor apart", {"markov": 6, "anchor": False}),
    Case("dspark of 61 tokens", {"markov": 6, "draft_vocab": 61}),
    Case("dspark, GELU, norms, own embedding, values from keys",
         {"markov": 6, "gelu": True, "post_norms": True, "embedding": True, "no_values": True,
          "layer_scale": True}),
    Case("dspark, capped logits", {"markov": 6, "logit_scale": 0.3, "softcap": 5.0}),
    Case("dspark, confidence .5", {"markov": 6, "confidence": True}, 0.5),
    Case("dspark, confidence .5, anchor apart",
         {"markov": 6, "confidence": True, "anchor": False}, 0.5),
    Case("dspark, confidence .9 without bias", {"markov": 6, "confidence": "no bias"}, 0.9),
    Case("dflash2", {"lattice": True}),
    Case("dflash2, kernel 1, groups of 1", {"lattice": True, "kernel": 1, "group": 1}),
    Case("dflash2, kernel beyond the block, one group",
         {"lattice": True, "kernel": 6, "group": 32, "block": 4}),
    Case("dflash2, capped logits", {"lattice": True, "logit_scale": 0.5, "softcap": 3.0}),
    Case("dflash2 of 61 tokens, windows", {"lattice": True, "draft_vocab": 61, "window": 7,
                                           "windowed": [1, 0, 1]}),
    Case("dflash2, 2 candidates, rank 1", {"lattice": True, "candidates": 2, "rank": 1}),
]


def add_vocabulary(writer, named):
    """Bytes and made-up pieces, or none: then texts are token numbers."""
    if not named:
        writer.add_tokenizer_model("none")
        return
    words = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    words += [f"piece{i}" for i in range(VOCAB - len(words))]
    kinds = [2, 3, 3] + [6] * 256 + [1] * (VOCAB - 259)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(words)
    writer.add_token_scores([0.0] * VOCAB)
    writer.add_token_types(kinds)


class Maker:
    """A GGUF file whose tensors are drawn from one generator."""

    def __init__(self, path, architecture, seed, kind="F32"):
        self.writer = gguf.GGUFWriter(path, architecture)
        self.chance = np.random.default_rng(seed)
        self.kind = gguf.GGMLQuantizationType[kind]

    def matrix(self, name, *shape, scale=None):
        scale = 1.6 / shape[-1] ** 0.5 if scale is None else scale
        values = (self.chance.standard_normal(shape) * scale).astype(np.float32)
        kind = self.kind
        if kind == gguf.GGMLQuantizationType.Q8_0 and shape[-1] % 32 != 0:
            kind = gguf.GGMLQuantizationType.F16
        self.writer.add_tensor(name, gguf.quantize(values, kind), raw_dtype=kind)

    def norm(self, name, n):
        self.vector(name, n, 1.0, 0.3)

    def vector(self, name, n, mean, spread):
        values = mean + spread * self.chance.standard_normal(n)
        self.writer.add_tensor(name, values.astype(np.float32))

    def layer(self, i, dim, heads, kv, head_dim, ffn, values=True):
        self.norm(f"blk.{i}.attn_norm.weight", dim)
        self.norm(f"blk.{i}.ffn_norm.weight", dim)
        self.matrix(f"blk.{i}.attn_q.weight", heads * head_dim, dim)
        self.matrix(f"blk.{i}.attn_k.weight", kv * head_dim, dim)
        if values:
            self.matrix(f"blk.{i}.attn_v.weight", kv * head_dim, dim)
        self.matrix(f"blk.{i}.attn_output.weight", dim, heads * head_dim)
        self.matrix(f"blk.{i}.ffn_gate.weight", ffn, dim)
        self.matrix(f"blk.{i}.ffn_up.weight", ffn, dim)
        self.matrix(f"blk.{i}.ffn_down.weight", dim, ffn)

    def head_norms(self, i, head_dim):
        self.norm(f"blk.{i}.attn_q_norm.weight", head_dim)
        self.norm(f"blk.{i}.attn_k_norm.weight", head_dim)

    def shape(self, layers, heads, kv, head_dim, ffn):
        w = self.writer
        w.add_context_length(CONTEXT)
        w.add_embedding_length(DIM)
        w.add_block_count(layers)
        w.add_feed_forward_length(ffn)
        w.add_head_count(heads)
        w.add_head_count_kv(kv)
        w.add_key_length(head_dim)
        w.add_value_length(head_dim)
        w.add_layer_norm_rms_eps(1e-6)
        w.add_vocab_size(VOCAB)

    def close(self):
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()


def write_target(path, architecture, named, seed):
    made = Maker(path, architecture, seed)
    w = made.writer
    made.shape(LAYERS, HEADS, KV_HEADS, HEAD_DIM, FFN)
    w.add_rope_freq_base(10000.0)
    w.add_rope_dimension_count(HEAD_DIM)
    add_vocabulary(w, named)
    w.add_bos_token_id(BEGIN)
    w.add_eos_token_id(END)
    w.add_add_bos_token(False)
    made.matrix("token_embd.weight", VOCAB, DIM, scale=1.0)
    made.matrix("output.weight", VOCAB, DIM, scale=0.5)
    made.norm("output_norm.weight", DIM)
    for i in range(LAYERS):
        made.layer(i, DIM, HEADS, KV_HEADS, HEAD_DIM, FFN)
        if architecture == "qwen3":
            made.head_norms(i, HEAD_DIM)
    made.close()


def write_draft(path, settings, seed, layers=3, heads=4, kv=2, head_dim=8, ffn=40):
    get = settings.get
    block, vocab = get("block", 7), get("draft_vocab", VOCAB)
    made = Maker(path, "dflash", seed, get("type", "F32"))
    w = made.writer
    made.shape(layers, heads, kv, head_dim, ffn)
    w.add_rope_freq_base(get("base", 10000.0))
    add_vocabulary(w, True)
    w.add_bos_token_id(BEGIN)
    w.add_eos_token_id(END)
    w.add_mask_token_id(get("mask", VOCAB - 5))
    w.add_uint32("dflash.block_size", block)
    w.add_array("dflash.target_layers", get("taps", [0, 2, 3]))
    for key, name in [("embedding_scale", "embedding_scale"),
                      ("attention_scale", "attention.scale"),
                      ("value_scale", "attention.value_scale"), ("logit_scale", "logit_scale"),
                      ("softcap", "final_logit_softcapping")]:
        if key in settings:
            w.add_float32(f"dflash.{name}", settings[key])
    if get("causal"):
        w.add_bool("dflash.attention.causal", True)
    if get("gelu"):
        w.add_string("dflash.hidden_activation", "gelu_pytorch_tanh")
    if get("window"):
        w.add_uint32("dflash.attention.sliding_window", get("window"))
        w.add_array("dflash.attention.sliding_window_pattern", [x == 1 for x in get("windowed")])
    if get("linear"):
        w.add_string("dflash.rope.scaling.type", "linear")
        w.add_float32("dflash.rope.scaling.factor", get("linear"))
    if get("sections"):
        w.add_array("dflash.rope.dimension_sections", [head_dim // 2, 0, 0, 0])
    made.matrix("fc.weight", DIM, len(get("taps", [0, 2, 3])) * DIM)
    made.norm("enc.output_norm.weight", DIM)
    made.norm("output_norm.weight", DIM)
    for i in range(layers):
        made.layer(i, DIM, heads, kv, head_dim, ffn, not get("no_values"))
        made.head_norms(i, head_dim)
        if get("post_norms"):
            made.norm(f"blk.{i}.post_attention_norm.weight", DIM)
            made.norm(f"blk.{i}.post_ffw_norm.weight", DIM)
        if get("layer_scale"):
            made.vector(f"blk.{i}.layer_output_scale.weight", 1, 0.8, 0.2)
    if get("factors"):
        factors = np.linspace(1.0, 3.0, head_dim // 2, dtype=np.float32)
        w.add_tensor("rope_freqs.weight", factors)
    if get("embedding"):
        made.matrix("token_embd.weight", VOCAB, DIM, scale=1.0)
    if get("output") or vocab < VOCAB:
        made.matrix("output.weight", vocab, DIM, scale=0.5)
    if vocab < VOCAB:
        tokens = made.chance.permutation(VOCAB)[:vocab].astype(np.int64)
        w.add_tensor("d2t", tokens, raw_dtype=gguf.GGMLQuantizationType.I64)
    if get("markov"):
        add_markov(made, settings, vocab)
    if get("lattice"):
        add_lattice(made, settings, layers)
    made.close()
    return block - 1 if not get("markov") or get("anchor") is False else block


def add_markov(made, settings, vocab):
    rank, confidence = settings["markov"], settings.get("confidence")
    if "anchor" in settings:
        made.writer.add_bool("dflash.sample_from_anchor", settings["anchor"])
    made.writer.add_bool("dflash.has_confidence_head", bool(confidence))
    made.matrix("markov_w1.weight", VOCAB, rank, scale=1.0)
    made.matrix("markov_w2.weight", vocab, rank, scale=1.0)
    if confidence:
        made.matrix("conf_proj.weight", 1, DIM + rank, scale=0.4)
    if confidence and confidence != "no bias":
        made.vector("conf_proj.bias", 1, 0.7, 0.1)


def add_lattice(made, settings, layers):
    rank, k = settings.get("rank", 5), settings.get("candidates", 5)
    kernel, group = settings.get("kernel", 3), settings.get("group", 8)
    w = made.writer
    w.add_uint32("dflash.selector_rank", rank)
    w.add_uint32("dflash.selector_top_k", k)
    w.add_uint32("dflash.conv_kernel_size", kernel)
    w.add_uint32("dflash.conv_group_size", group)
    made.matrix("selector_predecessor.weight", VOCAB, rank, scale=1.0)
    made.matrix("selector_successor.weight", VOCAB, rank, scale=1.0)
    made.matrix("selector_hidden.weight", rank, DIM)
    for i in range(layers):
        for branch in ("attn", "ffn"):
            made.matrix(f"blk.{i}.{branch}_conv_base", 2, kernel, DIM, scale=0.5)
            made.matrix(f"blk.{i}.{branch}_conv_proj.weight", 2 * kernel * DIM // group, DIM,
                        scale=0.1)
