# Tokens per round of trained drafts: a chain and static trees, at temperatures 1 and 0.
# title: Tokens per round of trained drafts
# needs: tokens_T1 tree8_T1 tree60_T1 tokens_T0 tree8_T0 tree60_T0
# row: name
# names: name
# may use: expected_tokens
n = |name_name|
longest = 0
do for [i=1:n] { longest = most(longest, strlen(name_name[i])) }
LEFT = beside_rows(CHARACTER * longest, n)
TITLED = 1
ACROSS = 2
XTITLE = 'tokens per round'
eval panels(1, 2, 3 + has_expected_tokens, 23)
# Both panels read all columns, so that they have the same axes.
low = 1; high = 1
do for [column in 'tokens_T1 tree8_T1 tree60_T1 tokens_T0 tree8_T0 tree60_T0'] {
    stats $DATA using column nooutput
    if (found(0) > 0) { high = most(high, STATS_max) }
}
set xrange [low : 1.03 * high]
set xtics xstep(high - low)
set yrange [n + 0.5 : 0.5]
rows_font = fit_rows(n)
set ytics font rows_font
do for [t=1:2] {
    if (t == 2) { unset label }
    set ytics ('' 1)
    do for [i=1:n] { set ytics add ((t == 1 ? name_name[i] : '') i) }
    set title t == 1 ? 'temperature 1' : 'temperature 0'
    chain = t == 1 ? 'tokens_T1' : 'tokens_T0'
    few = t == 1 ? 'tree8_T1' : 'tree8_T0'
    many = t == 1 ? 'tree60_T1' : 'tree60_T0'
    plot $DATA using (column(chain)):'name' with points linecolor 1 pointtype point(1) notitle, \
        '' using (column(few)):'name' with points linecolor 2 pointtype point(2) notitle, \
        '' using (column(many)):'name' with points linecolor 3 pointtype point(3) notitle, \
        '' using (t == 1 && has_expected_tokens ? column('expected_tokens') : NaN):'name' \
            with points linecolor rgb FAINT pointtype 2 notitle
}
eval legend(0)
plot -1 notitle, \
    keyentry with points linecolor 1 pointtype point(1) title 'chain', \
    keyentry with points linecolor 2 pointtype point(2) title 'tree of 8 nodes', \
    keyentry with points linecolor 3 pointtype point(3) title 'tree of 60 nodes', \
    for [i=1:has_expected_tokens] keyentry with points linecolor rgb FAINT pointtype 2 \
        title 'chain, as expected'
unset multiplot
