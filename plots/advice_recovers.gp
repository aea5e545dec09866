# Share of 95 % intervals that contain the true alpha, for each scenario, a colour for each engine.
# title: 95 % intervals that contain the true alpha
# x: alpha_held
# y: scenario
# by: log
