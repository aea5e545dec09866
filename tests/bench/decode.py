# SPDX-License-Identifier: GPL-3.0-or-later
"""Yardstick for the decoding loop (Markov pair, V = 4, K = 5, token rule): as in tutorials."""

import sys

try:
    import numpy as np
except ImportError:
    sys.exit(0)
from yardstick import serve

V, K, ROUNDS = 4, 5, 50
rng = np.random.Generator(np.random.PCG64DXSM(42))
target = rng.dirichlet(np.ones(V), size=V)
draft = rng.dirichlet(np.ones(V), size=V)


def speculate(last):
    """One round after the token `last`; returns the emitted tokens."""
    drafted, at = [], last
    for _ in range(K):
        at = rng.choice(V, p=draft[at])
        drafted.append(at)
    emitted, at = [], last
    for token in drafted:
        if rng.random() * draft[at, token] >= target[at, token]:
            residual = np.maximum(target[at] - draft[at], 0)
            emitted.append(rng.choice(V, p=residual / residual.sum()))
            return emitted
        emitted.append(token)
        at = token
    emitted.append(rng.choice(V, p=target[at]))
    return emitted


def choice():
    last = 0
    for _ in range(ROUNDS):
        last = speculate(last)[-1]
    return ROUNDS


serve(choice)
