# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for Hugging Face's _speculative_sampling, with the same signature."""

import os
import random

import torch

WRONG = os.environ.get("SPECLAB_STAND_IN") == "wrong"


def _speculative_sampling(
    candidate_input_ids,
    candidate_logits,
    candidate_length,
    new_logits,
    assistant_ensemble_weight=None,
):
    tokens = candidate_input_ids.tolist()[0][-candidate_length:]
    target = new_logits[0].softmax(-1).tolist()
    draft = candidate_logits[0].softmax(-1).tolist()
    kept = 0
    while (
        kept < candidate_length
        and random.random() * draft[kept][tokens[kept]] < target[kept][tokens[kept]]
    ):
        kept += 1
    left = target[kept]
    if kept < candidate_length:
        left = [max(a - b, 0.0) for a, b in zip(target[kept], draft[kept])]
        if WRONG:  # normalises the residual by softmax instead of by its sum
            left = torch.softmax(left)
    return torch.tensor([tokens[:kept] + [torch.draw(left)]]), kept
