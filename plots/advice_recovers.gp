# Share of 95 % intervals that hold the true alpha, for each scenario, a colour for each engine.
# title: 95 % intervals for alpha that hold the truth
# x: alpha_held
# y: scenario
# by: log
