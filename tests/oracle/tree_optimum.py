# SPDX-License-Identifier: GPL-3.0-or-later
"""Greedy trees: what traversal, univer and token-rest keep in a round, and the most possible.

The most is a linear program over all rules that are lossless for one round and go on from the
target: k(tree, v) is the chance that node v is kept, e(s, y) the mass that is kept up to s and
corrected to y, and of all that is kept at s or below it the share t(y | s) goes on with y.
"""

from fractions import Fraction as F
from itertools import product
import random

import numpy as np
from scipy.optimize import linprog


class Pair:
    """Rows of target and draft after each text; widths: children of a node, by level."""

    def __init__(self, target, draft, widths):
        self.target, self.draft, self.widths = target, draft, widths
        self.V = len(target[()])

    def children(self, text):
        """The chosen tokens, and the distribution of the drawn one."""
        row = self.draft[text]
        chosen = sorted(range(self.V), key=lambda x: (-row[x], x))[: self.widths[len(text)] - 1]
        rest = 1 - sum(row[x] for x in chosen)
        return chosen, [row[x] / rest if x not in chosen else row[x] * 0 for x in range(self.V)]


def kept(pair, drawn_last, text=(), reach=1):
    """Tokens kept below a node; the drawn child is judged first (traversal) or last (univer)."""
    if len(text) == len(pair.widths):
        return 0
    target = pair.target[text]
    chosen, law = pair.children(text)
    missed = sum(max(law[x] - reach * target[x], 0) for x in range(pair.V))
    total = 0
    for y in range(pair.V):
        if law[y] == 0:
            continue
        own = min(1, reach * target[y] / law[y])
        shares = [(x, (1 - own) * reach * target[x] / missed if own < 1 else 0) for x in chosen]
        shares.insert(len(shares) if drawn_last else 0, (y, own))
        left = 1
        for x, share in shares:
            if share > 1e-15:
                at = min(1, share / left)
                total += law[y] * left * (at + kept(pair, drawn_last, text + (x,), at))
                left -= share
    return total


def top_down(pair, text=()):
    if len(text) == len(pair.widths):
        return 0
    chosen, law = pair.children(text)
    target = pair.target[text]
    return sum(
        (target[x] if x in chosen else min(target[x], law[x])) * (1 + top_down(pair, text + (x,)))
        for x in range(pair.V)
    )


def trees(pair, text=()):
    """All trees below a node: their chances and nodes."""
    if len(text) == len(pair.widths):
        return [(1.0, [])]
    chosen, law = pair.children(text)
    found = []
    for y in range(pair.V):
        if law[y] == 0:
            continue
        tokens = chosen + [y]
        for parts in product(*(trees(pair, text + (x,)) for x in tokens)):
            chance, nodes = float(law[y]), []
            for x, (p, below) in zip(tokens, parts):
                chance *= p
                nodes += [text + (x,)] + below
            found.append((chance, nodes))
    return found


def optimum(pair):
    V, depth = pair.V, len(pair.widths)
    all_trees = trees(pair)
    texts = [s for n in range(depth + 1) for s in product(range(V), repeat=n)]
    kept_at = [(i, v) for i, (_, nodes) in enumerate(all_trees) for v in [()] + nodes]
    corrected = [(s, y) for s in texts if len(s) < depth for y in range(V)]
    column = {name: i for i, name in enumerate(kept_at + corrected)}
    gain = np.zeros(len(column))
    exactly = {s: np.zeros(len(column)) for s in texts}
    for i, v in kept_at:
        gain[column[i, v]] = all_trees[i][0] * len(v)
        exactly[v][column[i, v]] = all_trees[i][0]
    below = {s: sum(exactly[v] for v in texts if v[: len(s)] == s) for s in texts}
    rows, sums = [], []
    for i in range(len(all_trees)):
        rows.append(np.array([float(name[0] == i) for name in kept_at] + [0.0] * len(corrected)))
        sums.append(1.0)
    for s in texts:
        if len(s) == depth:
            continue
        balance = -exactly[s]
        for y in range(V):
            goes_on = below[s + (y,)] - float(pair.target[s][y]) * below[s]
            goes_on[column[s, y]] += 1.0
            balance[column[s, y]] += 1.0
            rows.append(goes_on)
        rows.append(balance)
        sums += [0.0] * (V + 1)
    return -linprog(-gain, A_eq=np.array(rows), b_eq=sums, method="highs").fun


def everywhere(row, depth):
    return {s: row for n in range(depth) for s in product(range(len(row)), repeat=n)}


def show(name, pair):
    numbers = top_down(pair), kept(pair, False), kept(pair, True)
    print(name, "token-rest %s, traversal %s, univer %s," % numbers, "most %.9f" % optimum(pair))


def dirichlet(V, rng):
    row = [rng.gammavariate(0.6, 1) + 1e-9 for _ in range(V)]
    return [x / sum(row) for x in row]


if __name__ == "__main__":
    t, d = [F(1, 2), F(3, 10), F(1, 5)], [F(1, 5), F(1, 2), F(3, 10)]
    for widths in (2, 2), (2, 1, 1):
        depth = len(widths)
        show("one pair, %s:" % (widths,), Pair(everywhere(t, depth), everywhere(d, depth), widths))

    equal, sure = [F(1, 2), F(1, 4), F(1, 4)], [F(1), F(0), F(0)]
    for after in (equal, sure), (sure, equal):
        target = {(): equal, (0,): after[0], (1,): after[1], (2,): after[1]}
        draft = {(): [F(3, 5), F(1, 5), F(1, 5)], (0,): equal, (1,): equal, (2,): equal}
        show("an order that gains:", Pair(target, draft, (2, 1)))

    rng = random.Random(1)
    for widths in (1, 1), (2, 2):
        numbers = []
        for _ in range(200):
            rows = [{s: dirichlet(3, rng) for s in everywhere([0] * 3, 2)} for _ in range(2)]
            pair = Pair(*rows, widths)
            numbers.append((top_down(pair), kept(pair, False), kept(pair, True), optimum(pair)))
        mean = np.mean(numbers, axis=0)
        both = np.array([n[3] - max(n[1:3]) for n in numbers])
        assert both.min() > -1e-8
        print(
            "200 random pairs, %s: means %.4f, %.4f, %.4f, most %.4f;" % (widths, *mean),
            "more than both orders on %d, at most by %.4f" % ((both > 1e-7).sum(), both.max()),
        )
