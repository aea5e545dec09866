# Tokens per round over K, a curve of theory for each prescribed alpha.
# title: Drafts of a prescribed acceptance rate
# x: K
# y: emitted
# by: alpha
