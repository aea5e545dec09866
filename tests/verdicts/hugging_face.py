# SPDX-License-Identifier: GPL-3.0-or-later
"""Assisted generation of Hugging Face transformers.

    python3 hugging_face.py sampled|gemma4|ensemble [WEIGHT]

sampled, ensemble: _speculative_sampling() judges drafts that were drawn from their rows.
gemma4: SinglePositionMultiTokenCandidateGenerator.get_candidates() drafts, and
_speculative_sampling() judges. Joined here: an assistant model that returns a fixture's rows, and
the two calls, which _assisted_decoding() makes one after the other.
"""
import os
import sys
from types import SimpleNamespace

import torch
from transformers.generation.candidate_generator import SinglePositionMultiTokenCandidateGenerator
from transformers.generation.utils import _speculative_sampling

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../tools/validate/adapters"))
import client  # noqa: E402

VARIANT = sys.argv[1]
WEIGHT = {"assistant_ensemble_weight": float(sys.argv[2])} if VARIANT == "ensemble" else {}


def judge(tokens, draft, target):
    if tokens.shape[1] == 0:
        return torch.multinomial(target.softmax(-1)[0], 1)[0].tolist()
    return _speculative_sampling(tokens, draft, tokens.shape[1], target, **WEIGHT)[0][0].tolist()


def verify_one(r):
    tokens, draft = torch.tensor([r.tokens]), torch.tensor([r.draft[: len(r.tokens)]])
    return judge(tokens, draft, torch.tensor([r.target]))


def verify(rounds):
    torch.manual_seed(rounds[0].seed ^ rounds[0].offset)
    return [verify_one(r) for r in rounds]


class Gemma4AssistantOfRows:
    """Returns the draft row of position k at its k-th call."""

    device = torch.device("cpu")

    def __init__(self, rows):
        self.generation_config = SimpleNamespace(num_assistant_tokens=len(rows))
        self.rows = iter(rows)

    def __call__(self, **_):
        row = torch.tensor([[next(self.rows)]])
        return SimpleNamespace(logits=row, last_hidden_state=torch.zeros(1, 1, 1))


def draw_one(r):
    generator = SinglePositionMultiTokenCandidateGenerator(
        Gemma4AssistantOfRows(r.draft[: r.n]),
        torch.nn.Embedding(len(r.target[0]), 1),
        SimpleNamespace(max_length=1 << 20),
    )
    states = SimpleNamespace(hidden_states=[torch.zeros(1, 1, 1)], shared_kv_states={})
    prompt = torch.zeros(1, 1, dtype=torch.long)
    tokens, draft = generator.get_candidates(prompt, {}, states, False, 0)
    tokens = tokens[:, 1:]
    return tokens[0].tolist(), judge(tokens, draft, torch.tensor([r.target]))


def draw(rounds):
    torch.manual_seed(rounds[0].seed ^ rounds[0].offset)
    return [draw_one(r) for r in rounds]


if __name__ == "__main__":
    torch.set_num_threads(1)
    how = {"draw": draw} if VARIANT == "gemma4" else {"verify": verify}
    name = f"transformers {VARIANT}"
    client.serve(**how, name=name, chains=["iid"], rows="logits", max_vocab=1024)
