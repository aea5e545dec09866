# Tokens per round against the number of siblings, a panel for each way of drawing them.
# title: Siblings of a node: ways of drawing and judging them
# x: n
# y: emitted
# by: rule
# facet: siblings
