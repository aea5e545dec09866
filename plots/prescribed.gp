# Tokens a round over K, a curve of theory for each prescribed alpha, simulation as points.
CSV = ARG1; OUT = ARG2; load ARG3
alphas = ''
stats CSV using (a = sprintf('%g', column('alpha')), \
    alphas = (strstrt(' ' . alphas . ' ', ' ' . a . ' ') ? alphas : alphas . ' ' . a), column('K')) nooutput
set xlabel 'draft length K (tokens)'
set ylabel 'tokens a round, E[n\_emitted]'
set xrange [STATS_min - 0.3 : STATS_max + 0.3]
set title 'Real text, drafts of a prescribed acceptance rate'
of(i) = abs(column('alpha') - real(word(alphas, i))) < 1e-9
plot for [i=1:words(alphas)] CSV using (of(i) ? column('K') : NaN):(column('emitted_theory')) \
        with lines linecolor i title 'α = ' . word(alphas, i), \
    for [i=1:words(alphas)] CSV using (of(i) ? column('K') : NaN):(column('emitted')):(2 * column('emitted_se')) \
        with yerrorbars linecolor i pointtype point(i) pointsize 0.8 notitle, \
    NaN with lines linecolor rgb 'black' title 'theory', \
    NaN with points linecolor rgb 'black' pointtype 7 pointsize 0.8 title 'simulated, ±2 s.e.'
