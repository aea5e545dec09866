# Accepted draft tokens of the first round, and total variation, against K, a colour for each rule.
# title: Accepted draft tokens, and their price in total variation
# row: K
# needs: K mean_n_accepted worst_tv
# names: rule
n = |rule_name|
longest = 0
do for [i=1:n] { longest = most(longest, strlen(rule_name[i])) }
stats $DATA using 'mean_n_accepted':'worst_tv' nooutput
of(i) = column('rule') == i ? column('K') : NaN
eval panels_apart(0)
DOWN = 0
# Panels are stacked, or side by side in a small figure.
wide = HEIGHT < 40
eval wide ? panels(1, 2, n, longest) : panels(2, 1, n, longest)
unset title
set xtics 1
if (wide) { set xlabel xwrap('draft length K (tokens)') }
if (!wide) { set format x '' }
set ytics ystep(1.1 * most(STATS_max_x - STATS_min_x, 0.1))
set ylabel ywrap('accepted draft tokens')
plot for [i=1:n] $DATA using (of(i)):'mean_n_accepted' with linespoints linecolor i \
    pointtype point(i) pointsize MARK * nested(i, n) linewidth nested(i, n) notitle
set format x '%g'
set xlabel xwrap('draft length K (tokens)')
set ytics ystep(1.1 * most(STATS_max_y - STATS_min_y, 0.01))
set ylabel ywrap('largest total variation')
plot for [i=1:n] $DATA using (of(i)):'worst_tv' with linespoints linecolor i \
    pointtype point(i) pointsize MARK * nested(i, n) linewidth nested(i, n) notitle
eval legend(0)
plot -1 notitle, \
    for [i=1:n] keyentry with linespoints linecolor i pointtype point(i) title rule_name[i]
unset multiplot
