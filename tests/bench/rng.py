# SPDX-License-Identifier: GPL-3.0-or-later
"""Yardstick for random numbers: NumPy's own PCG64DXSM."""

import sys

try:
    import numpy as np
except ImportError:
    sys.exit(0)
from yardstick import serve

N = 1 << 15
rng = np.random.Generator(np.random.PCG64DXSM(42))


def words32():
    rng.bit_generator.random_raw(N // 2).view(np.uint32)
    return N


serve(words32)
