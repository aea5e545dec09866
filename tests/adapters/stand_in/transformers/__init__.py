# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for Hugging Face's generate() with an assistant model, with the same classes."""

import math
import os
from types import SimpleNamespace

import torch

WRONG = os.environ.get("SPECLAB_STAND_IN") == "wrong"


class PreTrainedConfig(SimpleNamespace):
    pass


class GenerationConfig(SimpleNamespace):
    pass


class Cache:
    def __init__(self):
        self.layers = [SimpleNamespace(keys=torch.tensor([[[]]]))]

    def get_seq_length(self):
        return len(self.layers[0].keys.data[0][0])

    def update(self, keys, values, layer):
        self.layers[layer].keys.data[0][0] += keys.data[0][0]

    def crop(self, length):
        kept = self.layers[0].keys.data[0][0]
        # Wrong: drops the oldest tokens instead of the rejected ones.
        del kept[slice(0, max(0, len(kept) - length)) if WRONG else slice(length, None)]


class PreTrainedModel:
    def __init__(self, config):
        self.config, self.generation_config = config, GenerationConfig()


class GenerationMixin:
    def generate(self, input_ids, generation_config, assistant_model):
        from transformers.generation.utils import _speculative_sampling

        text, caches, c = list(input_ids.tolist()[0]), (Cache(), Cache()), generation_config
        end = len(text) + generation_config.max_new_tokens
        while len(text) < end:
            begin, logits = len(text), []
            for _ in range(assistant_model.generation_config.num_assistant_tokens):
                logits.append(warped(last_logits(assistant_model, text, caches[1], 1)[0], c))
                text.append(torch.draw(torch.softmax(logits[-1])))
            candidates = torch.tensor([text])
            target = last_logits(self, text, caches[0], len(logits) + 1)
            kept, _ = _speculative_sampling(
                candidates,
                torch.tensor([logits]),
                len(logits),
                torch.tensor([[warped(row, c) for row in target]]),
            )
            text = text[:begin] + kept.tolist()[0]
            for cache in caches:
                cache.crop(len(text) - 1)
        return torch.tensor([text[:end]])


def last_logits(model, text, cache, n):
    """The logits after the last n tokens; the model reads the tokens that its cache lacks."""
    ids = torch.tensor([text[cache.get_seq_length() :]])
    return model.forward(input_ids=ids, past_key_values=cache).logits.tolist()[0][-n:]


def warped(logits, config):
    """Temperature, top-k, top-p and min-p in turn, each on the softmax of the previous row."""
    if not config.do_sample:
        return [0.0 if i == logits.index(max(logits)) else -1e30 for i in range(len(logits))]
    row = [x / config.temperature for x in logits]
    if config.top_k > 0:
        row = cut(row, sorted(row, reverse=True)[min(config.top_k, len(row)) - 1])
    if config.top_p < 1:
        below, kept = 0.0, 0
        for chance in sorted(torch.softmax(row), reverse=True):
            below, kept = below + chance, kept + 1
            if below >= config.top_p:
                break
        row = cut(row, sorted(row, reverse=True)[kept - 1])
    if config.min_p > 0:
        row = cut(row, max(row) + math.log(config.min_p))
    return row


def cut(row, least):
    return [x if x >= least else -1e30 for x in row]
