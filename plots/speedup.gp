# Speed-up against K, a theoretical curve for each alpha and each c.
# title: Speed-up of speculative decoding
# x: K
# y: speedup
# by: alpha c
