#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hugging Face's generate() with an assistant model under `speclab validate`.

    speclab validate --exec 'python3 transformers_generate.py' --scopes S --timeout 100

Scope S of huggingface/transformers (read in 5.23.0). Target and draft are models whose logits are
the rows of the current state. Their KV caches hold the states, so that a cache that is not rolled
back gives wrong rows. generate() applies the sampling parameters one by one, in the order that the
hello declares.
"""
import torch
from transformers import GenerationConfig, GenerationMixin, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

import client


class Rows(PreTrainedModel, GenerationMixin):
    config_class = PreTrainedConfig

    def __init__(self, rows, following):
        config = {"num_hidden_layers": 1, "is_encoder_decoder": False}
        super().__init__(PreTrainedConfig(vocab_size=len(rows[0]), **config))
        self.rows, self.following, self.start = rows, following, 0
        self.anchor = torch.nn.Parameter(torch.zeros((1,)))  # transformers reads the device from it

    def forward(self, input_ids, past_key_values=None, **_):
        state = None
        if past_key_values.get_seq_length() > 0:
            state = int(past_key_values.layers[0].keys[0][0][-1][0])
        states = []
        for token in input_ids[0].tolist():
            state = self.start if state is None else self.following[state][token]
            states.append(state)
        remembered = torch.tensor([[[[float(s)] for s in states]]])
        past_key_values.update(remembered, remembered, 0)
        return CausalLMOutputWithPast(
            logits=torch.tensor([[self.rows[s] for s in states]]), past_key_values=past_key_values
        )


def generate(texts, start, K, n_tokens, rng):
    if texts is not generate.texts:
        generate.texts = texts
        generate.models = [Rows(rows, texts.next) for rows in (texts.target, texts.draft)]
    torch.manual_seed(rng.getrandbits(63))
    target, draft = generate.models
    target.start = draft.start = start
    draft.generation_config.num_assistant_tokens = K
    asked = dict(texts.sampling)
    if asked["temperature"] == 0:
        asked = {"do_sample": False}
    config = GenerationConfig(**{"do_sample": True, "max_new_tokens": n_tokens, **asked})
    out = target.generate(torch.tensor([[0]]), generation_config=config, assistant_model=draft)
    return out[0].tolist()[1:]  # without the first token, which is the prompt


generate.texts = None

if __name__ == "__main__":
    torch.set_num_threads(1)
    client.serve(
        generate=generate,
        name="transformers generate with an assistant",
        rows="logits",
        sampling=True,
        filters="temperature,top_k,top_p,min_p",
    )
