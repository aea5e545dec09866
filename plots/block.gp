# Tokens a round over K, a colour for each draft, a line style for each rule: how much more a block keeps than its tokens one by one.
CSV = ARG1; OUT = ARG2; load ARG3
orders = ''
stats CSV using (o = sprintf('%d', column('draft_order')), orders = (strstrt(' ' . orders . ' ', ' ' . o . ' ') ? orders : orders . ' ' . o), \
    column('K')) nooutput
set xlabel 'draft length K (tokens)'
set ylabel 'tokens a round, E[n\_emitted]'
set xrange [STATS_min - 0.4 : STATS_max + 0.4]
set title 'Block verification and the token rule, for a 6-gram target on real text'
of(rule, i) = stringcolumn('rule') eq rule && column('draft_order') == int(word(orders, i)) ? column('K') : NaN
plot for [i=1:words(orders)] CSV using (of('block', i)):(column('emitted')):(2 * column('emitted_se')) \
        with yerrorlines linecolor i pointtype point(i) pointsize 0.8 title word(orders, i) . '-gram draft, block', \
    for [i=1:words(orders)] CSV using (of('token', i)):(column('emitted')):(2 * column('emitted_se')) \
        with yerrorlines linecolor i dashtype 2 pointtype point(i) pointsize 0.8 title word(orders, i) . '-gram draft, token'
