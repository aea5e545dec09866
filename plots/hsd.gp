# What each rule keeps of a block in the first round, over K; and below, how far the worst law is from the target's.
CSV = ARG1; OUT = ARG2; load ARG3
rules = ''
stats CSV using (r = stringcolumn('rule'), \
    rules = (strstrt(' ' . rules . ' ', ' ' . r . ' ') ? rules : rules . ' ' . r), column('K')) nooutput
of(i) = stringcolumn('rule') eq word(rules, i) ? column('K') : NaN
set xrange [STATS_min - 0.4 : STATS_max + 0.4]
set xtics 1
set lmargin 10
set multiplot layout 2,1 title 'Tokens kept of a draft, and what they cost'
set ylabel 'E[n\_accepted], first round'
set key left top
plot for [i=1:words(rules)] CSV using (of(i)):(column('accepted')) with linespoints linecolor i pointtype point(i) noenhanced title word(rules, i)
unset key
set xlabel 'draft length K (tokens)'
set ylabel 'largest total variation'
set yrange [-0.01:*]
set ytics 0.05
plot for [i=1:words(rules)] CSV using (of(i)):(column('worst_tv')) with linespoints linecolor i pointtype point(i) noenhanced title word(rules, i)
unset multiplot
