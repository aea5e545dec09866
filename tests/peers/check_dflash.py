# SPDX-License-Identifier: GPL-3.0-or-later
"""Drafts of dflash files by speclab and by llama.cpp, token for token, at temperature 0.

    python3 tests/peers/check_dflash.py build/release/speclab [CASE]
"""
import itertools
import os
import sys
import tempfile

import numpy as np

import dflash_files
import drafts
from drafts import DIM, LAYERS, VOCAB, WIDTH, Weights

ROUNDS, TEXTS = 12, 8
# llama.cpp rounds activations to the type of F16 and BF16 weights, and takes GELU from a table of
# F16; of Q8_0 both programs round activations, after different sums.
NEAR = {"F16": 0.02, "BF16": 0.1, "Q8_0": 0.1}
LONG = 190  # tokens of the last text, beyond windows and several passes


def add_experts(tensors, values, weights):
    """Four experts of width 24, of which two are active, in place of each network."""
    values["qwen3moe.expert_count"] = 4
    values["qwen3moe.expert_used_count"] = 2
    values["qwen3moe.expert_feed_forward_length"] = 24
    for i in range(LAYERS):
        tensors[f"blk.{i}.ffn_gate_inp.weight"] = weights.matrix(4, DIM), None
        for name, rows, cols in [("gate", 24, DIM), ("up", 24, DIM), ("down", DIM, 24)]:
            del tensors[f"blk.{i}.ffn_{name}.weight"]
            stack = weights.matrix(4 * rows, cols).reshape(4, rows, cols)
            tensors[f"blk.{i}.ffn_{name}_exps.weight"] = stack, None


def write_target(path, architecture):
    weights = Weights(1)
    tensors = drafts.plain(drafts.llama_tensors(weights))
    values = drafts.shape_values(architecture)
    norms = {}
    if architecture != "llama":
        norms = {f"blk.{i}.attn_{name}_norm.weight": weights.norm(WIDTH)
                 for i in range(LAYERS) for name in "qk"}
    if architecture == "qwen3moe":
        add_experts(tensors, values, weights)
    drafts.write(path, architecture, values, {**tensors, **drafts.plain(norms)})


def check(program, folder, target, number, case):
    """Prints a line; whether all drafts are the same, with stops in cases of confidence."""
    path = os.path.join(folder, f"{number}.gguf")
    K = dflash_files.write(path, case.settings, number)
    kind = "draft-dspark" if "markov" in case.settings else "draft-dflash"
    texts = drafts.texts_of(number, TEXTS)
    texts.append(np.random.default_rng(number).integers(0, VOCAB, LONG).tolist())
    theirs = drafts.llama_rounds(kind, target, path, K, ROUNDS, texts, case.p_min)
    spec = f"dflash:{path}" + (f"?confidence={case.p_min}" if case.p_min else "")
    name = f"{os.path.basename(target)[:-5]}, {case.name}"
    get = case.settings.get
    near = NEAR.get("F16" if get("gelu") else get("type"), 3e-4)
    same = drafts.compare(name, drafts.Speclab(program, f"gguf:{target}", spec), texts, theirs, K,
                          near)
    lengths = {len(drafted) for rounds in theirs for drafted, _ in rounds}
    if case.p_min and len(lengths) < 3:
        print(f"FAIL {name}: drafts of {lengths} tokens show no stops")
        return False
    return same


def main(program, wanted=""):
    drafts.build_shell()
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for architecture in ("llama", "qwen3", "qwen3moe"):
            target = os.path.join(folder, f"{architecture}.gguf")
            write_target(target, architecture)
            for number, case in zip(itertools.count(10), dflash_files.CASES):
                if wanted in case.name and (architecture != "qwen3moe" or number % 6 == 4):
                    bad += not check(program, folder, target, number, case)
    print("check_dflash: " + ("every draft is llama.cpp's" if bad == 0 else f"FAIL, {bad} cases"))
    return bad


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) != 0)
