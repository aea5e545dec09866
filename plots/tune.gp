# Predicted speed-up of the best set of sublayers so far, against the trials, for each search.
# title: Which sublayers to skip: the best set so far
# row: trial run
# needs: trial best_so_far run
# names: method
# A faint line is a run, a thick one is the mean of runs; an exhaustive search is drawn at its
# optimum.
n = |method_name|
is_all(i) = method_text[i] eq 'exhaustive'
of(i, x) = column('method') == i ? x : NaN
array RUNS[n]; array OPTIMUM[n]
last = 1; longest = 10
do for [i=1:n] {
    stats $DATA using (of(i, column('run'))) nooutput
    RUNS[i] = found(0) ? STATS_max : 0
    stats $DATA using (of(i, column('best_so_far'))) nooutput
    OPTIMUM[i] = found(0) ? STATS_max : NaN
    stats $DATA using (of(i, column('trial'))) nooutput
    if (found(0) && !is_all(i)) { last = most(last, STATS_max) }
    longest = most(longest, strlen(method_name[i]) + 15)
}
stats $DATA using 'best_so_far' nooutput
low = found(0) ? STATS_min : 0; high = found(0) ? STATS_max : 1
if (low == high) { low = low - 0.5; high = high + 0.5 }
XTITLE = 'sets tried'
YTITLE = 'predicted speed-up of the best set so far'
eval panels(1, 1, n, longest)
set xrange [0.5 : last + 0.5]
set yrange [low : high + 0.03 * (high - low)]
set xtics whole_step(last)
set ytics ystep(high - low)
runs(i) = is_all(i) ? 0 : least(RUNS[i], 50)
of_run(i, r) = column('run') == r && column('method') == i ? column('trial') : NaN
of_all(i) = is_all(i) ? NaN : of(i, column('trial'))
height(i) = is_all(i) ? OPTIMUM[i] : NaN
plot -1e9 notitle, \
    for [i=1:n] for [r=1:runs(i)] $DATA using (of_run(i, r)):'best_so_far' \
        with lines linecolor i linewidth 0.3 notitle, \
    for [i=1:n] $DATA using (of_all(i)):'best_so_far' smooth unique \
        with lines linecolor i linewidth 2.5 notitle, \
    for [i=1:n] height(i) with lines linecolor i dashtype 2 linewidth 2 notitle
eval legend(0)
plot -1 notitle, \
    for [i=1:n] keyentry with lines linecolor i linewidth 2 dashtype 1 + is_all(i) \
        title method_name[i] . (is_all(i) ? ', its optimum' : ', mean of runs')
unset multiplot
