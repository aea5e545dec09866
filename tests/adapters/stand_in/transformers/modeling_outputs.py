# SPDX-License-Identifier: GPL-3.0-or-later
class CausalLMOutputWithPast:
    def __init__(self, logits, past_key_values):
        self.logits, self.past_key_values = logits, past_key_values
