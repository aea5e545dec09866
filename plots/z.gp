# Difference between each rule's simulation and the exact mean, in standard errors.
# title: Rules, simulated against enumerated
# needs: emitted_z
# names: rule drafting
n = |rule_name|
longest = 0
do for [i=1:n] { longest = most(longest, strlen(rule_name[i])) }
stats $DATA using 'emitted_z' nooutput
low = STATS_min; high = STATS_max
LEFT = beside_rows(CHARACTER * longest, n)
XTITLE = 'tokens per round, standard errors from the exact mean'
eval panels(1, 1, 3, 17)
do for [i=1:n] { if (i == 1) { set ytics (rule_tic[1] 1) } else { set ytics add (rule_tic[i] i) } }
rows_font = fit_rows(n)
set ytics font rows_font
set yrange [n + 0.6 : 0.4]
set xrange [1.1 * least(-5, low) : 1.1 * most(5, high)]
do for [side=-5:5:10] { set arrow from side, graph 0 to side, graph 1 nohead \
    linecolor rgb FAINT dashtype 2 }
one_path(i) = drafting_text[i] eq 'chain' || drafting_text[i] eq 'greedy'
of(chains) = one_path(column('drafting')) == chains ? column('emitted_z') : NaN
plot $DATA using (of(1)):(column('rule') - 0.12) with points linecolor 1 pointtype 7 notitle, \
    $DATA using (of(0)):(column('rule') + 0.12) with points linecolor 2 pointtype 5 notitle
eval legend(0)
plot -1 notitle, \
    keyentry with points linecolor 1 pointtype 7 title 'chains', \
    keyentry with points linecolor 2 pointtype 5 title 'trees', \
    keyentry with lines linecolor rgb FAINT dashtype 2 title '5 standard errors'
unset multiplot
