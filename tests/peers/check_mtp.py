# SPDX-License-Identifier: GPL-3.0-or-later
"""Drafts of the draft blocks ("nextn") of a model's file, by speclab and by llama.cpp.

    python3 tests/peers/check_mtp.py build/release/speclab

llama.cpp runs such blocks in few architectures. One of them, glm4moe, computes what qwen2 computes
if its layers are dense, and its block has a single expert and a shared one of zeros: the same
weights are written in both forms.
"""
import itertools
import os
import sys
import tempfile

import numpy as np

import drafts
from drafts import DIM, FFN, HEADS, KV_HEADS, LAYERS, VOCAB, WIDTH, Weights

K, ROUNDS, TEXTS = 4, 40, 20


def trunk(weights, biases):
    tensors = drafts.llama_tensors(weights)
    for i in range(LAYERS if biases else 0):
        tensors.update(bias_of(weights, i))
    return tensors


def bias_of(weights, i):
    return {f"blk.{i}.attn_q.bias": weights.vector(HEADS * WIDTH),
            f"blk.{i}.attn_k.bias": weights.vector(KV_HEADS * WIDTH),
            f"blk.{i}.attn_v.bias": weights.vector(KV_HEADS * WIDTH)}


def draft_block(weights, biases, embedding=False, output=False, norm=False):
    i = LAYERS
    tensors = {f"blk.{i}.attn_norm.weight": weights.norm(DIM),
               f"blk.{i}.ffn_norm.weight": weights.norm(DIM),
               **drafts.block(weights, i),
               f"blk.{i}.nextn.eh_proj.weight": weights.matrix(DIM, 2 * DIM),
               f"blk.{i}.nextn.enorm.weight": weights.norm(DIM),
               f"blk.{i}.nextn.hnorm.weight": weights.norm(DIM)}
    if biases:
        tensors.update(bias_of(weights, i))
    if embedding:
        tensors[f"blk.{i}.nextn.embed_tokens.weight"] = weights.matrix(VOCAB, DIM, 4.0)
    if output:
        tensors[f"blk.{i}.nextn.shared_head_head.weight"] = weights.matrix(VOCAB, DIM, 2.0)
    if norm:
        tensors[f"blk.{i}.nextn.shared_head_norm.weight"] = weights.norm(DIM)
    return tensors


def write_qwen2(path, tensors):
    values = drafts.shape_values("qwen2", layers=LAYERS + 1)
    values["qwen2.nextn_predict_layers"] = 1
    drafts.write(path, "qwen2", values, drafts.plain(tensors))


def write_glm4moe(path, tensors):
    """The feed-forward norm has another name; the last block's network is an expert."""
    arch, block = "glm4moe", f"blk.{LAYERS}."
    values = drafts.shape_values(arch, layers=LAYERS + 1)
    values.update({f"{arch}.nextn_predict_layers": 1, f"{arch}.expert_count": 1,
                   f"{arch}.expert_used_count": 1, f"{arch}.expert_shared_count": 1,
                   f"{arch}.expert_feed_forward_length": FFN,
                   f"{arch}.leading_dense_block_count": LAYERS,
                   f"{arch}.expert_weights_norm": True, f"{arch}.expert_weights_scale": 1.0})
    given = {}
    for name, data in tensors.items():
        name = name.replace("ffn_norm", "post_attention_norm")
        if name.startswith(f"{block}ffn_"):
            shared = np.zeros_like(data) if "down" in name else data
            given[name.replace(".weight", "_shexp.weight")] = shared
            name, data = name.replace(".weight", "_exps.weight"), data[np.newaxis]
        given[name] = data
    given[f"{block}ffn_gate_inp.weight"] = np.zeros((1, DIM), "<f4")
    given[f"{block}exp_probs_b.bias"] = np.zeros(1, "<f4")
    drafts.write(path, arch, values, drafts.plain(given))


FORMS = {
    "plain": {},
    "biases": {"biases": True},
    "its own norm": {"norm": True},
    "its own embedding": {"embedding": True},
    "its own output": {"output": True},
    "all its own": {"biases": True, "norm": True, "embedding": True, "output": True},
}


def without_layers(tensors):
    return {name: data for name, data in tensors.items()
            if not name.startswith("blk.") or name.startswith(f"blk.{LAYERS}.")}


def main(program):
    drafts.build_shell()
    bad = n = 0
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs, alone = (os.path.join(folder, f"{name}.gguf")
                               for name in ("qwen2", "glm4moe", "alone"))
        for seed, (name, form) in zip(itertools.count(200), FORMS.items()):
            weights, form = Weights(seed), dict(form)
            biases = form.pop("biases", False)
            tensors = {**trunk(weights, biases), **draft_block(weights, biases, **form)}
            write_qwen2(ours, tensors)
            write_glm4moe(theirs, tensors)
            write_qwen2(alone, without_layers(tensors))
            texts = drafts.texts_of(seed, TEXTS)
            rounds = drafts.llama_rounds("draft-mtp", theirs, None, K, ROUNDS, texts)
            for way, draft in {"the target's file": "mtp", "a file": f"mtp:{ours}",
                               "a file without layers": f"mtp:{alone}"}.items():
                speclab = drafts.Speclab(program, f"gguf:{ours}", draft)
                bad += not drafts.compare(f"mtp, {name}, {way}", speclab, texts, rounds, K)
                n += 1
    print(f"mtp: drafts of {n - bad} of {n} draft blocks equal llama.cpp's")
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) != 0)
