# Tokens per round against K, a theoretical curve for each correlation.
# title: Correlated acceptance
# x: K
# y: emitted
# by: rho alpha
