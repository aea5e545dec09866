# Tokens a round over temperature, a colour for each rule with its drafts, a panel for each pair of models.
CSV = ARG1; OUT = ARG2; load ARG3
short(drafting) = drafting[1:9] eq 'tree?n=2&' ? drafting[19:*] . ' pairs' : drafting
names = '|'
stats CSV using (k = stringcolumn('rule') . ',  ' . short(stringcolumn('drafting')) . '|', \
    names = (strstrt(names, '|' . k) ? names : names . k), column('T')) nooutput
n = (sum [i=1:strlen(names)] (names[i:i] eq '|')) - 1
array NAME[n]
rest = names[2:*]
do for [i=1:n] { bar = strstrt(rest, '|'); NAME[i] = rest[1:bar-1]; rest = rest[bar+1:*] }
set xlabel 'temperature, T'
set xrange [0 : STATS_max + 0.1]
set yrange [1 : *]
array TITLE[2] = ['n-gram draft at the same temperature', 'draft of overlap 0.6 at every temperature']
set multiplot layout 1,2 title 'Temperature and rules, for a 5-gram target on real text' font ',15'
perturbed(draft) = draft[1:7] eq 'perturb'
do for [panel=1:2] {
    at(i) = stringcolumn('rule') . ',  ' . short(stringcolumn('drafting')) eq NAME[i] && \
        perturbed(stringcolumn('draft')) == panel - 1 ? column('T') : NaN
    set title TITLE[panel] font ',12'
    set ylabel panel == 1 ? 'tokens a round, E[n\_emitted]' : ''
    if (panel == 2) { set key right top font ',10' noenhanced } else { set key off }
    plot for [i=1:n] CSV using (at(i)):(column('emitted')):(2 * column('emitted_se')) with yerrorlines \
        linecolor i pointtype point(i) pointsize 0.7 title NAME[i]
}
unset multiplot
