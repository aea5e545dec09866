# Error of tokens per round predicted at another draft length, and the width of sharp bounds.
# title: Predictions for another draft length, from rates by depth
# x: other_K
# y: simple_error bound_width
# labels: error of the simple rule, width of the bounds
# by: K
# facet: population
