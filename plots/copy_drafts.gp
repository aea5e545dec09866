# Tokens per round of drafts without a model, a colour for each text and temperature.
# title: Drafts without a model
# x: emitted
# y: drafting
# by: text T
