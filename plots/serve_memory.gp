# Requests per second against the blocks of the KV cache, a colour for each K, with upper bounds.
# title: Capacity with a limited KV cache
# x: blocks
# y: capacity capacity_most
# lines: capacity_most
# labels: simulated, upper bound
# by: K
# facet: alpha
# log: xy
