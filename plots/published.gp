# Printed speed-ups against what Theorem 3.8 gives for the printed alpha, K and c.
# title: Speed-ups as printed and as computed
# needs: speedup_theory printed_expected printed_measured
XTITLE = 'speed-up by Theorem 3.8 from the printed α, K and c'
YTITLE = 'printed speed-up'
eval panels(1, 1, 3, 20)
set size square
stats $DATA using 'speedup_theory':'printed_expected' nooutput
low = least(STATS_min_x, STATS_min_y); high = most(STATS_max_x, STATS_max_y)
stats $DATA using 'printed_measured' nooutput
low = least(low, STATS_min) - 0.1; high = most(high, STATS_max) + 0.1
set xrange [low:high]; set yrange [low:high]
set xtics xstep(high - low)
set ytics ystep(high - low)
plot x with lines linecolor rgb FAINT dashtype 2 notitle, \
    $DATA using 'speedup_theory':'printed_expected' with points linecolor 1 pointtype 7 notitle, \
    $DATA using 'speedup_theory':'printed_measured' with points linecolor 2 pointtype 5 notitle
eval legend(0)
plot -1 notitle, \
    keyentry with lines linecolor rgb FAINT dashtype 2 title 'equal', \
    keyentry with points linecolor 1 pointtype 7 title 'expected, as printed', \
    keyentry with points linecolor 2 pointtype 5 title 'measured, as printed'
unset multiplot
