# Tokens per round over K, a curve of theory for each decay.
# title: Acceptance that decays with the position in the draft
# x: K
# y: emitted
# by: decay alpha
