# Speed-up of decoding steps by batch and context, with the line where it is 1, a panel for each K.
# title: Where speculation pays: batch and context
# row: K batch context
# needs: speedup break_even_context
# names: K batch context
# may use: large_batch_context
# Colours show the logarithm; GAIN is for ratios above 1.
optional(name, has) = has ? column(name) : NaN
n_batch = |batch_name|; n_context = |context_name|; n_K = |K_name|
if (n_K > 6) { eval fail('more than 6 panels; choose some with --where K=...') }
stats $DATA using (column('speedup') > 0 ? abs(log(column('speedup'))) : NaN) nooutput
if (found(0) == 0) { eval fail('no row has a speed-up above 0') }
spread = least(3, most(0.01, STATS_max))
widest = 0; high = 0
do for [i=1:n_batch] { widest = most(widest, strlen(batch_name[i])) }
do for [i=1:n_context] { high = most(high, strlen(context_name[i])) }
columns = panel_columns(n_K); rows = panel_rows(n_K)
LEFT = beside_tics(high); RIGHT = 8; TITLED = 1
# The legend is below, since the scale of colours is at the right.
if (LEGEND eq 'auto') { LEGEND = 'bottom' }
XTITLE = 'batch (requests)'; YTITLE = 'context (tokens)'
eval panels(rows, columns, 1 + has_large_batch_context, 26)
# A context between two levels is between their rows, on a logarithmic scale.
share(c, i) = context_value[i] > 0 && context_value[i + 1] > context_value[i] \
    ? most(0, least(1, log(c / context_value[i]) / log(1.0 * context_value[i + 1] \
        / context_value[i]))) : 0
row(c) = c > 0 && n_context > 1 && context_value[1] > 0 && c >= context_value[1] \
    && c <= context_value[n_context] \
    ? 1 + (sum [i=1:n_context - 1] share(c, i)) : NaN
unset grid
set offsets 0, 0, 0, 0
set xrange [0.5 : n_batch + 0.5]
set yrange [0.5 : n_context + 0.5]
set cbrange [-spread : spread]
eval sprintf("set palette defined (-1 '%s', 0 '%s', 1 '%s')", gain_colour(-1), gain_colour(0), \
    gain_colour(1))
set style fill solid 1 noborder
set colorbox user origin screen x1 + 1.2 / WIDTH, screen y0 size screen 1.2 / WIDTH, screen y1 - y0
set label 3 'speed-up' at screen 1 - 0.9 / WIDTH, screen (y0 + y1) / 2 center rotate
# Tics of the colours are at round speed-ups.
set cbtics ('' 0)
do for [v in '0.1 0.2 0.5 0.8 1 1.25 2 3 5 10'] {
    if (abs(log(v + 0.0)) <= spread) { set cbtics add (v log(v + 0.0)) }
}
step_x = ceil((CHARACTER * widest + 0.8) * n_batch / across)
step_y = ceil(LINE * n_context / down)
of(k) = column('K') == k ? column('batch') : NaN
level(x) = most(-spread, least(spread, log(x)))
do for [k=1:n_K] {
    if (k == 2) { unset label; unset colorbox }
    set title 'K = ' . K_name[k] font fit(8)
    bottom = k + columns > n_K; left = (k - 1) % columns == 0
    set xtics ('' 1); set ytics ('' 1)
    do for [i=1:n_batch:step_x] { set xtics add ((bottom ? batch_name[i] : '') i) }
    do for [i=1:n_context:step_y] { set ytics add ((left ? context_name[i] : '') i) }
    plot $DATA using (of(k)):'context':(0.5):(0.5):(column('speedup') > 0 \
            ? level(column('speedup')) : NaN) with boxxyerror fillcolor palette notitle, \
        '' using (of(k)):(row(column('break_even_context'))) with lines linecolor rgb 'black' \
            linewidth 2.5 notitle, \
        '' using (of(k)):(row(optional('large_batch_context', has_large_batch_context))) with lines \
            linecolor rgb 'black' linewidth 1.5 dashtype 3 notitle
}
eval legend(0)
plot -1 notitle, \
    keyentry with lines linecolor rgb 'black' linewidth 2.5 title 'speed-up 1', \
    for [i=1:has_large_batch_context] keyentry with lines linecolor rgb 'black' linewidth 1.5 \
        dashtype 3 title 'above: every batch gains'
unset multiplot
