# Tokens a round over the budget of nodes, a colour for each method: planned as a line, simulated as points.
CSV = ARG1; OUT = ARG2; load ARG3
methods = ''
stats CSV using (m = stringcolumn('method'), methods = (strstrt(' ' . methods . ' ', ' ' . m . ' ') ? methods : methods . ' ' . m), \
    column('budget')) nooutput
set logscale x 2
set xlabel 'budget: draft tokens of a tree, at most'
set ylabel 'tokens a round, E[n\_emitted]'
set xrange [STATS_min < 1 ? 0.8 : STATS_min * 0.8 : STATS_max * 1.25]
set title 'Draft trees for a budget: what a plan gains'
of(i) = stringcolumn('method') eq word(methods, i) && column('budget') > 0 ? column('budget') : NaN
measured = has('simulated')
plot for [i=1:words(methods)] CSV using (of(i)):(column('emitted')) with lines linecolor i linewidth 1.6 notitle, \
    for [i=1:measured ? words(methods) : 0] CSV using (of(i)):(column('simulated')):(2 * column('simulated_se')) \
        with yerrorbars linecolor i pointtype point(i) pointsize 0.8 notitle, \
    for [i=1:words(methods)] keyentry with linespoints linecolor i pointtype point(i) pointsize (measured ? 0.8 : 0) \
        title word(methods, i)
