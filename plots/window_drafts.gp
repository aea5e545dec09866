# Tokens per round of drafts with a window by context, a curve for each window.
# title: Drafts with a window
# x: context
# y: emitted
# by: window
# log: x
