"""Yardstick for the token rule on fresh float rows, V = 32,000: NumPy, row by row, as one writes it; 64 pairs in turn."""
import sys

try:
    import numpy as np
except ImportError:
    sys.exit(0)
from yardstick import serve

V, PAIRS = 32000, 64
rng = np.random.Generator(np.random.PCG64DXSM(42))
target = rng.exponential(size=(PAIRS, V))
draft = target * (0.27 + rng.exponential(size=(PAIRS, V)))
target = (target / target.sum(axis=1, keepdims=True)).astype(np.float32)
draft = (draft / draft.sum(axis=1, keepdims=True)).astype(np.float32)


def pick(weights):
    cdf = np.cumsum(weights, dtype=np.float64)
    return np.searchsorted(cdf, rng.random() * cdf[-1], side="right")


def rows():
    """A cumulative sum of the draft row, a test, and a cumulative sum of the residual after a rejection."""
    for t, d in zip(target, draft):
        token = pick(d)
        if rng.random() * d[token] >= t[token]:
            token = pick(np.maximum(t - d, 0))
    return PAIRS


serve(rows)
