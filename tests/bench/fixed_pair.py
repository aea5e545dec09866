# SPDX-License-Identifier: GPL-3.0-or-later
"""Yardstick for the token rule on a fixed pair, V = 32,000: NumPy, 32768 steps at a time.

Cumulative sums are computed once.
"""

import sys

try:
    import numpy as np
except ImportError:
    sys.exit(0)
from yardstick import serve

N, V = 1 << 15, 32000
rng = np.random.Generator(np.random.PCG64DXSM(42))
target = np.arange(1, V + 1) ** -1.1
target /= target.sum()
draft = np.arange(3, V + 3) ** -1.0
draft /= draft.sum()
draft_cdf = np.cumsum(draft)
draft_cdf /= draft_cdf[-1]
residual_cdf = np.cumsum(np.maximum(target - draft, 0))
residual_cdf /= residual_cdf[-1]
accept = np.minimum(1, target / draft)


def cdf():
    """Draft by binary search, test, and correct the rejected tokens by another search."""
    token = np.searchsorted(draft_cdf, rng.random(N), side="right")
    rejected = np.flatnonzero(rng.random(N) >= accept[token])
    token[rejected] = np.searchsorted(residual_cdf, rng.random(rejected.size), side="right")
    return N


serve(cdf)
