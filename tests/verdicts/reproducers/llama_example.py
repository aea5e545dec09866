# SPDX-License-Identifier: MIT
# llama.cpp's examples/speculative with temperature, at one position. It drafts the draft's
# most probable token, and judges it as if it had been drawn from the draft's row.
p, q = [0.6, 0.3, 0.1], [0.5, 0.4, 0.1]  # target and draft
token = q.index(max(q))
keep = min(1.0, p[token] / q[token])
more = [max(t - d, 0.0) for t, d in zip(p, q)]
emitted = [keep * (v == token) + (1.0 - keep) * m / sum(more) for v, m in enumerate(more)]
print("emitted", emitted, "target", p)
