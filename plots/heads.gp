# Tokens per round of draft heads: chains and static trees, at temperatures 1 and 0.
# title: Tokens per round of draft heads
# x: name
# y: tokens_T1 tree60_T1 tokens_T0 tree60_T0
# labels: chain at T = 1, tree of 60 at T = 1, chain at T = 0, tree of 60 at T = 0
