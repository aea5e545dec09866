#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""FlashInfer's chain_speculative_sampling under `speclab validate`.

    speclab validate --exec 'python3 flashinfer_chain.py'

Passes the rounds of a batch to flashinfer.sampling.chain_speculative_sampling() of
flashinfer-ai/flashinfer (read in v0.6.18, fb28d724, flashinfer/sampling.py). All drafts of a call
have one length, so rounds are grouped by length; rejected places are -1 in the answer. The kernels
need a GPU.
"""
import torch
from flashinfer.sampling import chain_speculative_sampling

import client

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def tensor(data, dtype):
    return torch.tensor(data, dtype=dtype, device=DEVICE)


def one_length(rounds, n):
    if n == 0:
        return torch.multinomial(tensor([r.target[0] for r in rounds], torch.float32), 1).tolist()
    out, _, emitted = chain_speculative_sampling(
        tensor([r.draft[:n] for r in rounds], torch.float32),
        tensor([r.tokens for r in rounds], torch.int32),
        tensor([r.target for r in rounds], torch.float32),
    )
    return [row[: n + 1] for row, n in zip(out.tolist(), emitted.tolist())]


def verify(rounds):
    torch.manual_seed(rounds[0].seed ^ rounds[0].offset)
    answers = {}
    for n in {len(r.tokens) for r in rounds}:
        same = [i for i, r in enumerate(rounds) if len(r.tokens) == n]
        answers.update(zip(same, one_length([rounds[i] for i in same], n)))
    return [answers[i] for i in range(len(rounds))]


if __name__ == "__main__":
    client.serve(verify, name="flashinfer chain_speculative_sampling", chains=["iid"])
