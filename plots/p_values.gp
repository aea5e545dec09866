# The share of p-values up to x, over x: an exact sampler's run along the diagonal, a biased one's rise at once.
CSV = ARG1; OUT = ARG2; load ARG3
rules = ''
stats CSV using (r = stringcolumn('rule'), \
    rules = (strstrt(' ' . rules . ' ', ' ' . r . ' ') ? rules : rules . ' ' . r), column('p')) nooutput
array N[words(rules)]
of(i) = stringcolumn('rule') eq word(rules, i) ? column('p') : NaN
do for [i=1:words(rules)] { stats CSV using (of(i)) nooutput; N[i] = STATS_records }
set xlabel 'p-value of a run'
set ylabel 'share of runs with a p-value up to x'
set xrange [-0.02:1]; set yrange [0:1.02]
set size square
set key outside right top
set title 'Losslessness, tested over seeds'
# A 99 % band of Kolmogorov and Smirnov around the diagonal, for the number of runs of the first rule.
band = 1.63 / sqrt(N[1])
plot '+' using 1:($1 - band):($1 + band) with filledcurves linecolor rgb '#eeeeee' title '99 % band if lossless', \
    x with lines linecolor rgb '#999999' dashtype 2 notitle, \
    for [i=1:words(rules)] CSV using (of(i)):(1.0 / N[i]) smooth cumulative \
        with steps linewidth 2 linecolor i noenhanced title word(rules, i)
