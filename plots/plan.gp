# Planned speed-up against the budget of draft tokens, a colour for each method.
# title: Draft trees for a budget, chosen by speed-up
# row: budget
# needs: budget emitted speedup
# names: method
# may use: simulated simulated_se
n = |method_name|
longest = 9
do for [i=1:n] { longest = most(longest, strlen(method_name[i])) }
XTITLE = 'budget of the tree (draft tokens)'
YTITLE = 'speed-up over plain decoding' . (has_simulated_se ? ', ±2 s.e.' : '')
stats $DATA using (column('budget') > 0 ? column('budget') : NaN) nooutput
if (found(0) == 0) { eval fail('no row has a budget above 0') }
eval panels(1, 1, n + 2 * has_simulated, longest)
eval log_tics_2('x', STATS_min, STATS_max, across / 5)
of(i) = column('method') == i && column('budget') > 0 ? column('budget') : NaN
# Simulated tokens per round divided by the planned time per round.
measured(i) = has_simulated ? column('simulated') * column('speedup') / column('emitted') : NaN
bar(i) = has_simulated_se ? 2 * column('simulated_se') * column('speedup') / column('emitted') : NaN
mark(i) = i < n ? int(word('4 6 8 12 10', (i - 1) % 5 + 1)) : 7
large(i) = MARK * nested(i, n)
shown(i) = has_simulated ? measured(0) : column('speedup')
plot 1 with lines linecolor rgb FAINT dashtype 2 notitle, \
    for [i=1:n] $DATA using (of(i)):'speedup' with lines linecolor i linewidth 1.4 notitle, \
    for [i=1:n] $DATA using (of(i)):(shown(0)):(bar(0)) with yerrorbars linecolor i \
        pointtype mark(i) pointsize large(i) notitle, \
    for [i=1:has_simulated_se ? 0 : n] $DATA using (of(i)):(shown(0)) with points linecolor i \
        pointtype mark(i) pointsize large(i) notitle
eval legend(0)
command = "plot -1 notitle"
command = command . ", for [i=1:n] keyentry with linespoints linecolor i" \
    . " pointtype mark(i) pointsize large(i) title method_name[i]"
if (has_simulated) {
    command = command . ", keyentry with lines linecolor rgb 'black' title 'planned'" \
        . ", keyentry with points linecolor rgb 'black' pointtype 7 title 'simulated'"
}
eval command
unset multiplot
