# SPDX-License-Identifier: GPL-3.0-or-later
"""vLLM's rejection sampler of the V2 runner, on the CPU by Triton's interpreter.

    python3 vllm_v2.py FOLDER standard|block|fly [grammar]

FOLDER holds the unpacked wheel. rejection_sample() and its kernels are run as released. Joined
here: the packages vllm and vllm.triton_utils are empty shells, since their real ones need a GPU;
log1p, which the interpreter lacks; with `grammar` the tokens from the first one that the target
forbids on become -1, as the scheduler's validate_tokens marks them.
"""
import os
import sys
import types

import interpreted  # noqa: F401
import torch
import triton
import triton.language as tl

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../tools/validate/adapters"))
import client  # noqa: E402

FOLDER, METHOD, GRAMMAR = sys.argv[1], sys.argv[2], "grammar" in sys.argv[3:]


def shell(name, **names):
    module = types.ModuleType(name)
    module.__path__ = [os.path.join(FOLDER, *name.split("."))]
    module.__dict__.update(names)
    sys.modules[name] = module


def log1p(x):
    return tl.log(1.0 + x.to(tl.float64)).to(tl.float32)


for package in ("", ".v1.spec_decode", ".v1.worker.gpu.spec_decode"):
    shell("vllm" + package)
for package in (".v1.watermarking", ".v1.watermarking.prfs"):
    shell("vllm" + package)
device = types.SimpleNamespace(log1p=log1p)
shell("vllm.triton_utils", triton=triton, tl=tl, tldevice=device, HAS_TRITON=True)
from vllm.v1.worker.gpu.spec_decode.rejection_sampler_utils import rejection_sample  # noqa: E402


def marked(r):
    """The draft tokens; after the first forbidden one all are placeholders."""
    tokens = list(r.tokens)
    for k, token in enumerate(tokens):
        if GRAMMAR and r.target[k][token] == 0.0:
            return tokens[:k] + [-1] * (len(tokens) - k)
    return tokens


def signed(seed):
    return seed - (1 << 64) if seed >> 63 else seed


def verify(rounds):
    n, K, V = len(rounds), max(r.n for r in rounds), len(rounds[0].target[0])
    drafts, draft = [marked(r) for r in rounds], None
    if rounds[0].draft is not None and K > 0:
        draft = torch.full((n, K, V), float("-inf"))
        for i, r in enumerate(rounds):
            draft[i, : r.n] = torch.tensor(r.draft[: r.n]).log()
    length = torch.tensor([r.n + 1 for r in rounds])
    ends = torch.cat([torch.zeros(1, dtype=torch.int64), length.cumsum(0)]).to(torch.int32)
    places = [k for r in rounds for k in range(r.n + 1)]
    sampled, count = rejection_sample(
        torch.tensor([row for r in rounds for row in r.target]).log(),
        draft,
        torch.tensor([t for tokens in drafts for t in [0] + tokens]),
        ends,
        torch.tensor([(r.offset & 0xFFFFFF) * 32 + k for r in rounds for k in range(r.n + 1)]),
        torch.arange(n, dtype=torch.int32),
        torch.repeat_interleave(torch.arange(n, dtype=torch.int32), length),
        torch.tensor(places, dtype=torch.int32),
        torch.ones(n),
        torch.tensor([signed(r.seed) for r in rounds]),
        K,
        use_block_verification=METHOD == "block",
        fly_window_size=max(1, min(6, K - 1)) if METHOD == "fly" else 0,
    )
    return [row[:m].tolist() for row, m in zip(sampled, count.tolist())]


if __name__ == "__main__":
    torch.set_num_threads(1)
    client.serve(verify, name=f"vLLM V2 {METHOD}", chains=["fixed", "iid"], max_vocab=1024)
