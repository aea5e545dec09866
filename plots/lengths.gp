# Share of the speed-up that each length policy loses against the best fixed length.
# title: Speed-up that length policies of engines lose
# x: loss_fixed
# y: policy
# by: text
# facet: cost
