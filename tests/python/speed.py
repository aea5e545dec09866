# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints rounds per processor second of `validate`, for a batched and a plain sampler.

    python3 tests/python/speed.py        with the package installed
"""

import time

import numpy as np
import speclab

from support import token_rule
from test_validation import verify_one

for name, sampler, batched in [
    ("batched NumPy", token_rule(np.random.default_rng(1)), True),
    ("plain Python", verify_one(np.random.default_rng(1)), False),
]:
    began = time.process_time()
    v = speclab.validate(sampler, batched=batched, only=["plain-4"],
                         draws=4e6 if batched else 2e5)
    print(f'{name}: {v.report["rounds"] / (time.process_time() - began):,.0f} rounds per second')
