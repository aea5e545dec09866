# Rules of thumb and Theorem 3.8 against K, a panel for each alpha.
# title: Rules of thumb against Theorem 3.8
# x: K
# y: speedup saved-passes all-positions no-bonus run-length free-draft
# labels: speed-up, saved-passes, all-positions, no-bonus, run-length, free-draft
# by: c
# facet: alpha
# log: y
