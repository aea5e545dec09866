# Tokens per round against the depth of two branches, a colour for each rule.
# title: Two drafted branches, judged top-down and by traversal
# row: widths
# needs: emitted emitted_se
# names: widths siblings rule
# Widths 2, 2.1, 2.1.1 and so on are two branches.
depth(w) = w eq '2' ? 1 : w[1:3] eq '2.1' && strlen(w) % 2 == 1 ? (strlen(w) + 1) / 2 : NaN
kinds = |siblings_name|
n = |rule_name|
longest = 1
do for [i=1:n] { longest = most(longest, strlen(rule_name[i])) }
at(p, r) = column('siblings') == p && column('rule') == r \
    ? depth(widths_text[column('widths')]) : NaN
stats $DATA using (depth(widths_text[column('widths')])) \
    :(column('emitted') + 2 * column('emitted_se')) nooutput
if (found(0) == 0) { eval fail('no row has widths of two branches, such as 2 or 2.1') }
last = STATS_max_x; high = STATS_max_y
stats $DATA using (depth(widths_text[column('widths')])) \
    :(column('emitted') - 2 * column('emitted_se')) nooutput
columns = panel_columns(kinds); rows = panel_rows(kinds)
TITLED = 1
XTITLE = 'depth of the two branches (tokens)'; YTITLE = 'tokens per round, ±2 s.e.'
eval panels(rows, columns, n, longest)
set xrange [0.6 : last + 0.4]
low = STATS_min_y
if (low == high) { low = low - 0.5; high = high + 0.5 }
set yrange [low : high]
set xtics whole_step(last - 1)
set ytics ystep(high - low)
do for [p=1:kinds] {
    if (p > 1) { unset label }
    if (p + columns <= kinds) { set format x '' } else { set format x '%g' }
    if ((p - 1) % columns > 0) { set format y '' } else { set format y '%g' }
    set title siblings_name[p]
    plot for [r=1:n] $DATA using (at(p, r)):'emitted':(2 * column('emitted_se')) \
        with yerrorlines linecolor r pointtype point(r) notitle
}
eval legend(0)
plot -1 notitle, \
    for [r=1:n] keyentry with linespoints linecolor r pointtype point(r) title rule_name[r]
unset multiplot
