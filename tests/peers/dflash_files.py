# SPDX-License-Identifier: GPL-3.0-or-later
"""Small random drafts of llama.cpp's architecture dflash, as GGUF files."""
from typing import NamedTuple

import gguf
import numpy as np

from drafts import CONTEXT, DIM, VOCAB

LAYERS, HEADS, KV_HEADS, WIDTH, FFN = 3, 4, 2, 8, 72
MASK = VOCAB - 5


class Case(NamedTuple):
    """What a file says; the least confidence of a draft token."""
    name: str
    settings: dict = {}
    p_min: float = 0.0


YARN = {"factor": 8.0, "original_context_length": 64}
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
    Case("dflash, sinks", {"sinks": True}),
    Case("dflash, own ends", {"embedding": True, "output": True}),
    Case("dflash, own embedding tied", {"embedding": True}),
    Case("dflash of 23 tokens", {"draft_vocab": 23}),
    Case("dflash, rope factors", {"base": 500.0, "factors": True}),
    Case("dflash, linear rope, sections", {"linear": 4.0, "sections": True}),
    Case("dflash, YaRN", {"yarn": YARN}),
    Case("dflash, f16", {"type": "F16"}),
    Case("dflash, bf16", {"type": "BF16"}),
    Case("dflash, q8_0", {"type": "Q8_0"}),
    Case("dspark", {"markov": 6}),
    Case("dspark of 2 positions", {"markov": 6, "block": 2}),
    Case("dspark, anchor apart", {"markov": 6, "anchor": False}),
    Case("dspark of 23 tokens", {"markov": 6, "draft_vocab": 23}),
    Case("dspark, GELU, norms, own embedding, values from keys",
         {"markov": 6, "gelu": True, "post_norms": True, "embedding": True, "no_values": True,
          "layer_scale": True}),
    Case("dspark, capped logits", {"markov": 6, "logit_scale": 0.3, "softcap": 5.0}),
    Case("dspark, confidence .5", {"markov": 6, "confidence": True}, 0.5),
    Case("dspark, confidence .6, anchor apart",
         {"markov": 6, "confidence": True, "anchor": False}, 0.6),
    Case("dspark, confidence .4 without bias", {"markov": 6, "confidence": "no bias"}, 0.4),
    Case("dflash2", {"lattice": True}),
    Case("dflash2, kernel 1, groups of 1", {"lattice": True, "kernel": 1, "group": 1}),
    Case("dflash2, kernel beyond the block, one group",
         {"lattice": True, "kernel": 6, "group": DIM, "block": 4}),
    Case("dflash2, capped logits", {"lattice": True, "logit_scale": 0.5, "softcap": 3.0}),
    Case("dflash2 of 23 tokens, windows", {"lattice": True, "draft_vocab": 23, "window": 7,
                                           "windowed": [1, 0, 1]}),
    Case("dflash2, 2 candidates, rank 1", {"lattice": True, "candidates": 2, "rank": 1}),
]


class Maker:
    """A GGUF file whose tensors are drawn from one generator."""

    def __init__(self, path, seed, kind):
        self.writer = gguf.GGUFWriter(path, "dflash")
        self.chance = np.random.default_rng(seed)
        self.kind = gguf.GGMLQuantizationType[kind]

    def matrix(self, name, *shape, scale=None, kind=None):
        scale = 1.6 / shape[-1] ** 0.5 if scale is None else scale
        kind = kind or self.kind
        if kind == gguf.GGMLQuantizationType.Q8_0 and shape[-1] % 32 != 0:
            kind = gguf.GGMLQuantizationType.F16
        values = (self.chance.standard_normal(shape) * scale).astype(np.float32)
        self.writer.add_tensor(name, gguf.quantize(values, kind), raw_dtype=kind)

    def vector(self, name, n, mean=1.0, spread=0.3):
        values = mean + spread * self.chance.standard_normal(n)
        self.writer.add_tensor(name, values.astype(np.float32))

    def close(self):
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()


def add_values(w, get):
    """The values of every kind. llama.cpp knows the mask of a file with a vocabulary."""
    w.add_tokenizer_model("llama")
    w.add_token_list(["<unk>", "<s>", "</s>"] + [f"piece{i}" for i in range(VOCAB - 3)])
    w.add_token_scores([0.0] * VOCAB)
    w.add_token_types([2, 3, 3] + [1] * (VOCAB - 3))
    w.add_mask_token_id(MASK)
    w.add_context_length(CONTEXT)
    w.add_embedding_length(DIM)
    w.add_block_count(LAYERS)
    w.add_feed_forward_length(FFN)
    w.add_head_count(HEADS)
    w.add_head_count_kv(KV_HEADS)
    w.add_key_length(WIDTH)
    w.add_value_length(WIDTH)
    w.add_layer_norm_rms_eps(1e-6)
    w.add_rope_freq_base(get("base", 10000.0))
    w.add_uint32("dflash.block_size", get("block", 7))
    w.add_array("dflash.target_layers", get("taps", [0, 2, 3]))
    for key, name in [("embedding_scale", "embedding_scale"),
                      ("attention_scale", "attention.scale"),
                      ("value_scale", "attention.value_scale"), ("logit_scale", "logit_scale"),
                      ("softcap", "final_logit_softcapping")]:
        if get(key):
            w.add_float32(f"dflash.{name}", get(key))
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
        w.add_array("dflash.rope.dimension_sections", [WIDTH // 2, 0, 0, 0])
    if get("yarn"):
        w.add_string("dflash.rope.scaling.type", "yarn")
        w.add_float32("dflash.rope.scaling.factor", get("yarn")["factor"])
        w.add_uint32("dflash.rope.scaling.original_context_length",
                     get("yarn")["original_context_length"])


def add_layer(made, i, get):
    for name, n in [("attn_norm", DIM), ("ffn_norm", DIM), ("attn_q_norm", WIDTH),
                    ("attn_k_norm", WIDTH)]:
        made.vector(f"blk.{i}.{name}.weight", n)
    shapes = {"attn_q": (HEADS * WIDTH, DIM), "attn_k": (KV_HEADS * WIDTH, DIM),
              "attn_v": (KV_HEADS * WIDTH, DIM), "attn_output": (DIM, HEADS * WIDTH),
              "ffn_gate": (FFN, DIM), "ffn_up": (FFN, DIM), "ffn_down": (DIM, FFN)}
    for name, shape in shapes.items():
        if name != "attn_v" or not get("no_values"):
            made.matrix(f"blk.{i}.{name}.weight", *shape)
    if get("post_norms"):
        made.vector(f"blk.{i}.post_attention_norm.weight", DIM)
        made.vector(f"blk.{i}.post_ffw_norm.weight", DIM)
    if get("layer_scale"):
        made.vector(f"blk.{i}.layer_output_scale.weight", 1, 0.8, 0.2)
    if get("sinks"):
        made.vector(f"blk.{i}.attn_sinks.weight", HEADS, 0.5, 1.0)


def write(path, settings, seed):
    """Returns the draft tokens that it has rows for."""
    get = settings.get
    block, vocab = get("block", 7), get("draft_vocab", VOCAB)
    made = Maker(path, seed, get("type", "F32"))
    add_values(made.writer, get)
    made.matrix("fc.weight", DIM, len(get("taps", [0, 2, 3])) * DIM)
    made.vector("enc.output_norm.weight", DIM)
    made.vector("output_norm.weight", DIM)
    for i in range(LAYERS):
        add_layer(made, i, get)
    if get("factors"):
        made.writer.add_tensor("rope_freqs.weight",
                               np.linspace(1.0, 3.0, WIDTH // 2, dtype=np.float32))
    if get("embedding"):
        made.matrix("token_embd.weight", VOCAB, DIM, scale=0.5)
    if get("output") or vocab < VOCAB:
        made.matrix("output.weight", vocab, DIM, scale=0.3)
    if vocab < VOCAB:
        tokens = made.chance.permutation(VOCAB)[:vocab].astype(np.int64)
        made.writer.add_tensor("d2t", tokens, raw_dtype=gguf.GGMLQuantizationType.I64)
    if get("markov"):
        add_markov(made, get, vocab)
    if get("lattice"):
        add_lattice(made, get)
    made.close()
    return block if get("markov") and get("anchor", True) else block - 1


def add_markov(made, get, vocab):
    rank, confidence = get("markov"), get("confidence")
    if not get("anchor", True):
        made.writer.add_bool("dflash.sample_from_anchor", False)
    made.writer.add_bool("dflash.has_confidence_head", bool(confidence))
    made.matrix("markov_w1.weight", VOCAB, rank, scale=1.0)
    made.matrix("markov_w2.weight", vocab, rank, scale=1.0)
    if confidence:
        made.matrix("conf_proj.weight", 1, DIM + rank, scale=0.2)
    if confidence and confidence != "no bias":
        made.vector("conf_proj.bias", 1, 0.7, 0.1)


def add_lattice(made, get):
    rank, kernel, group = get("rank", 5), get("kernel", 3), get("group", 8)
    w = made.writer
    w.add_uint32("dflash.selector_rank", rank)
    w.add_uint32("dflash.selector_top_k", get("candidates", 5))
    w.add_uint32("dflash.conv_kernel_size", kernel)
    w.add_uint32("dflash.conv_group_size", group)
    made.matrix("selector_predecessor.weight", VOCAB, rank, scale=1.0)
    made.matrix("selector_successor.weight", VOCAB, rank, scale=1.0)
    made.matrix("selector_hidden.weight", rank, DIM)
    for i in range(LAYERS):
        for branch in ("attn", "ffn"):
            made.matrix(f"blk.{i}.{branch}_conv_base", 2, kernel, DIM, scale=0.5)
            made.matrix(f"blk.{i}.{branch}_conv_proj.weight", 2 * kernel * DIM // group, DIM,
                        scale=0.1)
