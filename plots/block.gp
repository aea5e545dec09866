# Tokens per round against K, a colour for each draft, a line style for each rule.
# title: Rules that judge a whole block
# x: K
# y: emitted
# by: draft_order rule
