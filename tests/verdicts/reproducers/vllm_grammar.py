# SPDX-License-Identifier: MIT
# vLLM with a grammar and probabilistic drafts, at one position. The grammar forbids token 2, so the
# scheduler marks such a draft as -1, and the kernel draws that position from the target.
p = [0.5, 0.5, 0.0]  # the target after the grammar's mask
q = [0.45, 0.05, 0.5]  # the draft
more = [max(t - d, 0.0) for t, d in zip(p, q)]
rejected = sum(d - min(t, d) for t, d in zip(p, q) if t > 0.0)  # by the token rule, of valid drafts
emitted = [
    min(t, d) + rejected * m / sum(more) + q[2] * t  # kept, corrected, and drawn where marked
    for t, d, m in zip(p, q, more)
]
print("emitted", [round(x, 3) for x in emitted], "target", p)
