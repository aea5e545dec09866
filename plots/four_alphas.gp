# Left: the numbers called acceptance rate, over K. Right: tokens a round, true and as predicted from accepted/drafted
# taken for alpha.
CSV = ARG1; OUT = ARG2; load ARG3
alphas = ''
stats CSV using (a = sprintf('%g', column('alpha')), \
    alphas = (strstrt(' ' . alphas . ' ', ' ' . a . ' ') ? alphas : alphas . ' ' . a), column('K')) nooutput
of(p) = abs(column('alpha') - real(word(alphas, p))) < 1e-9 ? column('K') : NaN
set xlabel 'draft length K (tokens)'
set xrange [STATS_min - 0.5 : STATS_max + 0.5]
set multiplot layout 1,2 title 'What is called the acceptance rate' font ',15'
set key left top samplen 1.5 font ',11'
set ylabel 'estimate'
set yrange [0:1.5]
plot for [p=1:words(alphas)] CSV using (of(p)):(column('alpha_mle')):(column('wilson_low')):(column('wilson_high')) \
        with yerrorbars linecolor p pointtype 7 pointsize 0.7 title 'α = ' . word(alphas, p) . ', passed/tested (95 %)', \
    for [p=1:words(alphas)] CSV using (of(p)):(column('accepted_over_drafted')) \
        with linespoints linecolor p dashtype 2 pointtype 4 pointsize 0.7 title p == 1 ? 'accepted/drafted' : '', \
    for [p=1:words(alphas)] CSV using (of(p)):(column('emitted_over_K1')) \
        with linespoints linecolor p dashtype 3 pointtype 8 pointsize 0.7 title p == 1 ? 'emitted/(K+1)' : ''
set key left top
set ylabel 'tokens a round, E[n\_emitted]'
set yrange [0:*]
plot for [p=1:words(alphas)] CSV using (of(p)):(column('emitted_true')) \
        with linespoints linecolor p pointtype 7 pointsize 0.6 title 'α = ' . word(alphas, p), \
    for [p=1:words(alphas)] CSV using (of(p)):(column('emitted_if_mistaken')) \
        with linespoints linecolor p dashtype 2 pointtype 4 pointsize 0.6 title p == 1 ? 'from accepted/drafted' : ''
unset multiplot
