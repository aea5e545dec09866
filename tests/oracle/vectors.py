# SPDX-License-Identifier: GPL-3.0-or-later
"""Known acceptances of multi-draft rules for two pairs of rows, as fractions."""

from single import *

# The first pair.
p = [F(5, 10), F(3, 10), F(2, 10)]
q = [F(2, 10), F(5, 10), F(3, 10)]
for n in (1, 2, 3):
    Qi = Q_iid(q, n)
    print(
        "n",
        n,
        "NSS",
        acc_nss(p, q, n),
        "NaiveTree",
        acc_naive(p, q, n),
        "RRS",
        acc_rrs(p, q, n),
        float(acc_rrs(p, q, n)),
        "K-SEQ %.12f rho %.12f" % (acc_kseq(p, q, n), kseq_rho(p, q, n)),
        "OPTiid",
        prefix_opt_iid(p, q, n),
    )
    Qw = Q_wor(q, n)
    print(
        "n",
        n,
        "RRSw",
        evalsolver(rrsw, p, q, Qw)[1],
        float(evalsolver(rrsw, p, q, Qw)[1]),
        "OPTwor",
        prefix_opt_wor(p, q, n),
    )
print("SpecHub", evalsolver(spechub, p, q, Q_hub(q))[1])
# A second pair, from the paper of traversal verification.
p = [F(3, 10), F(4, 10), F(3, 10)]
q = [F(6, 10), F(3, 10), F(1, 10)]
P = norm(relu([a - b for a, b in zip(p, q)]))
print("traversal paper, RRSw: residual", P, "accept b", P[1] / (F(3, 4)))
for n in (1, 2):
    print(
        "n",
        n,
        "RRS",
        acc_rrs(p, q, n),
        "RRSw",
        evalsolver(rrsw, p, q, Q_wor(q, n))[1],
        "OPTwor",
        prefix_opt_wor(p, q, n),
        "OPTiid",
        prefix_opt_iid(p, q, n),
    )
