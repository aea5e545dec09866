# Tokens per round over K, a curve of theory for each correlation.
# title: Correlated acceptance
# x: K
# y: emitted
# by: rho alpha
