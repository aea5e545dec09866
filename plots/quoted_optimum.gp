# An expression quoted as optimal, and the true optimum, against the number of drafts.
# title: Acceptance quoted for SpecTr-GBV, and the optimum
# x: n
# y: optimal quoted
# lines: optimal
# labels: optimum, quoted
# by: V
