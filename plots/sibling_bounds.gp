# Acceptance at one position over the number of siblings, a panel for each pair, a colour for each way of drawing: the most that any rule
# accepts as a line, rules as points.
CSV = ARG1; OUT = ARG2; load ARG3
pairs = '|'
stats CSV using (p = stringcolumn('pair') . '|', pairs = (strstrt(pairs, '|' . p) ? pairs : pairs . p), column('n')) nooutput
KINDS = 'iid without top greedy'
RULES = 'match rrs kseq ot rrsw token-rest'
pieces(list) = (sum [i=1:strlen(list)] (list[i:i] eq '|')) - 1
set xlabel 'siblings, n'
set xrange [0.8 : 4.2]
set xtics 1
set yrange [0:1]
is(kind) = stringcolumn('pair') eq subject && (stringcolumn('drafting') eq kind || column('n') == 1)
bound(k) = is(word(KINDS, k)) && (k != 3 || column('n') > 1) ? column('n') : NaN
at(k, r) = is(word(KINDS, k)) && column('n') > 1 && stringcolumn('rule') eq word(RULES, r) && (r > 1 || k == 1) ? column('n') : NaN
set multiplot layout 1,pieces(pairs) title 'Acceptance at one position: what rules reach, and what could be reached' font ',15'
rest = pairs[2:*]
do for [panel=1:pieces(pairs)] {
    bar = strstrt(rest, '|'); subject = rest[1:bar-1]; rest = rest[bar+1:*]
    set title subject noenhanced
    set ylabel panel == 1 ? 'acceptance' : ''
    if (panel == 2) { set key right bottom font ',10' spacing 1 } else { set key off }
    plot for [k=1:4] CSV using (bound(k)):(column('optimal')) with lines linecolor k title word(KINDS, k) . ' siblings, at best', \
        for [r=1:6] for [k=1:4] CSV using (at(k, r)):(column('acceptance')) with points linecolor k pointtype point(r) pointsize 0.9 notitle, \
        for [r=1:6] NaN with points linecolor rgb 'black' pointtype point(r) title word(RULES, r)
}
unset multiplot
