# Speed-up over K, a curve of Theorem 3.8 for each alpha (and each c, on its own line style), simulation as points.
CSV = ARG1; OUT = ARG2; load ARG3
alphas = ''; costs = ''
stats CSV using (a = sprintf('%g', column('alpha')), c = sprintf('%g', column('c')), \
    alphas = (strstrt(' ' . alphas . ' ', ' ' . a . ' ') ? alphas : alphas . ' ' . a), \
    costs = (strstrt(' ' . costs . ' ', ' ' . c . ' ') ? costs : costs . ' ' . c), column('K')) nooutput
set xlabel 'draft length K (tokens)'
set ylabel 'speed-up over plain decoding'
set xrange [STATS_min - 0.3 : STATS_max + 0.3]
set title 'Speed-up of speculative decoding' . (words(costs) > 1 ? '' : ', c = ' . word(costs, 1))
set key outside right top
name(i, j) = 'α = ' . word(alphas, i) . (words(costs) > 1 ? ', c = ' . word(costs, j) : '')
at(i, j) = (abs(column('alpha') - real(word(alphas, i))) < 1e-9 && abs(column('c') - real(word(costs, j))) < 1e-9)
# The standard error of the speed-up is that of the tokens a round, over its time.
se(x) = 2 * column('emitted_se') * column('speedup') / column('emitted')
plot 1 with lines linecolor rgb '#999999' dashtype 2 notitle, \
    for [i=1:words(alphas)] for [j=1:words(costs)] CSV using (at(i,j) ? column('K') : NaN):(column('speedup_theory')) \
        with lines linecolor i dashtype j title name(i,j), \
    for [i=1:words(alphas)] for [j=1:words(costs)] CSV using (at(i,j) ? column('K') : NaN):(column('speedup')):(se(0)) \
        with yerrorbars linecolor i pointtype point(i) pointsize 0.8 notitle, \
    NaN with lines linecolor rgb 'black' title 'Theorem 3.8', \
    NaN with points linecolor rgb 'black' pointtype 7 pointsize 0.8 title 'simulated, ±2 s.e.'
