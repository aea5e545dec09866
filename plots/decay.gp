# Tokens a round over K, a curve of theory for each decay, simulation as points.
CSV = ARG1; OUT = ARG2; load ARG3
rates = ''
stats CSV using (a = sprintf('%g', column('decay')), \
    rates = (strstrt(' ' . rates . ' ', ' ' . a . ' ') ? rates : rates . ' ' . a), column('K')) nooutput
set xlabel 'draft length K (tokens)'
set ylabel 'tokens a round, E[n\_emitted]'
set xrange [STATS_min - 0.3 : STATS_max + 0.3]
set title 'Acceptance that decays with the position in the draft'
of(i) = abs(column('decay') - real(word(rates, i))) < 1e-9
plot for [i=1:words(rates)] CSV using (of(i) ? column('K') : NaN):(column('emitted_theory')) \
        with lines linecolor i title 'decay ' . word(rates, i), \
    for [i=1:words(rates)] CSV using (of(i) ? column('K') : NaN):(column('emitted')):(2 * column('emitted_se')) \
        with yerrorbars linecolor i pointtype point(i) pointsize 0.8 notitle, \
    NaN with lines linecolor rgb 'black' title 'theory', \
    NaN with points linecolor rgb 'black' pointtype 7 pointsize 0.8 title 'simulated, ±2 s.e.'
