# Tokens per round against the nodes of a dynamic draft tree, a curve for each rule.
# title: Dynamic draft trees
# x: nodes
# y: emitted
# by: rule
# log: x
