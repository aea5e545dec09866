# Share of the speed-up that each length policy loses against the best fixed length.
# title: Length policies of engines
# x: loss_fixed
# y: policy
# by: text
# facet: cost
