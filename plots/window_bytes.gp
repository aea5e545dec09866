# Best speed-up of a draft with a window by context, a curve for each batch.
# title: Drafts with a window
# x: context
# y: best_speedup
# by: batch
# log: x
