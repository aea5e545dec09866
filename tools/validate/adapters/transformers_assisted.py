#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hugging Face's assisted decoding under `speclab validate`.

    speclab validate --exec 'python3 transformers_assisted.py'

Passes each round to _speculative_sampling() of huggingface/transformers,
src/transformers/generation/utils.py (read in 5.23.0; earlier versions have one more argument,
is_done_candidate). Requests go one by one, with a leading axis of 1.
"""
import inspect

import torch
from transformers.generation.utils import _speculative_sampling

import client

PARAMETERS = inspect.signature(_speculative_sampling).parameters
OLDER = {"is_done_candidate": False} if "is_done_candidate" in PARAMETERS else {}


def verify_one(r):
    if not r.tokens:
        return torch.multinomial(torch.tensor(r.target).softmax(-1), 1)[0].tolist()
    tokens, _ = _speculative_sampling(
        candidate_input_ids=torch.tensor([r.tokens]),
        candidate_logits=torch.tensor([r.draft[: len(r.tokens)]]),
        candidate_length=len(r.tokens),
        new_logits=torch.tensor([r.target]),
        **OLDER,
    )
    return tokens[0].tolist()


def verify(rounds):
    torch.manual_seed(rounds[0].seed ^ rounds[0].offset)
    return [verify_one(r) for r in rounds]


if __name__ == "__main__":
    torch.set_num_threads(1)
    client.serve(verify, name="transformers _speculative_sampling", chains=["iid"], rows="logits")
