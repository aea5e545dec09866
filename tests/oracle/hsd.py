# SPDX-License-Identifier: GPL-3.0-or-later
"""Hierarchical speculative decoding [Zhou26], exactly, with its last test capped and uncapped.

mb is the target, ms the draft. Counts the random pairs
for which the output law is the target's (2 s).
"""

from fractions import Fraction as F
from itertools import product
import random
from collections import defaultdict
from multi import Model, norm, relu, check, chain_eval, block_verify, token_verify


def hsd(mb, ms, X, final="uncapped"):
    V = mb.V
    g = len(X)
    R = [F(1)]
    for i in range(g):
        R.append(R[-1] * mb(X[:i])[X[i]] / ms(X[:i])[X[i]])
    mx = [F(1)]
    for i in range(1, g + 1):
        mx.append(max(mx[-1], R[i]))
    cap = [R[i] / mx[i] for i in range(g + 1)]  # == block p_i
    out = defaultdict(F)
    a = min(F(1), R[g]) if final == "uncapped" else cap[g]
    p = mb(X)
    for j in range(V):
        out[X + (j,)] += a * p[j]
    surv = 1 - a
    for k in range(g - 1, -1, -1):
        d = [cap[k] * mb(X[:k])[j] - ms(X[:k])[j] for j in range(V)]
        sp = sum(relu(d))
        sm = sum(relu([-x for x in d]))
        den = max(sp, sm)
        h = sp / den if den > 0 else F(1)
        if k == 0:
            h = F(1)  # stop_positions=0 if all step back
        if h * surv > 0:
            r = norm(relu(d)) or list(mb(X[:k]))
            for j in range(V):
                out[X[:k] + (j,)] += surv * h * r[j]
        surv *= 1 - h
    return out


if __name__ == "__main__":
    rng = random.Random(3)
    st = defaultdict(int)
    for t in range(60):
        V = rng.choice([2, 3])
        g = rng.choice([1, 2, 3])
        mb = Model(V, rng)
        ms = Model(V, rng)
        oh, Eh = chain_eval(hsd, mb, ms, g)
        oc, Ec = chain_eval(lambda a, b, X: hsd(a, b, X, "capped"), mb, ms, g)
        ob, Eb = chain_eval(block_verify, mb, ms, g)
        st[f"g{g} n"] += 1
        st[f"g{g} hsd-uncapped lossless"] += check(oh, mb, g + 1)
        st[f"g{g} hsd-capped lossless"] += check(oc, mb, g + 1)
        st[f"g{g} uncapped>block"] += Eh > Eb
        st[f"g{g} capped==block"] += Ec == Eb
    for k in sorted(st):
        print(k, st[k])
