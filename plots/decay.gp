# Tokens per round against K, a theoretical curve for each decay.
# title: Acceptance that decays with the position in the draft
# x: K
# y: emitted
# by: decay alpha
