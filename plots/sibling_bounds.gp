# Acceptance at one position against the number of siblings, with the bound of each kind.
# title: Acceptance at one position: rules and bounds
# row: n
# needs: n acceptance optimal
# names: pair drafting rule
pairs = |pair_name|; rules = |rule_name|
list = ''; longest = 12
do for [i=1:|drafting_name|] { if (drafting_text[i] ne 'chain') {
    list = list . sprintf(' %d', i)
    longest = most(longest, strlen(drafting_name[i]) + 16)
} }
kinds = words(list)
kind(k) = item(list, k)
do for [i=1:rules] { longest = most(longest, strlen(rule_name[i])) }
# One draft is a chain, which is the first point of each kind with drawn siblings.
drawn(k) = drafting_text[k] ne 'top' && drafting_text[k] ne 'lookup'
in(p, k) = column('pair') == p && (column('drafting') == k || (drawn(k) && column('n') == 1))
bound(p, k) = in(p, k) ? column('n') : NaN
at(p, k, r) = column('n') > 1 && in(p, k) && column('rule') == r ? column('n') : NaN
columns = panel_columns(pairs)
TITLED = 1
XTITLE = 'siblings n'; YTITLE = 'acceptance at one position'
eval panels(panel_rows(pairs), columns, kinds + rules, longest)
stats $DATA using 'acceptance':'optimal' nooutput
low = least(0, least(STATS_min_x, STATS_min_y)); high = most(1, most(STATS_max_x, STATS_max_y))
stats $DATA using 'n' nooutput
set xrange [STATS_min - 0.2 : STATS_max + 0.2]
set xtics whole_step(most(1, STATS_max - STATS_min))
set ytics ystep(high - low)
widest = 1
do for [p=1:pairs] { widest = most(widest, strlen(pair_name[p])) }
set yrange [low:high]
do for [p=1:pairs] {
    if (p > 1) { unset label }
    if ((p - 1) % columns > 0) { set format y '' } else { set format y '%g' }
    set title pair_name[p] font fit(widest)
    # A point outside the ranges: gnuplot fails on a panel without any point.
    plot low - 1 notitle, for [k=1:kinds] $DATA using (bound(p, kind(k))):'optimal' with lines \
        linecolor k notitle, \
        for [r=1:rules] for [k=1:kinds] $DATA using (at(p, kind(k), r)):'acceptance' with points \
            linecolor k pointtype point(r) notitle
}
eval legend(0)
plot -1 notitle, \
    for [k=1:kinds] keyentry with lines linecolor k linewidth 2 title drafting_name[kind(k)] \
        . ' siblings, bound', \
    for [r=1:rules] keyentry with points linecolor rgb 'black' pointtype point(r) title rule_name[r]
unset multiplot
