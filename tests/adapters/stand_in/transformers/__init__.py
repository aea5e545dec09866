"""Hugging Face's generate() with an assistant model: our own few lines behind its classes."""
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
        # Wrong: what is the oldest is forgotten, instead of what was rejected.
        self.layers[0].keys = torch.tensor([[kept[-length:] if WRONG else kept[:length]]])


class PreTrainedModel:
    def __init__(self, config):
        self.config, self.generation_config = config, GenerationConfig()


class GenerationMixin:
    def generate(self, input_ids, generation_config, assistant_model):
        from transformers.generation.utils import _speculative_sampling

        text, caches = list(input_ids.tolist()[0]), (Cache(), Cache())
        end = len(text) + generation_config.max_new_tokens
        while len(text) < end:
            begin, logits = len(text), []
            for _ in range(assistant_model.generation_config.num_assistant_tokens):
                logits.append(last_logits(assistant_model, text, caches[1], 1)[0])
                text.append(torch.draw(torch.softmax(logits[-1])))
            candidates = torch.tensor([text])
            kept, _ = _speculative_sampling(candidates, torch.tensor([logits]), len(logits),
                                            torch.tensor([last_logits(self, text, caches[0], len(logits) + 1)]))
            text = text[:begin] + kept.tolist()[0]
            for cache in caches:
                cache.crop(len(text) - 1)
        return torch.tensor([text[:end]])


def last_logits(model, text, cache, n):
    """The logits after the last n tokens; the model is given what its cache lacks."""
    ids = torch.tensor([text[cache.get_seq_length():]])
    return model.forward(input_ids=ids, past_key_values=cache).logits.tolist()[0][-n:]
