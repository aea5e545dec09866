#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The token rule of speculative sampling in plain Python, in all three scopes.

A right sampler to start from:

    speclab validate "exec:python3 token_sampler.py"

Arguments: "json" uses lines of JSON instead of binary frames; "wrong" makes a common mistake, which
speclab finds.
"""
import sys
from itertools import accumulate

import client

WRONG = "wrong" in sys.argv


def pick(weights, rng):
    """Draw an index with probability proportional to its weight; weights may be 0."""
    total = list(accumulate(weights))
    u, low, high = rng.random() * total[-1], 0, len(total) - 1
    while low < high:
        middle = (low + high) // 2
        if total[middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


def step(target, draft, tokens, rng):
    for i, token in enumerate(tokens):
        p = target[i]
        q = draft[i] if draft else [float(x == token) for x in range(len(p))]
        if rng.random() * q[token] < p[token]:
            continue
        residual = [a - b if a > b else 0.0 for a, b in zip(p, q)]
        # The mistake: a correction drawn from the target instead of the residual.
        return [*tokens[:i], pick(p if WRONG else residual, rng)]
    return [*tokens, pick(target[len(tokens)], rng)]


def draw(target, draft, n, rng):
    tokens = [pick(draft[i], rng) for i in range(n)]
    return tokens, step(target, draft, tokens, rng)


def generate(models, start, K, n_tokens, rng):
    text, state = [], start
    while len(text) < n_tokens:
        tokens, states = [], [state]
        for _ in range(K):
            tokens.append(pick(models.draft[states[-1]], rng))
            states.append(models.next[states[-1]][tokens[-1]])
        target, draft = [models.target[s] for s in states], [models.draft[s] for s in states]
        emitted = step(target, draft, tokens, rng)
        text += emitted
        for token in emitted:
            state = models.next[state][token]
    return text[:n_tokens]


if __name__ == "__main__":
    client.serve(
        client.each(step),
        client.each(draw),
        generate,
        frames="json" if "json" in sys.argv else "binary",
        name="token rule in Python",
        padding=True,
        seeded=True,
        coins=True,
        max_vocab=4096,
    )
