# Speed-up over K, a curve of theory for each alpha and each c.
# title: Speed-up of speculative decoding
# x: K
# y: speedup
# by: alpha c
