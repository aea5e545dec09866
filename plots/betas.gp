# Distribution of the overlap over the positions of a text, a curve for each draft.
# title: Overlap from position to position
# row: beta
# needs: beta below alpha_mean
# names: draft_order
# Iid acceptance would be a step at alpha, the dashed line.
n = |draft_order_name|
XTITLE = 'overlap at a position β'
YTITLE = 'share of positions at or below'
eval panels(1, 1, n + 1, 26)
set xrange [0:1]
set yrange [0:1]
of(i, name) = column('draft_order') == i ? column(name) : NaN
plot for [i=1:n] $DATA using (of(i, 'beta')):'below' with linespoints linecolor i \
    pointtype point(i) notitle, \
    for [i=1:n] $DATA using (of(i, 'alpha_mean')):'below' with lines linecolor i dashtype 2 notitle
eval legend(0)
plot -1 notitle, \
    for [i=1:n] keyentry with linespoints linecolor i pointtype point(i) title 'draft of order ' \
        . draft_order_name[i], \
    keyentry with lines linecolor rgb 'black' dashtype 2 title 'iid acceptance: all at α'
unset multiplot
