# Mean overlap against temperature, a curve for each way of drafting.
# title: Temperature and overlap
# x: T
# y: alpha_mean
# by: regime
