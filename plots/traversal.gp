# Tokens a round over the depth of a tree of two branches, a colour for each kind of siblings, a line style for each rule.
CSV = ARG1; OUT = ARG2; load ARG3
kinds = ''
branches(w) = w eq '2' || w[1:3] eq '2.1' # widths 2, 2.1, 2.1.1, ...
depth(w) = (strlen(w) + 1) / 2
stats CSV using (s = stringcolumn('siblings'), kinds = (strstrt(' ' . kinds . ' ', ' ' . s . ' ') ? kinds : kinds . ' ' . s), 0) nooutput
set xlabel 'depth of the two branches (tokens)'
set ylabel 'tokens a round, E[n\_emitted]'
set title 'Two drafted branches on real text, judged top-down and by traversal'
of(topdown, i) = (stringcolumn('rule') eq 'traversal') != topdown && stringcolumn('siblings') eq word(kinds, i) \
    && branches(stringcolumn('widths')) ? depth(stringcolumn('widths')) : NaN
plot for [i=1:words(kinds)] CSV using (of(0, i)):(column('emitted')):(2 * column('emitted_se')) \
        with yerrorlines linecolor i pointtype point(i) pointsize 0.8 title word(kinds, i) . ', traversal', \
    for [i=1:words(kinds)] CSV using (of(1, i)):(column('emitted')):(2 * column('emitted_se')) \
        with yerrorlines linecolor i dashtype 2 pointtype point(i) pointsize 0.8 title word(kinds, i) . ', top-down'
