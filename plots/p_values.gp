# Distribution of p-values for each rule; for a lossless rule it follows the diagonal.
# title: P-values of rules, tested over seeds
# needs: p
# names: rule
n = |rule_name|
longest = 24
do for [i=1:n] { longest = most(longest, strlen(rule_name[i])) }
array RUNS[n]
of(i) = column('rule') == i ? column('p') : NaN
do for [i=1:n] { stats $DATA using (of(i)) nooutput; RUNS[i] = found(0) }
XTITLE = 'p-value x of a run'
YTITLE = 'share of runs with a p-value up to x'
eval panels(1, 1, n + 1, longest)
set size square
set xrange [-0.02:1]; set yrange [0:1.02]
set xtics xstep(1)
set ytics ystep(1)
# The 99 % band of Kolmogorov and Smirnov, for the number of runs of the first rule.
band = 1.63 / sqrt(most(1, RUNS[1]))
plot '+' using 1:($1 - band):($1 + band) with filledcurves linecolor rgb '#e4e4e4' notitle, \
    x with lines linecolor rgb FAINT dashtype 2 notitle, \
    for [i=1:n] $DATA using (of(i)):(1.0 / RUNS[i]) smooth cumulative with steps linewidth 2 \
        linecolor i notitle
eval legend(0)
plot -1 notitle, \
    for [i=1:n] keyentry with lines linewidth 2 linecolor i title rule_name[i], \
    keyentry with boxes fillstyle solid linecolor rgb '#e4e4e4' title '99 % band if lossless'
unset multiplot
