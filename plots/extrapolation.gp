# Error of tokens per round predicted at another draft length, and the width of sharp bounds.
# title: Tokens per round at another draft length, from one
# x: other_K
# y: simple_error bound_width
# labels: error of the simple rule, width of the bounds
# by: K
# facet: population
