# Speed-up against K with and without drafting ahead, and the gain of drafting ahead.
# title: Drafting the next chain while the target verifies this one
# row: K alpha
# needs: K speedup speedup_ahead gain
# names: c
# may use: alpha speedup_theory speedup_ahead_theory speedup_ahead_se gain_se
# A colour for each c, a mark for each alpha. Left: the largest alpha.
n_costs = |c_name|
alpha(i) = has_alpha ? column('alpha') : 0
stats $DATA using (alpha(0)):(column('speedup_ahead')) nooutput
largest = STATS_max_x; high = STATS_max_y
stats $DATA using ((column('K') + 1) * c_value[column('c')]):'K' nooutput
first = STATS_min_y; last = STATS_max_y; shortest = STATS_min_x; longest = STATS_max_x
stats $DATA using 'gain' nooutput
# The line at 1 is always there.
spread = most(1, STATS_max) - least(1, STATS_min)
if (spread == 0) { spread = 1 }
optional(name, has) = has ? column(name) : NaN
# A point without a standard error has no bar.
bar(se) = se == se ? 2 * se : 0
# Only some pairs have a theory of both kinds.
beforehand(i) = has_speedup_theory && column('speedup_theory') == column('speedup_theory') \
    ? column('speedup_theory') \
    : column('speedup')
gain_theory(i) = has_speedup_theory && has_speedup_ahead_theory \
    ? column('speedup_ahead_theory') / column('speedup_theory') : NaN
shown(j) = alpha(0) == largest && column('c') == j ? column('K') : NaN
array ALPHA[16]
n_alphas = 0
position(x) = (sum [i=1:16] (i <= n_alphas && ALPHA[i] == x ? i : 0))
stats $DATA using (a = alpha(0), position(a) || n_alphas == 16 ? 0 : (n_alphas = n_alphas + 1, \
    ALPHA[n_alphas] = a), a) nooutput
if (n_alphas == 16) { eval fail( \
    'alpha has more than 15 values; choose some with --where alpha=...') }
both(i, j) = alpha(0) == ALPHA[i] && column('c') == j && column('K') > 0 \
    ? (column('K') + 1) * c_value[j] : NaN
eval panels_apart(0)
eval panels(1, 2, n_costs + 2 + n_alphas, 19)
set offsets graph 0.04, graph 0.04, graph 0.05, 0
set xlabel xwrap('draft length K (tokens)')
set ylabel ywrap('speed-up over plain decoding')
set title (has_alpha ? sprintf('α = %g', largest) : 'With and without drafting ahead') font fit(24)
set xrange [first - 0.4 : last + 0.4]
set yrange [0 : 1.06 * most(1, high)]
set ytics ystep(most(1, high))
set xtics whole_step(most(1, last - first))
plot 1 with lines linecolor rgb FAINT dashtype 2 notitle, \
    for [j=1:n_costs] $DATA using (shown(j)):(beforehand(0)) with lines \
        linecolor j dashtype 2 notitle, \
    for [j=1:n_costs] $DATA using (shown(j)):(optional('speedup_ahead_theory', \
        has_speedup_ahead_theory)) with lines linecolor j notitle, \
    for [j=1:n_costs] $DATA using (shown(j)):'speedup_ahead':(bar(optional('speedup_ahead_se', \
        has_speedup_ahead_se))) \
        with yerrorbars linecolor j pointtype point(position(largest)) notitle
set xlabel xwrap('(K+1) c, in verifications')
set ylabel ywrap('speed-up ahead over beforehand')
set title 'What it gains, ±2 s.e.' font fit(24)
set xrange [shortest / 1.3 : longest * 1.3]
eval log_tics('x', shortest / 1.3, longest * 1.3, across / 5)
set yrange [*:*]
set ytics ystep(spread)
set arrow 1 from 1, graph 0 to 1, graph 1 nohead linecolor rgb FAINT dashtype 3
plot 1 with lines linecolor rgb FAINT dashtype 2 notitle, \
    for [i=1:n_alphas] for [j=1:n_costs] $DATA using (both(i, j)):(gain_theory(0)) with lines \
        linecolor j notitle, \
    for [i=1:n_alphas] for [j=1:n_costs] $DATA using (both(i, j)):'gain':(bar(optional('gain_se', \
        has_gain_se))) \
        with yerrorbars linecolor j pointtype point(i) notitle
eval legend(0)
plot -1 notitle, \
    for [j=1:n_costs] keyentry with lines linecolor j linewidth 2 \
        title sprintf('c = %g', c_value[j]), \
    keyentry with lines linecolor rgb 'black' dashtype 2 title 'beforehand', \
    keyentry with lines linecolor rgb 'black' title 'ahead, theory', \
    for [i=1:n_alphas] keyentry with points linecolor rgb 'black' pointtype point(i) \
        title 'simulated' . (has_alpha ? sprintf(', α = %g', ALPHA[i]) : '')
unset multiplot
