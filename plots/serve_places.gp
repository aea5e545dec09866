# Speed-up over plain decoding against the number of requests, a line for each place of the draft.
# title: Where to draft for a batch
# x: slots
# y: speedup
# by: place
# log: x
