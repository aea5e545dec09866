# Tokens per round against K on rows of real models: exact, iid formula, simulated.
# title: Rows along a text
# x: K
# y: emitted emitted_iid
# lines: emitted_iid
# labels: simulated, iid formula
