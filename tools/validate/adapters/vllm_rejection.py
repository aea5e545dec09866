#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vLLM's rejection sampler under `speclab validate`.

    speclab validate --exec 'python3 vllm_rejection.py'

Passes the rounds of a batch to rejection_sample() of vllm/v1/sample/rejection_sampler.py in
vllm-project/vllm (read in v0.33.0; earlier versions take target_probs instead of target_logits).
The drafts of all requests are concatenated without padding, and so are their target rows. The bonus
token is drawn here, from the last row. The kernels need a GPU.
"""
import inspect
from types import SimpleNamespace

import torch
from vllm.v1.sample.rejection_sampler import rejection_sample

import client

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
LOGITS = "target_logits" in inspect.signature(rejection_sample).parameters


def tensor(data, dtype):
    return torch.tensor(data, dtype=dtype, device=DEVICE)


def verify(rounds):
    torch.manual_seed(rounds[0].seed ^ rounds[0].offset)
    n = [len(r.tokens) for r in rounds]
    ends = [sum(n[: i + 1]) for i in range(len(n))]
    draft = None
    if rounds[0].draft is not None:
        draft = tensor([row for r in rounds for row in r.draft[: len(r.tokens)]], torch.float32)
    target = tensor([row for r in rounds for row in r.target[:-1]], torch.float32)
    bonus = torch.multinomial(tensor([r.target[-1] for r in rounds], torch.float32), 1)
    if sum(n) == 0:
        return bonus.tolist()
    out = rejection_sample(
        tensor([t for r in rounds for t in r.tokens], torch.int32),
        n,
        max(n),
        tensor(ends, torch.int32),
        draft,
        target.log() if LOGITS else target,
        bonus,
        SimpleNamespace(
            all_greedy=False,
            all_random=True,
            generators={},
            temperature=torch.ones((len(n),), device=DEVICE),
        ),
    )
    return [[t for t in row if t >= 0] for row in out.tolist()]


if __name__ == "__main__":
    client.serve(verify, name="vllm rejection_sample", padding=True)
