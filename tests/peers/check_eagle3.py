# SPDX-License-Identifier: GPL-3.0-or-later
"""Drafts of eagle3 files by speclab and by llama.cpp, token for token, at temperature 0.

    python3 tests/peers/check_eagle3.py build/release/speclab
"""
import itertools
import os
import subprocess
import sys
import tempfile

import numpy as np

import drafts
from drafts import DIM, HEADS, KV_HEADS, LAYERS, VOCAB, WIDTH, Weights

K, ROUNDS, TEXTS = 4, 40, 20


def eagle3(path, seed, few=0, dim=DIM, heads=HEADS, kv_heads=KV_HEADS, width=WIDTH, taps=(1, 2, 4),
           fc_norm=False, residual=False, embedding=False, output=True, factors=False, linear=1.0,
           yarn=0.0):
    weights = Weights(seed)
    tensors = drafts.plain(drafts.block(weights, 0, dim, 2 * dim, heads, kv_heads, width))
    tensors["fc.weight"] = weights.matrix(dim, 3 * DIM), None
    vectors = {f"blk.0.{name}.weight": weights.norm(dim)
               for name in ("attn_norm", "attn_norm_2", "ffn_norm")}
    vectors["output_norm.weight"] = weights.norm(dim)
    if fc_norm:
        vectors["enc.output_norm.weight"] = weights.norm(3 * DIM)
    if embedding:
        vectors["token_embd.weight"] = weights.matrix(VOCAB, dim, 4.0)
    if output:
        vectors["output.weight"] = weights.matrix(few or VOCAB, dim, 2.0)
    if factors:
        vectors["rope_freqs.weight"] = np.linspace(1, 8, width // 2).astype("<f4")
    if few:
        vectors["d2t"] = weights.noise.permutation(VOCAB)[:few].astype("<i8")
    values = drafts.shape_values("eagle3", dim, 1, heads, kv_heads, width)
    values["eagle3.target_layers"] = list(taps)
    values["eagle3.target_hidden_size"] = DIM
    values["eagle3.norm_before_residual"] = residual
    values["eagle3.norm_before_fc"] = fc_norm
    if linear != 1.0:
        values["eagle3.rope.scaling.type"] = "linear"
        values["eagle3.rope.scaling.factor"] = linear
    if yarn:
        values["eagle3.rope.scaling.type"] = "yarn"
        values["eagle3.rope.scaling.factor"] = yarn
        values["eagle3.rope.scaling.original_context_length"] = 64
    drafts.write(path, "eagle3", values, {**tensors, **drafts.plain(vectors)}, VOCAB)


FORMS = {
    "plain": {},
    "norm before fc": {"fc_norm": True},
    "normed residual": {"residual": True},
    "both": {"fc_norm": True, "residual": True},
    "its own embedding": {"embedding": True},
    "the target's output": {"output": False},
    "its own embedding, the target's output": {"embedding": True, "output": False},
    "24 of 40 tokens": {"few": 24},
    "40 tokens in another order": {"few": 40},
    "taps 0, 3, 4": {"taps": (0, 3, 4)},
    "taps in another order": {"taps": (4, 0, 2)},
    "another width": {"dim": 96, "embedding": True, "few": 24},
    "another width, norm before fc": {"dim": 32, "embedding": True, "fc_norm": True},
    "other attention heads": {"heads": 6, "kv_heads": 3, "width": 8},
    "rope_freqs": {"factors": True},
    "linear scaling": {"linear": 4.0},
    "both scalings": {"linear": 4.0, "factors": True},
    "YaRN": {"yarn": 8.0},
    "everything": {"dim": 96, "embedding": True, "few": 24, "fc_norm": True, "residual": True,
                   "factors": True, "linear": 2.0, "taps": (3, 0, 4), "heads": 6},
}


def trained(program, folder, target):
    """A head that speclab trains for this target, with more acceptance than random ones."""
    path = os.path.join(folder, "trained.gguf")
    subprocess.run([program, "train", "eagle3", "--target", target, "--data", "own", "--steps",
                    "60", "--own-texts", "64", "--judge-texts", "8", "--window", "48", "-K", "3",
                    "--taps", "1.3.4", "-o", path, "--force"], check=True, capture_output=True)
    return path


def main(program):
    drafts.build_shell()
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "target.gguf")
        drafts.write(target, "llama", drafts.shape_values("llama"),
                     drafts.plain(drafts.llama_tensors(Weights(1))))
        heads = {}
        for seed, (name, form) in zip(itertools.count(2), FORMS.items()):
            heads[name] = os.path.join(folder, f"{seed}.gguf")
            eagle3(heads[name], seed, **form)
        heads["trained by speclab"] = trained(program, folder, target)
        for seed, (name, path) in zip(itertools.count(100), heads.items()):
            texts = drafts.texts_of(seed, TEXTS)
            theirs = drafts.llama_rounds("draft-eagle3", target, path, K, ROUNDS, texts)
            speclab = drafts.Speclab(program, f"gguf:{target}", f"eagle3:{path}")
            bad += not drafts.compare(f"eagle3, {name}", speclab, texts, theirs, K)
    print(f"eagle3: drafts of {len(heads) - bad} of {len(heads)} heads equal llama.cpp's")
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) != 0)
