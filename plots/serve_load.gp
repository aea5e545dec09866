# Latency, and its speed-up over plain decoding, against the rate of requests, a line for each K.
# title: Speculative decoding under load
# row: rate alpha
# needs: rate latency_ms speedup
# names: K lengths
# may name: spread
# may use: alpha latency_ms_theory speedup_theory speedup_low speedup_high capacity
# Solid lines are theory, or join the points if there is none; points are simulated.
# A panel for each alpha, and for each spread of it over the requests.
n_K = |K_name|
optional(name, has) = has ? column(name) : NaN
alpha(i) = has_alpha ? column('alpha') : 0
spread(i) = has_spread ? column('spread') : 0
array ALPHA[5]; array SPREAD[5]
n_panels = 0
position(x, y) = (sum [i=1:5] (i <= n_panels && ALPHA[i] == x && SPREAD[i] == y ? i : 0))
stats $DATA using (a = alpha(0), s = spread(0), a != a || s != s || position(a, s) \
    || n_panels == 5 ? 0 : (n_panels = n_panels + 1, ALPHA[n_panels] = a, SPREAD[n_panels] = s), \
    0) nooutput
if (n_panels == 0) { eval fail('no row has numbers') }
if (n_panels > 4) { eval fail( \
    'more than 4 values of alpha and spread; choose some with --where alpha=...') }
alpha_of(i) = has_alpha ? sprintf('α = %g', ALPHA[i]) : ''
spread_of(i) = has_spread && spread_text[int(SPREAD[i])] ne 'one' \
    ? (strlen(alpha_of(i)) ? ', ' : '') . spread_name[int(SPREAD[i])] : ''
stats $DATA using (column('latency_ms') > 0 ? column('rate') : NaN):'latency_ms' nooutput
if (found(0) == 0) { eval fail('no row has a rate and a latency above 0') }
first = STATS_min_x; last = STATS_max_x > first ? STATS_max_x : first + 1
# A series for each K of fixed lengths, and one for each other choice of lengths.
n_series = 0
array SERIES_K[64]; array SERIES_LENGTHS[64]; array SERIES_NAME[64]
longest = 13
do for [l=1:|lengths_name|] {
    fixed = lengths_text[l] eq 'fixed'
    do for [k=1:n_K] {
        stats $DATA using (column('lengths') == l && column('K') == k ? 1 : NaN) nooutput
        if (found(0) > 0 && n_series < 64) {
            n_series = n_series + 1
            SERIES_K[n_series] = k; SERIES_LENGTHS[n_series] = l
            SERIES_NAME[n_series] = fixed ? 'K = ' . K_name[k] : lengths_name[l]
            longest = most(longest, strlen(SERIES_NAME[n_series]))
        }
    }
}
if (n_series > 16) { eval fail('more than 16 lines; choose some with --where K=...') }
of(s, a) = column('K') == SERIES_K[s] && column('lengths') == SERIES_LENGTHS[s] \
    && alpha(0) == ALPHA[a] && spread(0) == SPREAD[a] ? column('rate') : NaN
above(x) = x > 0 ? x : NaN
# Lines are theory, or join the points if no row has a theory.
gain_line(i) = has_speedup_theory ? column('speedup_theory') : column('speedup')
latency_line(i) = has_latency_ms_theory ? column('latency_ms_theory') : column('latency_ms')
# Capacities near the drawn rates extend the axis.
stats $DATA using (c = optional('capacity', has_capacity), c > last && c < 1.25 * last ? c : NaN) \
    nooutput
end = found(0) > 0 ? STATS_max : last
stats $DATA using (above(0.001 * latency_line(0))):(above(0.001 * column('latency_ms'))) nooutput
fastest = least(STATS_min_x, STATS_min_y); slowest = most(STATS_max_x, STATS_max_y)
eval panels_apart(0)
eval panels(2, n_panels, n_series + 1 + has_latency_ms_theory + has_capacity, longest)
set offsets 0, 0, graph 0.05, graph 0.05
set xrange [first - 0.03 * (end - first) : end + 0.03 * (end - first)]
set xtics xstep(end - first)
do for [a=1:n_panels] {
    set title alpha_of(a) . spread_of(a) font fit(strlen(alpha_of(a) . spread_of(a)))
    if (a == 1) { set ylabel ywrap('speed-up of latency') } else { set ylabel '' }
    plot 1 with lines linecolor rgb FAINT dashtype 2 notitle, \
        for [s=1:n_series] $DATA using (of(s, a)):(gain_line(0)) with lines linecolor s \
            notitle, \
        for [s=1:n_series] '' using (of(s, a)):'speedup' with points linecolor s \
            pointtype point(s) notitle, \
        for [s=1:n_series] '' using (of(s, a)):'speedup':(optional('speedup_low', \
            has_speedup_low)):(optional('speedup_high', has_speedup_high)) with yerrorbars \
            linecolor s pointtype point(s) notitle
}
eval log_tics('y', fastest, slowest, down / LINE)
unset title
set xlabel xwrap('requests/s')
do for [a=1:n_panels] {
    if (a == 1) { set ylabel ywrap('mean latency (s)') } else { set ylabel '' }
    unset arrow
    do for [s=1:n_series] {
        stats $DATA using (of(s, a) > 0 ? optional('capacity', has_capacity) : NaN) nooutput
        if (found(0) > 0) {
            if (STATS_min <= end) {
                set arrow from STATS_min, graph 1 to STATS_min, graph 0.9 nohead \
                    linecolor s linewidth 2
            }
        }
    }
    plot for [s=1:n_series] $DATA using (of(s, a)):(above(0.001 * latency_line(0))) \
            with lines linecolor s notitle, \
        for [s=1:n_series] '' using (of(s, a)):(above(0.001 * column('latency_ms'))) with points \
            linecolor s pointtype point(s) notitle
}
eval legend(0)
plot -1 notitle, \
    for [s=1:n_series] keyentry with linespoints linecolor s pointtype point(s) \
        title SERIES_NAME[s], \
    for [i=1:has_latency_ms_theory] keyentry with lines linecolor rgb 'black' title 'theory', \
    keyentry with points linecolor rgb 'black' pointtype 7 title 'simulated', \
    for [i=1:has_capacity] keyentry with impulses linecolor rgb 'black' linewidth 2 \
        title 'top: capacity'
unset multiplot
