# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for vLLM's rejection_sample, with the same signature."""

import os
import random

import torch

WRONG = os.environ.get("SPECLAB_STAND_IN") == "wrong"


def rejection_sample(
    draft_token_ids,
    num_draft_tokens,
    max_spec_len,
    cu_num_draft_tokens,
    draft_probs,
    target_logits,
    bonus_token_ids,
    sampling_metadata,
    synthetic_mode=False,
    synthetic_conditional_rates=None,
    use_fp64_gumbel=False,
    fly_window_size=None,
    fly_entropy_threshold=None,
    fly_entropy_top_k=3,
):
    tokens, target = draft_token_ids.tolist(), target_logits.softmax(-1).tolist()
    draft = None if draft_probs is None else draft_probs.tolist()
    assert draft_token_ids.shape == (sum(num_draft_tokens),) and not sampling_metadata.all_greedy
    assert len(target) == len(tokens) and (draft is None or len(draft) == len(tokens))
    out = []
    for i, (n, end) in enumerate(zip(num_draft_tokens, cu_num_draft_tokens.tolist())):
        row = [-1] * (max_spec_len + 1)
        start = end - n
        if WRONG and n > 0:  # as if all earlier requests had this draft length
            start = min(i * n, len(tokens) - n)
        for k in range(n):
            token, p = tokens[end - n + k], target[start + k]
            q = (
                draft[start + k]
                if draft is not None
                else [float(t == token) for t in range(len(p))]
            )
            if random.random() * q[token] < p[token]:
                row[k] = token
                continue
            row[k] = torch.draw([max(a - b, 0.0) for a, b in zip(p, q)])
            break
        else:
            row[n] = bonus_token_ids.tolist()[i][0]
        out.append(row)
    return torch.tensor(out)
