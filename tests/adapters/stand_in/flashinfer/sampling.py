# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for FlashInfer's chain_speculative_sampling, with the same signature."""

import os
import random

import torch

WRONG = os.environ.get("SPECLAB_STAND_IN") == "wrong"


def chain_speculative_sampling(
    draft_probs,
    draft_token_ids,
    target_probs,
    maybe_output_accepted_token_num=None,
    maybe_output_emitted_draft_token_num=None,
    deterministic=True,
    generator=None,
    seed=None,
    offset=None,
):
    out, tried, emitted = [], [], []
    for draft, tokens, target in zip(
        draft_probs.tolist(), draft_token_ids.tolist(), target_probs.tolist()
    ):
        n, u = len(tokens), [random.random() for _ in range(len(tokens) + 1)]
        if WRONG:  # one uniform number for all tests
            u = [u[0]] * (n + 1)
        good = [u[k] * draft[k][t] < target[k][t] for k, t in enumerate(tokens)]
        kept = good.index(False) if False in good else n
        left = (
            target[n] if kept == n else [max(a - b, 0.0) for a, b in zip(target[kept], draft[kept])]
        )
        out.append(tokens[:kept] + [torch.draw(left)] + [-1] * (n - kept))
        tried.append(sum(good))
        emitted.append(kept)
    return torch.tensor(out), torch.tensor(tried), torch.tensor(emitted)
