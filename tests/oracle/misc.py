# SPDX-License-Identifier: GPL-3.0-or-later
"""Exact output laws of wrong rules and policies, couplings, and estimators of alpha (6 s).

p or mb is the target, q or ms the draft. Parts have letters, which tests cite.
"""

from fractions import Fraction as F
from itertools import product
import random, math
from collections import defaultdict
from multi import Model, norm, relu, check, chain_eval, block_verify, token_verify, complete
from hsd import hsd
from single import rnd_dist


def tv(a, b, keys):
    return sum(abs(a.get(k, F(0)) - b(k)) for k in keys) / 2


# [Zhou26] on the example of [Sun25]: target (1/3, 2/3), draft (2/3, 1/3).
rng = random.Random(0)
mb = Model(2, rng)
ms = Model(2, rng)
for L in range(0, 4):
    for c in product(range(2), repeat=L):
        mb.c[c] = [F(1, 3), F(2, 3)]
        ms.c[c] = [F(2, 3), F(1, 3)]
for g in (2, 3):
    o, E = chain_eval(hsd, mb, ms, g)
    c = complete(o, mb, g + 1)
    print(
        "HSD g",
        g,
        "E",
        E,
        float(E),
        "block",
        chain_eval(block_verify, mb, ms, g)[1],
        "TV",
        float(tv(c, lambda x: mb.seq(x), list(product(range(2), repeat=g + 1)))),
    )


# (a) A policy that drops a drafted token x where q(x) is below a threshold.
def one_step(p, q, mode, thr):
    V = len(p)
    out = [F(0)] * V
    res = norm(relu([p[i] - q[i] for i in range(V)]))
    for x in range(V):
        if mode == "drop" and q[x] < thr:
            for j in range(V):
                out[j] += q[x] * p[j]
            continue
        a = min(F(1), p[x] / q[x])
        out[x] += q[x] * a
        if a < 1:
            for j in range(V):
                out[j] += q[x] * (1 - a) * res[j]
    return out


p = [F(5, 10), F(3, 10), F(2, 10)]
q = [F(2, 10), F(5, 10), F(3, 10)]
print(
    "keep:",
    one_step(p, q, "keep", 0) == p,
    " drop-if-q<0.25:",
    [float(x) for x in one_step(p, q, "drop", F(1, 4))],
    "vs",
    [float(x) for x in p],
)


# (b) The argmax as draft, verified as if it had been drawn from q.
def argmax_softq(p, q):
    V = len(p)
    x = max(range(V), key=lambda i: q[i])
    a = min(F(1), p[x] / q[x])
    out = [F(0)] * V
    out[x] += a
    res = norm(relu([p[i] - q[i] for i in range(V)]))
    for j in range(V):
        out[j] += (1 - a) * res[j]
    return out


print(
    "argmax draft + softmax-q test:",
    [float(x) for x in argmax_softq(p, q)],
    "target",
    [float(x) for x in p],
)


# (c) Lenience: accept with min(1, p/(l q)), residual max(0, p-q) or max(0, p - l q).
def leni(p, q, l, resl=False):
    V = len(p)
    out = [F(0)] * V
    res = norm(relu([p[i] - (l * q[i] if resl else q[i]) for i in range(V)]))
    for x in range(V):
        a = min(F(1), p[x] / (l * q[x])) if q[x] > 0 else F(1)
        out[x] += q[x] * a
        if a < 1:
            for j in range(V):
                out[j] += q[x] * (1 - a) * res[j]
    return out


for l in (F(1), F(1, 2), F(3, 10), F(1, 10)):
    o = leni(p, q, l)
    al = sum(min(p[i] / l, q[i]) for i in range(3))
    print(
        "lenience",
        l,
        "alpha",
        float(al),
        [float(x) for x in o],
        "max ratio",
        float(max(o[i] / p[i] for i in range(3))),
        "1/l",
        float(1 / l),
        "TV",
        float(sum(abs(o[i] - p[i]) for i in range(3)) / 2),
    )
# The guarantee, output at most p/l, for both residuals on random pairs.
r2 = random.Random(5)
bad = [0, 0]
for _ in range(3000):
    V = r2.choice([2, 3, 4])
    P = rnd_dist(V, r2)
    Q = rnd_dist(V, r2)
    l = F(r2.randint(1, 9), 10)
    for k, rl in enumerate((False, True)):
        try:
            o = leni(P, Q, l, rl)
        except TypeError:
            continue
        if any(o[i] > P[i] / l for i in range(V)):
            bad[k] += 1
print("lenience guarantee violations (res p-q, res p-lq):", bad)


# (d) K independent tests, the first accepted taken ([SunZ23] warns of it).
def indep(p, q, K):
    V = len(p)
    out = [F(0)] * V
    res = norm(relu([p[i] - q[i] for i in range(V)]))
    for t in product(range(V), repeat=K):
        pr = math.prod([q[i] for i in t], start=F(1))
        rem = F(1)
        for x in t:
            a = min(F(1), p[x] / q[x])
            out[x] += pr * rem * a
            rem *= 1 - a
        if res:
            for j in range(V):
                out[j] += pr * rem * res[j]
    return out


print("independent K=2:", [float(x) for x in indep(p, q, 2)])


# (e) Length policies: may the length depend on the token that is dropped?
def peek(mb, ms, rule):
    out = defaultdict(F)
    for X in product(range(mb.V), repeat=2):
        L = rule(X, ms)
        Y = X[:L]
        for s, v in token_verify(mb, ms, Y).items():
            out[s] += ms.seq(X) * v
    return out


rng = random.Random(9)
cnt = defaultdict(int)
for t in range(30):
    mb = Model(3, rng)
    ms = Model(3, rng)
    # A: keep x2 depending on x1 alone.
    A = lambda X, ms: 2 if ms(())[X[0]] > F(1, 3) else 1
    # B: drop x2 where its own probability is low.
    B = lambda X, ms: 2 if ms((X[0],))[X[1]] > F(1, 3) else 1
    # C: drop both where the probability of x1 is low.
    C = lambda X, ms: 2 if ms(())[X[0]] > F(1, 3) else 0
    for nm, rule in (
        ("A prefix-measurable", A),
        ("B peek at dropped x2", B),
        ("C peek at dropped x1", C),
    ):
        cnt[nm] += check(peek(mb, ms, rule), mb, 3)
print(dict(cnt), "of 30 lossless")


# (f) Agreement of Gumbel coupling and of weighted min-hash.
def gumbel(p, q):
    V = len(p)
    s = 0
    for i in range(V):
        if p[i] == 0 or q[i] == 0:
            continue
        s += 1 / (1 + sum(max(p[j] / p[i], q[j] / q[i]) for j in range(V) if j != i))
    return s


def wmh(p, q):
    return sum(min(a, b) for a, b in zip(p, q)) / sum(max(a, b) for a, b in zip(p, q))


r3 = random.Random(2)
mn = 9
for _ in range(2000):
    V = r3.choice([2, 3, 5, 8])
    P = rnd_dist(V, r3)
    Q = rnd_dist(V, r3)
    t = 1 - sum(min(a, b) for a, b in zip(P, Q))
    g = gumbel(P, Q)
    w = wmh(P, Q)
    assert w == (1 - t) / (1 + t) and w <= g <= 1 - t
# The same by sampling.
P = [0.5, 0.3, 0.2]
Q = [0.2, 0.5, 0.3]
R = random.Random(1)
N = 200000
c = 0
for _ in range(N):
    e = [-math.log(1 - R.random()) for _ in P]
    a = min(range(3), key=lambda i: e[i] / P[i])
    b = min(range(3), key=lambda i: e[i] / Q[i])
    c += a == b
print("gumbel formula", gumbel(P, Q), "MC", c / N, "WMH", wmh(P, Q), "1-TV", sum(map(min, P, Q)))
# (h) accepted/drafted, mistaken for alpha in (1 - a^(g+1)) / (1 - a).
for b in (0.6, 0.8, 0.9):
    for g in (4, 8, 12):
        EA = b * (1 - b**g) / (1 - b)
        ahat = EA / g
        true = (1 - b ** (g + 1)) / (1 - b)
        plug = (1 - ahat ** (g + 1)) / (1 - ahat)
        print(
            "beta",
            b,
            "gamma",
            g,
            "accepted/drafted",
            round(ahat, 3),
            "E true",
            round(true, 3),
            "plug-in",
            round(plug, 3),
            "1+k*ahat",
            round(1 + g * ahat, 3),
        )
