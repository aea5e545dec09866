# SPDX-License-Identifier: GPL-3.0-or-later
"""Yardsticks for rounds of accept/reject, K = 5, alpha = .8, in NumPy, 32768 rounds at a time."""

import sys

try:
    import numpy as np
except ImportError:
    sys.exit(0)
from yardstick import serve

N, K, ALPHA = 1 << 15, 5, 0.8
rng = np.random.Generator(np.random.PCG64DXSM(42))
tally = np.zeros(K + 1, dtype=np.int64)
tail = np.zeros(K, dtype=np.int64)


def cumprod():
    """Plain NumPy: a uniform per token, the accepted prefix by cumprod, a histogram."""
    passed = rng.random((N, K), dtype=np.float32) < np.float32(ALPHA)
    tally[:] += np.bincount(np.cumprod(passed, axis=1).sum(axis=1), minlength=K + 1)
    return N


def tails():
    """Tuned NumPy: per position, raw 32-bit words against a threshold, counts of survivors."""
    words = rng.bit_generator.random_raw(K * N // 2).view(np.uint32).reshape(K, N)
    alive = np.ones(N, dtype=bool)
    for i in range(K):
        np.logical_and(alive, words[i] < np.uint32(ALPHA * 2**32), out=alive)
        tail[i] += np.count_nonzero(alive)
    return N


serve(cumprod, tails)
