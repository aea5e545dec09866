# Rounds beyond L / E[n_emitted] over the length of the text: simulated, exact and by renewal theory.
CSV = ARG1; OUT = ARG2; load ARG3
pairs = ''
stats CSV using (a = sprintf('%g/%d', column('alpha'), column('K')), \
    pairs = (strstrt(' ' . pairs . ' ', ' ' . a . ' ') ? pairs : pairs . ' ' . a), column('tokens')) nooutput
set xlabel 'length of the text L (tokens)'
set ylabel 'rounds beyond L / E[n\_emitted]'
set logscale x 2
set xrange [STATS_min * 0.85 : STATS_max * 1.2]
set key outside right top
set title 'A text of L tokens takes more rounds than L / E[n\_emitted]'
of(i) = sprintf('%g/%d', column('alpha'), column('K')) eq word(pairs, i) ? column('tokens') : NaN
label(i) = (s = strstrt(word(pairs, i), '/'), 'α = ' . word(pairs, i)[1:s-1] . ', K = ' . word(pairs, i)[s+1:*])
plot for [i=1:words(pairs)] CSV using (of(i)):(column('rounds_exact') - column('rounds_naive')) \
        with lines linecolor i title label(i), \
    for [i=1:words(pairs)] CSV using (of(i)):(column('rounds_renewal') - column('rounds_naive')) \
        with lines linecolor i dashtype 3 notitle, \
    for [i=1:words(pairs)] CSV using (of(i)):(column('rounds_needed') - column('rounds_naive')): \
            (2 * column('rounds_se')) \
        with yerrorbars linecolor i pointtype point(i) pointsize 0.8 notitle, \
    NaN with lines linecolor rgb 'black' title 'exact', \
    NaN with lines linecolor rgb 'black' dashtype 3 title 'renewal theory', \
    NaN with points linecolor rgb 'black' pointtype 7 title 'simulated, ±2 s.e.'
