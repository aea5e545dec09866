# Share of rounds that find their chain drafted ahead, over K: simulated (points) beside alpha^K guess (lines), a colour for each
# draft.
CSV = ARG1; OUT = ARG2; load ARG3
orders = ''
stats CSV using (o = sprintf('%d', column('draft_order')), \
    orders = (strstrt(' ' . orders . ' ', ' ' . o . ' ') ? orders : orders . ' ' . o), column('K')) nooutput
set xlabel 'draft length K (tokens)'
set ylabel 'rounds that find their chain drafted ahead'
set xrange [STATS_min - 0.3 : STATS_max + 0.3]
set logscale y
set format y '%g'
set key left bottom
set title 'Drafting ahead on real text: how often the chain is there'
of(i) = column('draft_order') == int(word(orders, i)) ? column('K') : NaN
plot for [i=1:words(orders)] CSV using (of(i)):(column('hit_iid')) with lines linecolor i notitle, \
    for [i=1:words(orders)] CSV using (of(i)):(column('hit')):(2 * column('hit_se')) with yerrorbars linecolor i \
        pointtype point(i) pointsize 0.8 title word(orders, i) . '-gram draft', \
    NaN with lines linecolor rgb 'black' title 'α^K guess', \
    NaN with points linecolor rgb 'black' pointtype 7 pointsize 0.8 title 'simulated, ±2 s.e.'
