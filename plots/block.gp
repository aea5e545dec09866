# Tokens a round over K, a colour for each draft, a line style for each rule: how much more a block keeps than its tokens one by one.
CSV = ARG1; OUT = ARG2; load ARG3
orders = ''
stats CSV using (o = sprintf('%d', column('draft_order')), orders = (strstrt(' ' . orders . ' ', ' ' . o . ' ') ? orders : orders . ' ' . o), \
    column('K')) nooutput
set xlabel 'draft length K (tokens)'
set ylabel 'tokens a round, E[n\_emitted]'
set xrange [STATS_min - 0.4 : STATS_max + 0.4]
set title 'Rules that judge a whole block, for a 6-gram target on real text'
rules = ''
stats CSV using (r = stringcolumn('rule'), \
    rules = (strstrt(' ' . rules . ' ', ' ' . r . ' ') ? rules : rules . ' ' . r), column('K')) nooutput
dashes(r) = r eq 'token' ? 2 : r eq 'block' ? 1 : r eq 'hsd' ? 3 : 4
of(r, i) = stringcolumn('rule') eq word(rules, r) && column('draft_order') == int(word(orders, i)) ? column('K') : NaN
color(r, i) = words(orders) > 1 ? i : r
plot for [r=1:words(rules)] for [i=1:words(orders)] CSV using (of(r, i)):(column('emitted')):(2 * column('emitted_se')) \
        with yerrorlines linecolor color(r, i) dashtype dashes(word(rules, r)) pointtype point(color(r, i)) pointsize 0.8 \
        noenhanced title word(orders, i) . '-gram draft, ' . word(rules, r)
