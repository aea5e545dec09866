# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that verify several drafts of one position, exactly: output law, acceptance and optimum.

p is the target, q the draft, t a tuple of drafts. The optimum comes from subsets and from a flow.
Run as a program, it asserts that closed forms, sums over tuples and optima agree (12 s).
"""

from fractions import Fraction as F
from itertools import product, permutations, combinations
import random, math
from collections import deque, defaultdict


def rnd_dist(V, rng, zeros=False, D=24):
    while True:
        w = [rng.randint(0 if zeros else 1, D) for _ in range(V)]
        if sum(w) > 0:
            break
    s = sum(w)
    return [F(x, s) for x in w]


def norm(v):
    s = sum(v)
    return [x / s for x in v] if s > 0 else None


def relu(v):
    return [x if x > 0 else F(0) for x in v]


def maxflow_opt(p, Q):  # Q: probability of each tuple of drafts; the largest Pr(output in tuple)
    V = len(p)
    cap = defaultdict(lambda: defaultdict(F))
    for t, pr in Q.items():
        if pr == 0:
            continue
        cap["s"][("d", t)] += pr
        for y in set(t):
            cap[("d", t)][("v", y)] = F(10)
    for y in range(V):
        cap[("v", y)]["t"] += p[y]
    flow = F(0)
    adj = defaultdict(set)
    for u in list(cap):
        for v in list(cap[u]):
            adj[u].add(v)
            adj[v].add(u)
    while True:
        par = {"s": None}
        dq = deque(["s"])
        while dq and "t" not in par:
            u = dq.popleft()
            for v in adj[u]:
                if v not in par and cap[u][v] > 0:
                    par[v] = u
                    dq.append(v)
        if "t" not in par:
            break
        v = "t"
        b = None
        while par[v] is not None:
            u = par[v]
            b = cap[u][v] if b is None else min(b, cap[u][v])
            v = u
        v = "t"
        while par[v] is not None:
            u = par[v]
            cap[u][v] -= b
            cap[v][u] += b
            v = u
        flow += b
    return flow


def subset_opt(p, Q):
    V = len(p)
    best = None
    arg = None
    for r in range(V + 1):
        for H in combinations(range(V), r):
            Hs = set(H)
            f = sum((p[i] for i in H), F(0)) - sum(
                (pr for t, pr in Q.items() if set(t) <= Hs), F(0)
            )
            if best is None or f < best:
                best = f
                arg = H
    return 1 + best, arg


def Q_iid(q, n):
    return {t: math.prod([q[i] for i in t], start=F(1)) for t in product(range(len(q)), repeat=n)}


def Q_wor(q, n):
    out = {}
    for t in permutations(range(len(q)), n):
        pr = F(1)
        rem = F(1)
        for i in t:
            if rem == 0:
                pr = F(0)
                break
            pr *= q[i] / rem
            rem -= q[i]
        if pr > 0:
            out[t] = pr
    return out


def prefix_opt_iid(p, q, n):
    order = sorted(range(len(p)), key=lambda i: (p[i] / q[i] if q[i] > 0 else F(10**9)))
    best = F(0)
    P = F(0)
    Qs = F(0)
    for i in order:
        P += p[i]
        Qs += q[i]
        best = min(best, P - Qs**n)
    return 1 + best


def prefix_opt_wor(p, q, n):
    Q = Q_wor(q, n)
    order = sorted(range(len(p)), key=lambda i: (p[i] / q[i] if q[i] > 0 else F(10**9)))
    best = F(0)
    H = set()
    P = F(0)
    for i in order:
        H.add(i)
        P += p[i]
        best = min(best, P - sum(pr for t, pr in Q.items() if set(t) <= H))
    return 1 + best


# Each rule maps the target p, the draft q and a tuple of drafts to the law of the output token.
def nss(p, q, t):
    return list(p)


def naive(p, q, t):
    V = len(p)
    x = t[0]
    a = min(F(1), p[x] / q[x])
    res = norm(relu([p[i] - q[i] for i in range(V)]))
    o = [F(0)] * V
    o[x] += a
    if a < 1:
        for i in range(V):
            o[i] += (1 - a) * res[i]
    return o


def rrs(p, q, t):  # recursive rejection sampling, drafts with replacement
    V = len(p)
    P = list(p)
    o = [F(0)] * V
    rem = F(1)
    for x in t:
        a = min(F(1), P[x] / q[x])
        o[x] += rem * a
        rem *= 1 - a
        if rem == 0:
            return o
        P = norm(relu([P[i] - q[i] for i in range(V)]))
    for i in range(V):
        o[i] += rem * P[i]
    return o


def rrsw(p, q, t):  # the same without replacement (EAGLE, Sequoia)
    V = len(p)
    P = list(p)
    D = list(q)
    o = [F(0)] * V
    rem = F(1)
    for x in t:
        a = min(F(1), P[x] / D[x])
        o[x] += rem * a
        rem *= 1 - a
        if rem == 0:
            return o
        P = norm(relu([P[i] - D[i] for i in range(V)]))
        D[x] = F(0)
        nD = norm(D)
        D = nD if nD else D
    for i in range(V):
        o[i] += rem * P[i]
    return o


def kseq_rho(p, q, k):
    beta = lambda r: sum(min(pi / r, qi) for pi, qi in zip(map(float, p), map(float, q)))
    f = lambda r: 1 - (1 - beta(r)) ** k - r * beta(r)
    lo, hi = 1.0, float(k)
    for _ in range(200):
        m = (lo + hi) / 2
        if f(m) > 0:
            lo = m
        else:
            hi = m
    return (lo + hi) / 2


def kseq(p, q, t, rho=None):
    k = len(t)
    V = len(p)
    p = list(map(float, p))
    q = list(map(float, q))
    rho = rho or kseq_rho(p, q, k)
    beta = sum(min(p[i] / rho, q[i]) for i in range(V))
    pacc = 1 - (1 - beta) ** k
    g = pacc / beta
    res = [max(0.0, p[i] - min(p[i] / rho, q[i]) * g) for i in range(V)]
    s = sum(res)
    o = [0.0] * V
    rem = 1.0
    for x in t:
        a = min(1.0, p[x] / (rho * q[x]))
        o[x] += rem * a
        rem *= 1 - a
    if s > 1e-15:
        for i in range(V):
            o[i] += rem * res[i] / s
    return o


def spechub(
    p, q, t
):  # t: the first draft is drawn from q; the second is the top token a, or from q without a after a
    V = len(p)
    a = max(range(V), key=lambda i: q[i])
    o = [F(0)] * V
    Qia = [q[i] if i != a else F(0) for i in range(V)]
    Qai = [q[a] * q[i] / (1 - q[a]) if i != a else F(0) for i in range(V)]
    acc1 = [min(F(1), p[i] / Qia[i]) if Qia[i] > 0 else F(0) for i in range(V)]
    p1 = [p[i] - Qia[i] * acc1[i] for i in range(V)]
    r1 = [Qia[i] * (1 - acc1[i]) for i in range(V)]
    acc2 = [min(F(1), p1[i] / Qai[i]) if Qai[i] > 0 else F(0) for i in range(V)]
    p2 = [p1[i] - Qai[i] * acc2[i] for i in range(V)]
    r2 = [Qai[i] * (1 - acc2[i]) for i in range(V)]
    pa = p[a]
    R2 = sum(r2)
    R1 = sum(r1)
    aa2 = min(F(1), pa / R2) if R2 > 0 else F(0)
    pa2 = pa - R2 * aa2
    aa1 = min(F(1), pa2 / R1) if R1 > 0 else F(0)
    pa3 = pa2 - R1 * aa1
    p2 = list(p2)
    p2[a] = pa3
    res = norm(p2)
    if t[1] == a:
        i = t[0]
        o[i] += acc1[i]
        rem = 1 - acc1[i]
        o[a] += rem * aa1
        rem *= 1 - aa1
    else:
        i = t[1]
        o[i] += acc2[i]
        rem = 1 - acc2[i]
        o[a] += rem * aa2
        rem *= 1 - aa2
    if rem > 0:
        for j in range(V):
            o[j] += rem * res[j]
    return o


def Q_hub(q):
    V = len(q)
    a = max(range(V), key=lambda i: q[i])
    Q = {}
    for i in range(V):
        if i == a:
            continue
        Q[(i, a)] = q[i]
        Q[(a, i)] = q[a] * q[i] / (1 - q[a])
    return Q


def evalsolver(f, p, q, Q):
    V = len(p)
    out = [0] * V
    acc = 0
    for t, pr in Q.items():
        if pr == 0:
            continue
        o = f(p, q, t)
        for i in range(V):
            out[i] += pr * o[i]
        acc += pr * sum(o[i] for i in set(t))
    return out, acc


# Acceptances in closed form (Thomas et al., arXiv 2602.16994, appendix C).
def acc_nss(p, q, k):
    return sum(p[t] * (1 - (1 - q[t]) ** k) for t in range(len(p)))


def acc_naive(p, q, k):
    return sum(min(a, b) for a, b in zip(p, q)) + sum(
        max(a - b, 0) * (1 - (1 - b) ** (k - 1)) for a, b in zip(p, q)
    )


def acc_rrs(p, q, k):
    P = list(p)
    prej = F(1)
    m = [F(1)] * len(p)
    for _ in range(k):
        r = sum(min(a, b) for a, b in zip(P, q))
        prej *= 1 - r
        if r == 1:
            return F(1)
        m = [mm * (1 - max(b - a, 0) / (1 - r)) for mm, a, b in zip(m, P, q)]
        P = norm(relu([a - b for a, b in zip(P, q)]))
    return (1 - prej) + prej * sum(P[t] * (1 - m[t]) for t in range(len(p)))


def acc_kseq(p, q, k):
    p = list(map(float, p))
    q = list(map(float, q))
    rho = kseq_rho(p, q, k)
    beta = sum(min(a / rho, b) for a, b in zip(p, q))
    pacc = 1 - (1 - beta) ** k
    g = pacc / beta
    res = [max(0, a - min(a / rho, b) * g) for a, b in zip(p, q)]
    s = sum(res)
    if s < 1e-15 or beta >= 1 - 1e-15:
        return pacc
    r = [max(0, b - a / rho) / (1 - beta) for a, b in zip(p, q)]
    return pacc + (1 - pacc) * sum(x / s * (1 - (1 - y) ** k) for x, y in zip(res, r))


if __name__ == "__main__":
    rng = random.Random(1)
    ex = defaultdict(int)
    worst = {}
    for trial in range(60):
        V = rng.choice([3, 4])
        n = rng.choice([2, 3])
        p = rnd_dist(V, rng, zeros=(trial % 3 == 0))
        q = rnd_dist(V, rng)
        Qi = Q_iid(q, n)
        Qw = Q_wor(q, n)
        for name, f, Q, exact in [
            ("nss", nss, Qi, 1),
            ("naive", naive, Qi, 1),
            ("rrs", rrs, Qi, 1),
            ("rrsw", rrsw, Qw, 1),
            ("kseq", kseq, Qi, 0),
        ]:
            out, acc = evalsolver(f, p, q, Q)
            ok = out == p if exact else max(abs(float(a) - float(b)) for a, b in zip(out, p)) < 1e-9
            assert ok, (name, p, q, out)
            ex[name] += 1
            opt = maxflow_opt(p, Q)
            assert float(acc) <= float(opt) + 1e-9
            ratio = float(acc) / float(opt) if opt > 0 else 1
            worst[name] = min(worst.get(name, 9), ratio)
        so, _ = subset_opt(p, Qi)
        assert so == maxflow_opt(p, Qi)
        assert so == prefix_opt_iid(p, q, n), ("iid prefix", p, q, n)
        sw, _ = subset_opt(p, Qw)
        assert sw == maxflow_opt(p, Qw)
        if sw != prefix_opt_wor(p, q, n):
            ex["wor-prefix-mismatch"] += 1
        else:
            ex["wor-prefix-ok"] += 1
        ex["wor>=iid"] += sw >= so
        assert acc_nss(p, q, n) == evalsolver(nss, p, q, Qi)[1]
        assert acc_naive(p, q, n) == evalsolver(naive, p, q, Qi)[1]
        assert acc_rrs(p, q, n) == evalsolver(rrs, p, q, Qi)[1]
        assert abs(acc_kseq(p, q, n) - evalsolver(kseq, p, q, Qi)[1]) < 1e-9
        # hub
        if len(set(q)) == len(q):
            Qh = Q_hub(q)
            out, acc = evalsolver(spechub, p, q, Qh)
            assert out == p
            a = max(range(V), key=lambda i: q[i])
            cf = p[a] + sum(min(p[i], q[i] / (1 - q[a])) for i in range(V) if i != a)
            assert acc == cf == maxflow_opt(p, Qh)
            ex["hub"] += 1
            if n == 2:
                ex["hub>rrsw"] += acc > evalsolver(rrsw, p, q, Qw)[1]
                ex["hub<rrsw"] += acc < evalsolver(rrsw, p, q, Qw)[1]
                ex["hub>optwor"] += acc > sw
                ex["hub<optwor"] += acc < sw
    print(dict(ex))
    print("worst ratio to optimum of same draft dist:", worst)
