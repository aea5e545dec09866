# Time of a pass of n tokens over that of the shortest pass, for each kind of hardware.
# title: Roofline: a pass reads the weights once
# needs: n_tokens time_ms
# names: hardware
n = |hardware_name|
array ONE[n]
longest = 0
label(i) = sprintf('%s, shortest: %.3g ms', hardware_name[i], ONE[i])
do for [i=1:n] {
    stats $DATA using (column('hardware') == i && column('time_ms') > 0 ? column('time_ms') \
        : NaN) nooutput
    ONE[i] = found(0) > 0 ? STATS_min : 1
    longest = most(longest, strlen(label(i)))
}
XTITLE = 'tokens of a pass'
YTITLE = 'time of a pass over that of the shortest'
stats $DATA using (column('n_tokens') > 0 ? column('n_tokens') : NaN) nooutput
if (found(0) == 0) { eval fail('no row has n_tokens above 0') }
eval panels(1, 1, n, longest)
set logscale xy 2
plot for [i=1:n] $DATA using (column('hardware') == i && column('n_tokens') > 0 \
    ? column('n_tokens') : NaN):(column('time_ms') / ONE[i]) \
    with linespoints linecolor i pointtype point(i) notitle
eval legend(0)
plot -1 notitle, \
    for [i=1:n] keyentry with linespoints linecolor i pointtype point(i) title label(i)
unset multiplot
