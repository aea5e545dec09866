# Tokens per round against the draft's order, a panel for each text.
# title: Tokens per round by the order of the draft
# x: draft_order
# y: emitted emitted_iid
# lines: emitted_iid
# labels: simulated, iid formula
# by: K
# facet: text
