# Time of a pass of n tokens relative to the shortest pass, for each kind of hardware.
# title: Roofline: a pass reads the weights once
# row: n_tokens
# needs: n_tokens time_ms
# names: hardware
n = |hardware_name|
array ONE[n]
longest = 0; slowest = 1
label(i) = sprintf('%s, shortest: %.3g ms', hardware_name[i], ONE[i])
do for [i=1:n] {
    stats $DATA using (column('hardware') == i && column('time_ms') > 0 ? column('time_ms') \
        : NaN) nooutput
    ONE[i] = found(0) > 0 ? STATS_min : 1
    if (found(0) > 0) { slowest = most(slowest, STATS_max / STATS_min) }
    longest = most(longest, strlen(label(i)))
}
XTITLE = 'tokens in a pass'
YTITLE = 'time of a pass relative to the shortest'
stats $DATA using (column('n_tokens') > 0 ? column('n_tokens') : NaN) nooutput
if (found(0) == 0) { eval fail('no row has n_tokens above 0') }
eval panels(1, 1, n, longest)
eval log_tics_2('x', STATS_min, STATS_max, across / 5)
eval log_tics_2('y', 1, slowest, down / LINE)
plot for [i=1:n] $DATA using (column('hardware') == i && column('n_tokens') > 0 \
    ? column('n_tokens') : NaN):(column('time_ms') / ONE[i]) \
    with linespoints linecolor i pointtype point(i) pointsize MARK * nested(i, n) \
    linewidth nested(i, n) notitle
eval legend(0)
plot -1 notitle, \
    for [i=1:n] keyentry with linespoints linecolor i pointtype point(i) title label(i)
unset multiplot
