# Tokens per round against the budget of a tree, a panel for each pair.
# title: Draft trees for a budget
# x: budget
# y: emitted simulated
# lines: emitted
# labels: planned, simulated
# by: method
# facet: pair
# log: x
