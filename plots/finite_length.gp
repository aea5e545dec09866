# Extra rounds that a short text takes, beyond its length L divided by tokens per round, against L.
# title: Short texts take more rounds than L / (tokens per round)
# row: tokens
# needs: tokens rounds_needed rounds_se rounds_exact rounds_renewal rounds_naive
# names: alpha K
pairs = |alpha_name| * |K_name|
XTITLE = 'length L of the text (tokens)'
YTITLE = 'rounds - L / (tokens per round)'
stats $DATA using (column('tokens') > 0 ? column('tokens') : NaN) nooutput
if (found(0) == 0) { eval fail('no row has tokens above 0') }
eval panels(1, 1, pairs + 3, 16)
eval log_tics_2('x', STATS_min, STATS_max, across / 5)
of(i) = (column('alpha') - 1) * |K_name| + column('K') == i && column('tokens') > 0 \
    ? column('tokens') : NaN
label(i) = sprintf('α = %g, K = %g', alpha_value[(i - 1) / |K_name| + 1], \
    K_value[(i - 1) % |K_name| + 1])
plot for [i=1:pairs] $DATA using (of(i)):(column('rounds_exact') - column('rounds_naive')) \
    with lines linecolor i notitle, \
    for [i=1:pairs] $DATA using (of(i)):(column('rounds_renewal') - column('rounds_naive')) \
        with lines linecolor i \
        dashtype 3 notitle, \
    for [i=1:pairs] $DATA using (of(i)):(column('rounds_needed') - column('rounds_naive')) \
        :(2 * column('rounds_se')) \
        with yerrorbars linecolor i pointtype point(i) notitle
eval legend(0)
plot -1 notitle, \
    for [i=1:pairs] keyentry with linespoints linecolor i pointtype point(i) title label(i), \
    keyentry with lines linecolor rgb 'black' title 'exact', \
    keyentry with lines linecolor rgb 'black' dashtype 3 title 'renewal theory', \
    keyentry with points linecolor rgb 'black' pointtype 7 title 'simulated, ±2 s.e.'
unset multiplot
