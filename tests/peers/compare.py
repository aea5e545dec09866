# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts that speclab samples, with its rows, to be laid beside the logits of peers."""
import os

import numpy as np

import programs


def log_softmax(logits):
    logits = logits.astype(np.float64)
    above = logits - logits.max(axis=-1, keepdims=True)
    return above - np.log(np.exp(above).sum(axis=-1, keepdims=True))


class Beside:
    """A text: `tokens` as a peer takes them, `ours` (places, V) the logarithms of speclab's rows,
    `chosen` the next tokens, and `pick`, which takes the same places from a peer's logits."""

    def __init__(self, text, begin):
        self.tokens = text.tokens if begin is None else [begin, *text.tokens]
        after = text.at - (1 if begin is None else 0)  # a peer's row i follows its token i
        has = after >= 0
        self.places = after[has]
        self.chosen = np.array(text.tokens)[text.at[has]]
        with np.errstate(divide="ignore"):
            self.ours = np.log(text.rows[has])

    def pick(self, logits):
        return log_softmax(logits[self.places])


def sampled(program, path, folder, n):
    """Texts of together n tokens, one with three quarters of them: seeds until it is there."""
    begin = programs.beginning(path)
    for seed in range(1, 20):
        texts = programs.speclab_rows(program, f"gguf:{path}", os.path.join(folder, "x.rows"), "-n",
                                      str(n), "--cutoff", "0", "--seed", str(seed))
        if max(len(text.tokens) for text in texts) >= n * 3 // 4:
            return [Beside(text, begin) for text in texts if len(text.tokens) > 1]
    raise programs.Refused("the model ends each text before its windows")


def greedy(program, path, folder, n):
    begin = programs.beginning(path)
    texts = programs.speclab_rows(program, f"gguf:{path}?temperature=0",
                                  os.path.join(folder, "x.rows"), "-n", str(n))
    return [Beside(text, begin) for text in texts if len(text.tokens) > 1]
