# Tokens a round over K on rows of real models: exact over the places, by the iid formula, simulated.
CSV = ARG1; OUT = ARG2; load ARG3
stats CSV using (column('K')) nooutput
set xlabel 'draft length K (tokens)'
set ylabel 'tokens a round, E[n\_emitted]'
set xrange [STATS_min - 0.3 : STATS_max + 0.3]
set title 'Rows of real models along a text'
plot CSV using (column('K')):(column('emitted_theory')) with lines linecolor 1 title 'exact, over the places', \
    CSV using (column('K')):(column('emitted_iid')) with lines linecolor 2 dashtype 2 title 'iid formula at the mean', \
    CSV using (column('K')):(column('emitted')):(2 * column('emitted_se')) \
        with yerrorbars linecolor 1 pointtype point(1) pointsize 0.8 title 'simulated, ±2 s.e.'
