# Share of 95 % intervals that hold the true alpha, by kind of truth and source of counters.
# title: 95 % intervals for alpha that hold the truth
# needs: alpha_held alpha_independent
# row: kind source
# names: kind source
n = |kind_name|; n_source = |source_name|
longest = 1
do for [i=1:n] { longest = most(longest, strlen(kind_name[i])) }
TITLED = 1
LEFT = beside_rows(CHARACTER * longest, n)
columns = panel_columns(n_source); rows = panel_rows(n_source)
XTITLE = 'share of intervals that hold the truth'
eval panels(rows, columns, 3, 34)
set xrange [-0.02:1.02]
set yrange [-n - 0.6 : -0.4]
set offsets 0, 0, 0, 0
set xtics xstep(1)
set ytics ('' 1)
set arrow 1 from 0.95, graph 0 to 0.95, graph 1 nohead linecolor rgb FAINT dashtype 2 back
at(s, lift) = column('source') == s ? lift - column('kind') : NaN
do for [s=1:n_source] {
    if (s > 1) { unset label }
    set title source_name[s]
    rows_font = fit_rows(n)
    set ytics font rows_font
    set ytics ('' 1)
    do for [i=1:n] { set ytics add ((s - 1) % columns == 0 ? kind_tic[i] : '' -i) }
    plot $DATA using 'alpha_independent':(at(s, -0.1)) with points linecolor 2 \
            pointtype point(2) notitle, \
        $DATA using 'alpha_held':(at(s, 0.1)) with points linecolor 1 pointtype point(1) notitle
}
unset arrow
eval legend(0)
plot -1 notitle, \
    keyentry with points linecolor 1 pointtype point(1) title 'clusters: requests or stretches', \
    keyentry with points linecolor 2 pointtype point(2) title 'tokens as independent trials', \
    keyentry with lines linecolor rgb FAINT dashtype 2 title 'nominal'
unset multiplot
