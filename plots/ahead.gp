# Left: speed-up over K, of chains that are drafted ahead (solid; simulated as points) and beforehand (dashed), a colour and a kind
# of points for each c, for the largest alpha. Right: what drafting ahead gains, against (K+1) c: a colour for each alpha, a line
# for each c, with its points.
CSV = ARG1; OUT = ARG2; load ARG3
alphas = ''; costs = ''; greatest = 0
alpha(i) = has('alpha') ? column('alpha') : 0
stats CSV using ((column('K') + 1) * column('c')) nooutput
least = STATS_min; most = STATS_max
stats CSV using 'speedup_ahead' nooutput
high = STATS_max
stats CSV using (a = sprintf('%g', alpha(0)), c = sprintf('%g', column('c')), \
    greatest = (alpha(0) > greatest ? alpha(0) : greatest), \
    alphas = (strstrt(' ' . alphas . ' ', ' ' . a . ' ') ? alphas : alphas . ' ' . a), \
    costs = (strstrt(' ' . costs . ' ', ' ' . c . ' ') ? costs : costs . ' ' . c), column('K')) nooutput
first = STATS_min; last = STATS_max
is(x, word) = abs(x - real(word)) < 1e-9
shown(j) = abs(alpha(0) - greatest) < 1e-9 && is(column('c'), word(costs, j)) ? column('K') : NaN
gain_theory(x) = column('speedup_ahead_theory') / column('speedup_theory')
beforehand(theory) = theory == theory ? theory : column('speedup') # not all pairs have one
set multiplot layout 1,2 title 'Drafting the next chain while the target verifies this one' font ',13'
set xlabel 'draft length K (tokens)'
set ylabel 'speed-up over plain decoding'
set title has('alpha') ? sprintf('α = %g', greatest) : 'Ahead and beforehand'
set xrange [first - 0.3 : last + 0.3]
set yrange [0 : 1.45 * high]
if (last - first <= 12) { set xtics 1 }
set key left top maxrows 4 width -2
set lmargin 8; set rmargin 1; set bmargin 4
plot 1 with lines linecolor rgb '#999999' dashtype 2 notitle, \
    for [j=1:words(costs)] CSV using (shown(j)):(beforehand(column('speedup_theory'))) \
        with lines linecolor j dashtype 2 notitle, \
    for [j=1:words(costs)] CSV using (shown(j)):(column('speedup_ahead_theory')) with lines linecolor j notitle, \
    for [j=1:words(costs)] CSV using (shown(j)):(column('speedup_ahead')):(2 * column('speedup_ahead_se')) \
        with yerrorbars linecolor j pointtype point(j) pointsize 0.7 notitle, \
    for [j=1:words(costs)] NaN with linespoints linecolor j pointtype point(j) pointsize 0.7 title 'c = ' . word(costs, j), \
    NaN with lines linecolor rgb 'black' dashtype 2 title 'beforehand', \
    NaN with lines linecolor rgb 'black' title 'ahead', \
    NaN with points linecolor rgb 'black' pointtype 7 pointsize 0.7 title 'simulated'
set xlabel 'drafting ahead, (K+1) c, in verifications'
set ylabel 'speed-up, ahead over beforehand' offset 1,0
set title 'What it gains, ±2 s.e.'
set xrange [least / 1.3 : most * 1.3]
set xtics autofreq
set logscale x
set yrange [*:*]
set key left bottom maxrows 6 width 0
set arrow 1 from 1, graph 0 to 1, graph 1 nohead linecolor rgb '#999999' dashtype 3
of(i, j) = is(alpha(0), word(alphas, i)) && is(column('c'), word(costs, j)) && column('K') > 0 ? (column('K') + 1) * column('c') : NaN
plot 1 with lines linecolor rgb '#999999' dashtype 2 notitle, \
    for [i=1:words(alphas)] for [j=1:words(costs)] CSV using (of(i, j)):(gain_theory(0)) with lines linecolor i notitle, \
    for [i=1:words(alphas)] for [j=1:words(costs)] CSV using (of(i, j)):(column('gain')):(2 * column('gain_se')) \
        with yerrorbars linecolor i pointtype point(j) pointsize 0.7 notitle, \
    for [i=1:words(alphas)] NaN with lines linecolor i title has('alpha') ? 'α = ' . word(alphas, i) : 'by theory, where there is one'
unset multiplot
