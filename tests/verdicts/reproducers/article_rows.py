# SPDX-License-Identifier: MIT
# Where no token of a draft is accepted, the text continues from the last row of the target, which
# follows all drafted tokens. One drafted token, two states: the row before it and the one after.
p, after = [0.6, 0.4], [0.1, 0.9]  # the target's rows before and after the drafted token
q = [0.3, 0.7]  # the draft
keep = [min(t, d) for t, d in zip(p, q)]
emitted = [k + (1.0 - sum(keep)) * a for k, a in zip(keep, after)]
print("emitted", [round(x, 3) for x in emitted], "target", p)
