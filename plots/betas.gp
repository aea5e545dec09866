# The share of places whose overlap is at most so much, a curve for each draft; iid acceptance would be a step at alpha.
CSV = ARG1; OUT = ARG2; load ARG3
orders = ''
stats CSV using (o = sprintf('%d', column('draft_order')), \
    orders = (strstrt(' ' . orders . ' ', ' ' . o . ' ') ? orders : orders . ' ' . o), column('beta')) nooutput
set xlabel 'overlap at a place, β'
set ylabel 'share of places at or below'
set xrange [0:1]
set yrange [0:1]
set key below
set title 'Overlap from place to place, on real text'
of(i) = column('draft_order') == int(word(orders, i))
plot for [i=1:words(orders)] CSV using (of(i) ? column('beta') : NaN):(column('below')) \
        with linespoints linecolor i pointtype point(i) pointsize 0.6 title 'draft of order ' . word(orders, i), \
    for [i=1:words(orders)] CSV using (of(i) ? column('alpha_mean') : NaN):(column('below')) \
        with lines linecolor i dashtype 2 notitle, \
    NaN with lines linecolor rgb 'black' dashtype 2 title 'iid acceptance: all at α'
