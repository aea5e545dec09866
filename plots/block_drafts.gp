# Chance that a draft's first tokens are all accepted, for each drafter, with bounds.
# title: Ideal parallel drafters
# x: offset
# y: tail tail_most
# lines: tail_most
# labels: attained, bound
# by: drafter
# facet: name
