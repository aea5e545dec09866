# Speed-up against the configured draft length, a curve for each length policy.
# title: Length policies
# x: K
# y: speedup
# by: policy c
