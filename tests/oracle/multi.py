# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains and trees of drafts, exactly: token, block, top-down and traversal verification.

mb is the target, ms the draft, rows as fractions. Run as a program, it asserts closed forms and
prints how often each rule is lossless, and the tokens that known trees keep (5 s).
"""

from fractions import Fraction as F
from itertools import product
import random, math
from collections import defaultdict
from single import rnd_dist, norm, relu


class Model:
    def __init__(s, V, rng, zeros=False):
        s.V = V
        s.rng = rng
        s.c = {}
        s.z = zeros

    def __call__(s, ctx):
        if ctx not in s.c:
            s.c[ctx] = rnd_dist(s.V, s.rng, s.z, D=8)
        return s.c[ctx]

    def seq(s, x, ctx=()):
        pr = F(1)
        for i in range(len(x)):
            pr *= s(ctx + x[:i])[x[i]]
        return pr


def complete(outdist, mb, L):
    """The law of the first L tokens when the target goes on after each sequence of outdist."""
    res = defaultdict(F)
    for s, pr in outdist.items():
        if pr == 0:
            continue
        for tail in product(range(mb.V), repeat=L - len(s)):
            res[s + tail] += pr * mb.seq(tail, s)
    return res


def check(outdist, mb, L):
    """Whether outdist, continued by the target, is exactly the target's law."""
    res = complete(outdist, mb, L)
    return all(res.get(x, F(0)) == mb.seq(x) for x in product(range(mb.V), repeat=L))


def token_verify(mb, ms, X):
    out = defaultdict(F)
    rem = F(1)
    g = len(X)
    for i in range(g):
        p = mb(X[:i])
        q = ms(X[:i])
        a = min(F(1), p[X[i]] / q[X[i]])
        if a < 1:
            r = norm(relu([p[j] - q[j] for j in range(mb.V)]))
            for j in range(mb.V):
                out[X[:i] + (j,)] += rem * (1 - a) * r[j]
        rem *= a
    p = mb(X)
    for j in range(mb.V):
        out[X + (j,)] += rem * p[j]
    return out


def block_verify(mb, ms, X):
    g = len(X)
    V = mb.V
    p = [F(1)]
    for i in range(g):
        p.append(min(F(1), p[-1] * mb(X[:i])[X[i]] / ms(X[:i])[X[i]]))

    def res(i):
        return relu([p[i] * mb(X[:i])[j] - ms(X[:i])[j] for j in range(V)])

    h = [None] * (g + 1)
    h[g] = p[g]
    for i in range(1, g):
        s = sum(res(i))
        d = s + 1 - p[i]
        h[i] = s / d if d > 0 else F(1)
    out = defaultdict(F)
    surv = F(1)
    for i in range(g, 0, -1):
        pr = surv * h[i]
        surv *= 1 - h[i]
        if pr > 0:
            d = mb(X) if i == g else norm(res(i))
            if d is None:
                d = mb(X[:i])
            for j in range(V):
                out[X[:i] + (j,)] += pr * d[j]
    if surv > 0:
        d = norm(res(0))
        for j in range(V):
            out[(j,)] += surv * d[j]
    return out


def chain_eval(fn, mb, ms, g):
    out = defaultdict(F)
    E = F(0)
    for X in product(range(mb.V), repeat=g):
        pr = ms.seq(X)
        if pr == 0:
            continue
        for s, v in fn(mb, ms, X).items():
            out[s] += pr * v
            E += pr * v * (len(s) - 1)
    return out, E


# A tree is a list of (token, subtree); siblings may repeat where drawn with replacement.
def gen_trees(ms, ctx, branch, wor):
    """All trees with their probabilities; branch: children per node at each depth."""
    if not branch:
        yield ([], F(1))
        return
    q = ms(ctx)
    k = branch[0]
    V = ms.V

    def rec(i, used, pr):
        if i == k:
            yield (), pr
            return
        rem = 1 - sum((q[u] for u in used), F(0)) if wor else F(1)
        for t in range(V):
            if wor and t in used:
                continue
            pt = q[t] / rem if rem > 0 else F(0)
            if pt == 0:
                continue
            for rest, prr in rec(i + 1, used | {t} if wor else used, pr * pt):
                yield (t,) + rest, prr

    for toks, pr in rec(0, frozenset(), F(1)):
        subs = [list(gen_trees(ms, ctx + (t,), branch[1:], wor)) for t in toks]
        for combo in product(*subs):
            pp = pr
            for c in combo:
                pp *= c[1]
            yield [(toks[i], combo[i][0]) for i in range(k)], pp


def topdown(mb, ms, ctx, tree, wor):
    """RRS or RRSw from the root down: the law of the emitted tokens."""
    out = defaultdict(F)
    V = mb.V
    P = list(mb(ctx))
    D = list(ms(ctx))
    rem = F(1)
    for t, sub in tree:
        a = min(F(1), P[t] / D[t])
        if a > 0:
            for s, v in topdown(mb, ms, ctx + (t,), sub, wor).items():
                out[s] += rem * a * v
        rem *= 1 - a
        if rem == 0:
            return out
        P = norm(relu([P[i] - D[i] for i in range(V)]))
        if wor:
            D[t] = F(0)
            nd = norm(D)
            D = nd if nd else D
    for j in range(V):
        out[ctx + (j,)] += rem * P[j]
    return out


def traversal(mb, ms, ctx, tree, wor, pctx=F(1)):
    """Traversal verification, descendants before their node: the law of the emitted tokens."""
    V = mb.V

    def process(ctx, tree, p, is_root):
        out = defaultdict(F)
        rem = F(1)
        Mb = list(mb(ctx))
        Ms = list(ms(ctx))
        for t, sub in tree:
            pc = min(F(1), p * Mb[t] / Ms[t]) if Ms[t] > 0 else F(0)
            o, r = process(ctx + (t,), sub, pc, False)
            for s, v in o.items():
                out[s] += rem * v
            rem *= r
            if rem == 0:
                return out, F(0)
            R = relu([p * Mb[j] - Ms[j] for j in range(V)])
            S = sum(R)
            newp = S / (S + 1 - p) if (S + 1 - p) > 0 else F(1)
            Mb = norm(R) if S > 0 else Mb
            p = newp
            if wor:
                Ms[t] = F(0)
                nd = norm(Ms)
                Ms = nd if nd else Ms
        a = F(1) if is_root else p
        for j in range(V):
            out[ctx + (j,)] += rem * a * Mb[j]
        return out, rem * (1 - a)

    o, r = process(ctx, tree, pctx, True)
    return o


def tree_eval(fn, mb, ms, branch, wor):
    out = defaultdict(F)
    E = F(0)
    for tr, pr in gen_trees(ms, (), branch, wor):
        if pr == 0:
            continue
        for s, v in fn(mb, ms, (), tr, wor).items():
            out[s] += pr * v
            E += pr * v * (len(s) - 1)
    return out, E


if __name__ == "__main__":
    rng = random.Random(7)
    st = defaultdict(int)
    # The example of [Sun25], section 2.
    mb = Model(2, rng)
    ms = Model(2, rng)
    for c in [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]:
        mb.c[c] = [F(1, 3), F(2, 3)]
        ms.c[c] = [F(2, 3), F(1, 3)]
    for nm, f in [("token", token_verify), ("block", block_verify)]:
        o, E = chain_eval(f, mb, ms, 2)
        print(nm, "E[tau]=", E, "lossless", check(o, mb, 3))
    for trial in range(40):
        V = rng.choice([2, 3])
        g = rng.choice([1, 2, 3])
        mb = Model(V, rng, zeros=(trial % 4 == 0))
        ms = Model(V, rng)
        ot, Et = chain_eval(token_verify, mb, ms, g)
        ob, Eb = chain_eval(block_verify, mb, ms, g)
        assert check(ot, mb, g + 1) and check(ob, mb, g + 1)
        # Closed forms of the accepted tokens.
        cf_t = sum(
            ms.seq(X)
            * math.prod(
                [min(F(1), mb(X[:l])[X[l]] / ms(X[:l])[X[l]]) for l in range(i)], start=F(1)
            )
            for i in range(1, g + 1)
            for X in product(range(V), repeat=i)
        )

        def pi(X):
            p = F(1)
            for l in range(len(X)):
                p = min(F(1), p * mb(X[:l])[X[l]] / ms(X[:l])[X[l]])
            return p

        cf_b = sum(ms.seq(X) * pi(X) for i in range(1, g + 1) for X in product(range(V), repeat=i))
        ub = sum(
            min(ms.seq(X), mb.seq(X)) for i in range(1, g + 1) for X in product(range(V), repeat=i)
        )
        assert cf_t == Et and cf_b == Eb and Eb >= Et and ub >= Eb
        st["block>token"] += Eb > Et
        st["ub>block"] += ub > Eb
        # On a chain, traversal is block verification.
        o, E = tree_eval(traversal, mb, ms, [1] * g, True)
        assert check(o, mb, g + 1) and E == Eb, (E, Eb)
    print(dict(st))
    st = defaultdict(int)
    for trial in range(24):
        V = rng.choice([2, 3])
        br = rng.choice([[2], [2, 1], [1, 2], [2, 2]])
        wor = rng.choice([True, False])
        if V == 3 and br == [2, 2]:
            br = [2, 1]
        if wor and V == 2 and rng.random() < 0.5:
            V = 3
        if V == 3 and br == [2, 2]:
            br = [1, 2]
        mb = Model(V, rng, zeros=(trial % 4 == 0))
        ms = Model(V, rng)
        o1, E1 = tree_eval(topdown, mb, ms, br, wor)
        o2, E2 = tree_eval(traversal, mb, ms, br, wor)
        L = len(br) + 1
        c1 = check(o1, mb, L)
        c2 = check(o2, mb, L)
        st["td_ok"] += c1
        st["tr_ok"] += c2
        st["tr>td"] += E2 > E1
        st["tr<td"] += E2 < E1
        st["eq"] += E1 == E2
        st["n"] += 1
        if not c2:
            print("traversal fails", V, br, wor)
    print(dict(st))

    # Accepted tokens of known trees: one pair of rows everywhere.
    class Fixed(Model):
        """The same row everywhere, but for the contexts in c."""

        def __init__(s, row):
            super().__init__(len(row), None)
            s.row = row

        def __call__(s, ctx):
            return s.c.get(ctx, s.row)

    mb = Fixed([F(5, 10), F(3, 10), F(2, 10)])
    ms = Fixed([F(2, 10), F(5, 10), F(3, 10)])
    for wor in (False, True):
        for br in ([2], [2, 2], [3, 1], [1, 2], [2, 1, 1]):
            print(
                "widths",
                br,
                "without replacement" if wor else "iid",
                "traversal",
                tree_eval(traversal, mb, ms, br, wor)[1],
                "top-down",
                tree_eval(topdown, mb, ms, br, wor)[1],
            )
    # Rows for which RRSw keeps more tokens than traversal; the root has rows of its own.
    mb = Fixed([F(0), F(2, 10), F(5, 10), F(3, 10)])
    ms = Fixed([F(6, 10), F(2, 10), F(2, 10), F(0)])
    mb.c[()] = [F(9, 10), F(1, 10), F(0), F(0)]
    ms.c[()] = [F(1), F(0), F(0), F(0)]
    print(
        "another root: RRSw",
        tree_eval(topdown, mb, ms, [1, 2], True)[1],
        "traversal",
        tree_eval(traversal, mb, ms, [1, 2], True)[1],
    )
