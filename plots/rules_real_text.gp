# Tokens per round of every rule on text, a colour for each kind of draft.
# title: Rules on text
# x: emitted
# y: rule
# by: kind text
