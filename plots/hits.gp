# Share of rounds that find their chain drafted ahead, against K, a colour for each draft.
# title: Drafting ahead: share of rounds that find their chain
# x: K
# y: hit hit_iid
# lines: hit_iid
# labels: simulated, iid formula
# by: draft_order
# log: y
