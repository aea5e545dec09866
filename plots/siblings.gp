# Tokens a round over the siblings of a node, a colour for each way of drawing them, a line style for each rule.
CSV = ARG1; OUT = ARG2; load ARG3
names = '|'; kinds = '|'; rules = '|'
stats CSV using (s = stringcolumn('siblings') . '|', r = stringcolumn('rule') . '|', \
    kinds = (strstrt(kinds, '|' . s) ? kinds : kinds . s), rules = (strstrt(rules, '|' . r) ? rules : rules . r), \
    k = stringcolumn('siblings') . ' ' . r, names = (strstrt(names, '|' . k) ? names : names . k), column('n')) nooutput
pieces(list) = (sum [i=1:strlen(list)] (list[i:i] eq '|')) - 1
n = pieces(names)
array KIND[n]; array RULE[n]; array COLOUR[n]; array STYLE[n]
place(list, name) = pieces(list[1:strstrt(list, '|' . name . '|')]) + 1
rest = names[2:*]
do for [i=1:n] {
    bar = strstrt(rest, '|'); name = rest[1:bar-1]; rest = rest[bar+1:*]
    KIND[i] = word(name, 1); RULE[i] = word(name, 2)
    COLOUR[i] = place(kinds, KIND[i]); STYLE[i] = place(rules, RULE[i])
}
set xlabel 'siblings a node, n'
set key outside right center samplen 3
set ylabel 'tokens a round, E[n\_emitted]'
set xrange [STATS_min - 0.2 : STATS_max + 0.2]
set xtics 1
set title 'Trees of three levels, for a 6-gram target on real text'
of(i) = stringcolumn('siblings') eq KIND[i] && stringcolumn('rule') eq RULE[i] ? column('n') : NaN
plot for [i=1:n] CSV using (of(i)):(column('emitted')):(2 * column('emitted_se')) with yerrorlines \
    linecolor COLOUR[i] dashtype STYLE[i] pointtype point(STYLE[i]) pointsize 0.8 title KIND[i] . ', ' . RULE[i]
