# Numbers called the acceptance rate, against K, and tokens per round predicted from a wrong one.
# title: Four numbers called the acceptance rate
# row: K
# needs: K alpha_mle wilson_low wilson_high accepted_over_drafted emitted_over_K1
# needs: emitted_true emitted_if_mistaken
# names: alpha
n = |alpha_name|
stats $DATA using 'K' nooutput
of(i) = column('alpha') == i ? column('K') : NaN
eval panels_apart(0)
eval panels(1, 2, n + 4, 22)
unset title
set offsets graph 0.04, graph 0.04, graph 0.05, 0
set xlabel xwrap('draft length K (tokens)')
set ylabel ywrap('estimate')
set xtics whole_step(most(STATS_max - STATS_min, 1))
set yrange [*<0:1<*]
plot for [i=1:n] $DATA using (of(i)):'alpha_mle':'wilson_low':'wilson_high' with yerrorbars \
    linecolor i pointtype 7 notitle, \
    for [i=1:n] $DATA using (of(i)):'accepted_over_drafted' with linespoints \
        linecolor i dashtype 2 pointtype 4 notitle, \
    for [i=1:n] $DATA using (of(i)):'emitted_over_K1' with linespoints linecolor i dashtype 3 \
        pointtype 8 notitle
set ylabel ywrap('tokens per round')
set yrange [*<0:*]
plot for [i=1:n] $DATA using (of(i)):'emitted_true' with linespoints linecolor i \
    pointtype 7 notitle, \
    for [i=1:n] $DATA using (of(i)):'emitted_if_mistaken' with linespoints \
        linecolor i dashtype 2 pointtype 4 notitle
eval legend(0)
plot -1 notitle, \
    for [i=1:n] keyentry with lines linecolor i linewidth 3 title sprintf('α = %g', \
        alpha_value[i]), \
    keyentry with points linecolor rgb 'black' pointtype 7 title 'accepted/tested = α', \
    keyentry with linespoints linecolor rgb 'black' dashtype 2 pointtype 4 \
        title 'accepted/drafted', \
    keyentry with linespoints linecolor rgb 'black' dashtype 3 pointtype 8 title 'emitted/(K+1)', \
    keyentry with linespoints linecolor rgb 'black' pointtype 7 title 'right: true'
unset multiplot
