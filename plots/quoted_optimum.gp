# An expression that is quoted as optimal (points), and the optimum (lines), over the number of drafts.
CSV = ARG1; OUT = ARG2; load ARG3
sizes = ''
stats CSV using (v = sprintf('%d', column('V')), sizes = (strstrt(' ' . sizes . ' ', ' ' . v . ' ') ? sizes : sizes . ' ' . v), \
    column('n')) nooutput
of(i) = column('V') == int(word(sizes, i)) ? column('n') : NaN
set xlabel 'iid drafts of one token'
set ylabel 'chance that one is accepted'
set xrange [STATS_min - 0.3 : STATS_max + 0.3]
set key right bottom
set title 'What SpecTr-GBV is quoted to accept, and the most that can be'
plot for [i=1:words(sizes)] CSV using (of(i)):(column('optimal')) with lines linecolor i title 'optimum, V = ' . word(sizes, i), \
    for [i=1:words(sizes)] CSV using (of(i)):(column('quoted')) with points linecolor i pointtype point(i) title 'quoted, V = ' . word(sizes, i)
