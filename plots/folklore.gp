# Rules of thumb over K, beside Theorem 3.8 and the simulation, one panel for each alpha.
CSV = ARG1; OUT = ARG2; load ARG3
alphas = ''
stats CSV using (a = sprintf('%g', column('alpha')), \
    alphas = (strstrt(' ' . alphas . ' ', ' ' . a . ' ') ? alphas : alphas . ' ' . a), column('K')) nooutput
# Every column after the theorem's z is a rule of thumb.
after = HEAD[strstrt(HEAD, 'speedup_z,') + 10 : *]
rules = ''
do for [i=1:20] { if (strlen(after) > 0) { \
    comma = strstrt(after, ','); \
    rules = rules . ' ' . (comma ? after[1:comma-1] : after); \
    after = comma ? after[comma+1:*] : '' } }
set xlabel 'draft length K (tokens)'
set yrange [0:8]
set xrange [STATS_min - 0.5 : STATS_max + 0.5]
of(p) = abs(column('alpha') - real(word(alphas, p))) < 1e-9 ? column('K') : NaN
set multiplot layout 2,int((words(alphas) + 2) / 2) title 'Rules of thumb against Theorem 3.8, c = 0.1' font ',15'
set ylabel 'speed-up'
unset key
do for [p=1:words(alphas)] {
    set title 'α = ' . word(alphas, p)
    plot for [i=1:words(rules)] CSV using (of(p)):(column(word(rules, i))) \
            with linespoints linecolor i + 1 pointtype point(i + 1) pointsize 0.6 dashtype 2, \
        CSV using (of(p)):(column('speedup_theory')) with lines linewidth 2 linecolor 1, \
        CSV using (of(p)):(column('speedup')):(2 * column('speedup_se')) \
            with yerrorbars linecolor 1 pointtype 7 pointsize 0.7
}
# The last panel is the key.
unset title; unset border; unset tics; unset xlabel; unset ylabel; unset grid
set key center center
plot for [i=1:words(rules)] NaN with linespoints linecolor i + 1 pointtype point(i + 1) pointsize 0.6 dashtype 2 \
        noenhanced title word(rules, i), \
    NaN with lines linewidth 2 linecolor 1 title 'Theorem 3.8', \
    NaN with points linecolor 1 pointtype 7 pointsize 0.7 title 'simulated, ±2 s.e.'
unset multiplot
