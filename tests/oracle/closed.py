# SPDX-License-Identifier: GPL-3.0-or-later
"""Closed forms of tokens per round, rounds per text and speed-up, each by a second route.

Acceptance is a, the draft length g, the draft's cost c. Prints in about 3 s.
"""

import math
import random
from fractions import Fraction as F


def stats(a, g):
    """Mean and variance of accepted tokens: capped geometric, acceptance a, draft length g."""
    pm = [a**k * (1 - a) for k in range(g)] + [a**g]
    m = sum(k * p for k, p in enumerate(pm))
    v = sum(k * k * p for k, p in enumerate(pm)) - m * m
    return m, v


for a in (0.3, 0.7, 0.95):
    for g in (1, 3, 7):
        m, v = stats(a, g)
        assert abs(m - a * (1 - a**g) / (1 - a)) < 1e-12
        vf = (a - (2 * g + 1) * a ** (g + 1) * (1 - a) - a ** (2 * g + 2)) / (1 - a) ** 2
        assert abs(v - vf) < 1e-12, (v, vf)
        z = 0.6
        pg = (1 - a) * (1 - (a * z) ** g) / (1 - a * z) + (a * z) ** g
        assert (
            abs(
                pg
                - sum(p * z**k for k, p in enumerate([a**k * (1 - a) for k in range(g)] + [a**g]))
            )
            < 1e-12
        )
print("mean/var/pgf ok")
for a, g in ((F(4, 5), 5), (F(27, 100), 4), (F(7, 10), 3), (F(4, 5), 4)):
    m, v = stats(a, g)
    print("stats", a, g, "mean", m, float(m), "variance", v, float(v))


# Rounds until L tokens: recursion, renewal approximation, and L over the mean.
def exact_steps(a, g, L):
    pm = [a**k * (1 - a) for k in range(g)] + [a**g]
    E = [0.0] * (L + 1)
    for l in range(1, L + 1):
        E[l] = 1 + sum(p * (E[l - (k + 1)] if l - (k + 1) > 0 else 0) for k, p in enumerate(pm))
    return E[L]


for a, g in ((0.8, 5), (0.6, 3)):
    m, v = stats(a, g)
    mu = m + 1
    for L in (50, 128):
        print(
            "steps exact",
            round(exact_steps(a, g, L), 6),
            "renewal",
            round((L - 1) / mu + (v + mu * mu + mu) / (2 * mu * mu), 6),
            "naive L/mu",
            round(L / mu, 4),
        )


# The draft length of the largest speed-up: Lambert W, a grid, and the marginal rule.
def Wm1(x):
    w = -2.0 if x > -0.25 else -1 - math.sqrt(2 * (1 + math.e * x))
    if x > -1e-1:
        w = math.log(-x) - math.log(-math.log(-x))
    for _ in range(100):
        e = math.exp(w)
        f = w * e - x
        w -= f / (e * (w + 1) - (w + 2) * f / (2 * w + 2))
    return w


def S(a, c, g):
    return (1 - a ** (g + 1)) / ((1 - a) * (1 + c * g))


for a, c in ((0.8, 0.05), (0.9, 0.02), (0.6, 0.1), (0.75, 0.02)):
    A = -math.log(a)
    u = -Wm1(-math.exp(-(1 + A * (1 - c) / c)))
    x = (u - 1) / A - (1 - c) / c
    gs = x - 1
    best = max(range(1, 400), key=lambda g: S(a, c, g))
    cont = max((S(a, c, g / 1000), g / 1000) for g in range(1, 60000))[1]

    g = 0
    while a ** (g + 1) * (1 + c * g) > c * (1 - a ** (g + 1)) / (1 - a):
        g += 1
    print(
        "a,c",
        a,
        c,
        "lambert",
        round(gs, 3),
        "cont",
        cont,
        "int best",
        best,
        "marginal rule",
        g,
        "S",
        round(S(a, c, best), 4),
    )
# [Leviathan23] Table 1, then Tables 2 and 4.
for a, g in ((0.6, 2), (0.7, 3), (0.8, 2), (0.8, 5), (0.9, 2), (0.9, 10)):
    E = (1 - a ** (g + 1)) / (1 - a)
    print(a, g, "ops", round((g + 1) / E, 2), "speed", round(E, 2))
rows = [
    ("EnDe small", 7, 0.75, 0.02, 3.2, 3.4),
    ("EnDe base", 7, 0.8, 0.04, 3.3, 2.8),
    ("EnDe large", 7, 0.82, 0.11, 2.5, 1.7),
    ("EnDe small", 7, 0.62, 0.02, 2.3, 2.6),
    ("EnDe base", 5, 0.68, 0.04, 2.4, 2.4),
    ("EnDe large", 3, 0.71, 0.11, 2.0, 1.4),
    ("CNN small", 5, 0.65, 0.02, 2.4, 3.1),
    ("CNN base", 5, 0.73, 0.04, 2.6, 3.0),
    ("CNN large", 3, 0.74, 0.11, 2.0, 2.2),
    ("CNN small", 5, 0.53, 0.02, 1.9, 2.3),
    ("CNN base", 3, 0.55, 0.04, 1.8, 2.2),
    ("CNN large", 3, 0.56, 0.11, 1.6, 1.7),
]
for n, g, a, c, ex, em in rows:
    print(n, g, a, c, "formula", round(S(a, c, g), 2), "paper Exp", ex, "Emp", em)
# [Leviathan23] appendix A.5: lenience at c = .015; the paper prints 2.5, 3.1, 3.6 and 5.0.
for a, t in ((0.62, 2.5), (0.71, 3.1), (0.76, 3.6), (0.84, 5.0)):
    b = max(range(1, 60), key=lambda g: S(a, 0.015, g))
    print("lenience", a, "best g", b, "S", round(S(a, 0.015, b), 2), "paper", t)
for a, t in ((0.75, 3.3), (0.8, 3.9), (0.87, 4.9)):
    print("lenience T=0 g=8", a, round(S(a, 0.015, 8), 2), t)
print("bigram .2 g3:", round(S(0.2, 0, 3), 3))


# The mean of the longest of b independent chains, and the same by sampling.
def look(a, g, b):
    return (g + 1) - sum((1 - a**i) ** b for i in range(1, g + 1))


R = random.Random(0)
a, g, b = 0.7, 5, 4
N = 200000
s = 0
for _ in range(N):
    m = 0
    for _ in range(b):
        k = 0
        while k < g and R.random() < a:
            k += 1
        m = max(m, k)
    s += m + 1
print("lookahead formula", look(a, g, b), "MC", s / N)


# Acceptance modulated by a Markov chain of two states, beside iid acceptance of the same mean.
def mm(P, al, pi, g):
    v = list(pi)
    E = 1.0
    for i in range(g):
        v = [v[s] * al[s] for s in range(2)]
        E += sum(v)
        v = [sum(v[s] * P[s][t] for s in range(2)) for t in range(2)]
    return E


for rho in (0, 0.5, 0.9):
    pi = (0.5, 0.5)
    P = [[0.5 + 0.5 * rho, 0.5 - 0.5 * rho], [0.5 - 0.5 * rho, 0.5 + 0.5 * rho]]
    print(
        "corr",
        rho,
        "E",
        round(mm(P, (0.95, 0.55), pi, 7), 3),
        "iid .75",
        round((1 - 0.75**8) / 0.25, 3),
    )
# Formulas in circulation that forget the bonus token.
a, c, k = 0.8, 0.1, 4
print(
    "no-bonus formula",
    round(a * (1 - a**k) / (1 - a) / (1 + k * c), 3),
    "Thm3.8",
    round(S(a, c, k), 3),
    "1+a(k-1)",
    1 + a * (k - 1),
    "1+a*k",
    1 + a * k,
    "E",
    round((1 - a ** (k + 1)) / (1 - a), 3),
)
