# SPDX-License-Identifier: GPL-3.0-or-later
"""The formula quoted for the optimal acceptance of K iid drafts, against that optimum.

Counts of 300 random pairs: above it, below it, equal.
"""

from fractions import Fraction as F
import random
from single import *

rng = random.Random(3)
over = under = eq = 0
ex = None
for _ in range(300):
    V = rng.choice([2, 3, 4])
    K = rng.choice([2, 3])
    t = rnd_dist(V, rng)
    d = rnd_dist(V, rng)
    f = sum(t[x] * (1 - (1 - min(d[x] / t[x], F(1))) ** K) for x in range(V))
    o = prefix_opt_iid(t, d, K)
    if f > o:
        over += 1
        ex = ex or (t, d, K, f, o)
    elif f < o:
        under += 1
    else:
        eq += 1
print(
    "formula>OPT",
    over,
    "<OPT",
    under,
    "=",
    eq,
    ex and (list(map(float, ex[0])), list(map(float, ex[1])), ex[2], float(ex[3]), float(ex[4])),
)
