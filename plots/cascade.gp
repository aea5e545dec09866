# Gain of three models over the best two, by cost and acceptance of the small model.
# title: Three models against two
# row: alpha inner_c inner_alpha
# needs: gain
# names: alpha inner_c inner_alpha
# Colours show the logarithm.
n_alpha = |alpha_name|; n_c = |inner_c_name|; n_inner = |inner_alpha_name|
if (n_alpha > 6) { eval fail('more than 6 panels; choose some with --where alpha=...') }
stats $DATA using (column('gain') > 0 ? abs(log(column('gain'))) : NaN) nooutput
if (found(0) == 0) { eval fail('no row has a gain above 0') }
spread = least(2, most(0.01, STATS_max))
widest = 0; high = 0
do for [i=1:n_c] { widest = most(widest, strlen(inner_c_name[i])) }
do for [i=1:n_inner] { high = most(high, strlen(inner_alpha_name[i])) }
columns = panel_columns(n_alpha); rows = panel_rows(n_alpha)
LEFT = beside_tics(high); RIGHT = 8; TITLED = 1
if (LEGEND eq 'auto') { LEGEND = 'bottom' }
XTITLE = 'cost of the small model (target passes)'; YTITLE = 'acceptance by the middle model'
eval panels(rows, columns, 0, 0)
unset grid
set offsets 0, 0, 0, 0
set xrange [0.5 : n_c + 0.5]
set yrange [0.5 : n_inner + 0.5]
set cbrange [-spread : spread]
eval sprintf("set palette defined (-1 '%s', 0 '%s', 1 '%s')", gain_colour(-1), gain_colour(0), \
    gain_colour(1))
set style fill solid 1 noborder
set colorbox user origin screen x1 + 1.2 / WIDTH, screen y0 size screen 1.2 / WIDTH, screen y1 - y0
set label 3 'speed-up over the best two' at screen 1 - 0.9 / WIDTH, screen (y0 + y1) / 2 \
    center rotate
set cbtics ('' 0)
do for [v in spread < 0.3 ? '0.8 0.9 0.95 1 1.05 1.1 1.25' : '0.2 0.5 0.6 0.8 1 1.25 1.6 2 3 5'] {
    if (abs(log(v + 0.0)) <= spread) { set cbtics add (v log(v + 0.0)) }
}
step_x = ceil((CHARACTER * widest + 0.8) * n_c / across)
step_y = ceil(LINE * n_inner / down)
of(k) = column('alpha') == k ? column('inner_c') : NaN
level(x) = most(-spread, least(spread, log(x)))
do for [k=1:n_alpha] {
    if (k == 2) { unset label; unset colorbox }
    set title 'alpha = ' . alpha_name[k] font fit(12)
    bottom = k + columns > n_alpha; left = (k - 1) % columns == 0
    set xtics ('' 1); set ytics ('' 1)
    do for [i=1:n_c:step_x] { set xtics add ((bottom ? inner_c_name[i] : '') i) }
    do for [i=1:n_inner:step_y] { set ytics add ((left ? inner_alpha_name[i] : '') i) }
    plot $DATA using (of(k)):'inner_alpha':(0.5):(0.5):(column('gain') > 0 \
            ? level(column('gain')) : NaN) with boxxyerror fillcolor palette notitle
}
unset multiplot
