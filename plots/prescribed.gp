# Tokens per round against K, a theoretical curve for each prescribed alpha.
# title: Drafts of a prescribed acceptance rate
# x: K
# y: emitted
# by: alpha
