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
set multiplot layout 1,words(alphas) title 'Rules of thumb against Theorem 3.8, c = 0.1' font ',15'
set key left top samplen 1.5 font ',11'
do for [p=1:words(alphas)] {
    set title 'α = ' . word(alphas, p)
    if (p == 1) { set ylabel 'speed-up over plain decoding' } else { unset ylabel; unset key }
    plot for [i=1:words(rules)] CSV using (abs(column('alpha') - real(word(alphas, p))) < 1e-9 ? column('K') : NaN):(column(word(rules, i))) \
            with linespoints linecolor rgb colour(i + 1) pointtype point(i + 1) pointsize 0.6 dashtype 2 noenhanced title word(rules, i), \
        CSV using (abs(column('alpha') - real(word(alphas, p))) < 1e-9 ? column('K') : NaN):(column('speedup_theory')) \
            with lines linewidth 2 linecolor rgb colour(1) title 'Theorem 3.8', \
        CSV using (abs(column('alpha') - real(word(alphas, p))) < 1e-9 ? column('K') : NaN):(column('speedup')):(2 * column('speedup_se')) \
            with yerrorbars linecolor rgb colour(1) pointtype 7 pointsize 0.7 title 'simulated, ±2 s.e.'
}
unset multiplot
