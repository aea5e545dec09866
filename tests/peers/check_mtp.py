# SPDX-License-Identifier: GPL-3.0-or-later
"""Drafts of the draft blocks ("nextn") of a model's file, by speclab and by llama.cpp.

    python3 tests/peers/check_mtp.py build/release/speclab

llama.cpp runs such blocks in architectures of its own. Two of them compute what architectures of
speclab compute, so the same weights are written in both forms: hy_v3 without experts is qwen3, and
has several blocks; so it is qwen3moe if the experts of a layer are equal. glm4moe is qwen2 if its
layers are dense, and its block has a single expert and a shared one of zeros.

Chains are compared up to two tokens: after the second block llama.cpp's hy_v3 hands on the state of
the round's first place instead of the last, because its h_nextn has the rows of all places where
the reader expects those of outputs. test_head_rows.c compares longer chains with double precision.
"""
import itertools
import os
import sys
import tempfile

import numpy as np

import drafts
from drafts import DIM, FFN, HEADS, KV_HEADS, LAYERS, VOCAB, WIDTH, Weights

MOST, CHAIN_MOST, ROUNDS, TEXTS, EXPERTS = 4, 2, 40, 20, 4


def extras(weights, i, biases, norms):
    """Of attention: qwen2 has biases, qwen3 a norm of each head."""
    tensors = {}
    for name, n in ("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS):
        if biases:
            tensors[f"blk.{i}.attn_{name}.bias"] = weights.vector(n * WIDTH)
        if norms and name != "v":
            tensors[f"blk.{i}.attn_{name}_norm.weight"] = weights.norm(WIDTH)
    return tensors


def trunk(weights, **kind):
    tensors = drafts.llama_tensors(weights)
    for i in range(LAYERS):
        tensors.update(extras(weights, i, **kind))
    return tensors


def draft_block(weights, i, embedding=False, output=False, norm=False, **kind):
    tensors = {f"blk.{i}.attn_norm.weight": weights.norm(DIM),
               f"blk.{i}.ffn_norm.weight": weights.norm(DIM),
               **drafts.block(weights, i),
               **extras(weights, i, **kind),
               f"blk.{i}.nextn.eh_proj.weight": weights.matrix(DIM, 2 * DIM),
               f"blk.{i}.nextn.enorm.weight": weights.norm(DIM),
               f"blk.{i}.nextn.hnorm.weight": weights.norm(DIM)}
    if embedding:
        tensors[f"blk.{i}.nextn.embed_tokens.weight"] = weights.matrix(VOCAB, DIM, 4.0)
    if output:
        tensors[f"blk.{i}.nextn.shared_head_head.weight"] = weights.matrix(VOCAB, DIM, 2.0)
    if norm:
        tensors[f"blk.{i}.nextn.shared_head_norm.weight"] = weights.norm(DIM)
    return tensors


def write(path, arch, tensors, blocks, **more):
    values = drafts.shape_values(arch, layers=LAYERS + blocks)
    values[f"{arch}.nextn_predict_layers"] = blocks
    values.update({f"{arch}.{key}": value for key, value in more.items()})
    drafts.write(path, arch, values, drafts.plain(tensors))


def write_equal_experts(path, tensors, blocks):
    """As qwen3moe: whichever of the equal experts a router chooses, they are the network."""
    given, weights = {}, Weights(0)
    for name, data in tensors.items():
        if ".ffn_norm." in name or ".ffn_" not in name:
            given[name] = data
            continue
        given[name.replace(".weight", "_exps.weight")] = np.stack([data] * EXPERTS)
        if ".ffn_gate." in name:
            router = name.replace("ffn_gate", "ffn_gate_inp")
            given[router] = weights.matrix(EXPERTS, DIM)
    write(path, "qwen3moe", given, blocks, expert_count=EXPERTS, expert_used_count=2,
          expert_feed_forward_length=FFN)


def write_hy_v3(path, tensors, blocks):
    write(path, "hy_v3", tensors, blocks, expert_feed_forward_length=FFN)


def write_glm4moe(path, tensors, blocks):
    """The feed-forward norm has another name; the last block's network is an expert."""
    block, given = f"blk.{LAYERS}.", {}
    for name, data in tensors.items():
        name = name.replace("ffn_norm", "post_attention_norm")
        if name.startswith(f"{block}ffn_"):
            shared = np.zeros_like(data) if "down" in name else data
            given[name.replace(".weight", "_shexp.weight")] = shared
            name, data = name.replace(".weight", "_exps.weight"), data[np.newaxis]
        given[name] = data
    given[f"{block}ffn_gate_inp.weight"] = np.zeros((1, DIM), "<f4")
    given[f"{block}exp_probs_b.bias"] = np.zeros(1, "<f4")
    write(path, "glm4moe", given, blocks, expert_count=1, expert_used_count=1,
          expert_shared_count=1, expert_feed_forward_length=FFN, leading_dense_block_count=LAYERS,
          expert_weights_norm=True, expert_weights_scale=1.0)


FORMS = {
    "qwen2": {},
    "qwen2 without biases": {"biases": False},
    "qwen2, its own norm": {"norm": True},
    "qwen2, all its own": {"norm": True, "embedding": True, "output": True},
    "qwen3": {},
    "qwen3, equal experts": {"experts": True},
    "qwen3, 2 blocks, equal experts": {"experts": True, "blocks": 2},
    "qwen3, its own embedding": {"embedding": True},
    "qwen3, its own output": {"output": True},
    "qwen3, 2 blocks": {"blocks": 2},
    "qwen3, 4 blocks": {"blocks": 4},
    "qwen3, 3 blocks, all their own": {"blocks": 3, "norm": True, "embedding": True,
                                       "output": True},
}


def without_layers(tensors):
    return {name: data for name, data in tensors.items()
            if not name.startswith("blk.") or int(name.split(".")[1]) >= LAYERS}


def main(program):
    drafts.build_shell()
    bad = n = 0
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs, alone = (os.path.join(folder, f"{name}.gguf")
                               for name in ("ours", "theirs", "alone"))
        for seed, (name, form) in zip(itertools.count(200), FORMS.items()):
            arch = name[:5]
            form = {"biases": arch == "qwen2", "norms": arch == "qwen3", "blocks": 1, **form}
            blocks, weights = form.pop("blocks"), Weights(seed)
            experts = form.pop("experts", False)
            tensors = trunk(weights, biases=form["biases"], norms=form["norms"])
            for i in range(blocks):
                tensors.update(draft_block(weights, LAYERS + i, **form))
            for path, some in (ours, tensors), (alone, without_layers(tensors)):
                if experts:
                    write_equal_experts(path, some, blocks)
                else:
                    write(path, arch, some, blocks)
            {"qwen2": write_glm4moe, "qwen3": write_hy_v3}[arch](theirs, tensors, blocks)
            texts, K = drafts.texts_of(seed, TEXTS), CHAIN_MOST if blocks > 1 else MOST
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
