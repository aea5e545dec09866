# Total variation over the acceptance of one token and over tokens a round, a colour for each family of rules; no rule can lie below the line.
CSV = ARG1; OUT = ARG2; load ARG3
families = '|'; lengths = ''
stats CSV using (f = stringcolumn('family') . '|', families = (strstrt(families, '|' . f) ? families : families . f), \
    k = sprintf('%d', column('K')), lengths = (strstrt(' ' . lengths . ' ', ' ' . k . ' ') ? lengths : lengths . ' ' . k), \
    column('tv')) nooutput
n = (sum [i=1:strlen(families)] (families[i:i] eq '|')) - 1
array FAMILY[n]
rest = families[2:*]
do for [i=1:n] { bar = strstrt(rest, '|'); FAMILY[i] = rest[1:bar-1]; rest = rest[bar+1:*] }
array MOST[words(lengths)]
do for [i=1:words(lengths)] {
    stats CSV using (stringcolumn('family') eq 'block-greedy' && column('K') == int(word(lengths, i)) ? column('accepted') : NaN) nooutput
    MOST[i] = STATS_max
}
set yrange [-0.02 : 0.7]
set multiplot layout 1,words(lengths) title 'What lossy rules pay for their tokens' font ',15'
do for [panel=1:words(lengths)] {
    K = int(word(lengths, panel))
    at(f) = stringcolumn('family') eq f && column('K') == K ? 1 + column('accepted') : NaN
    set title K == 1 ? 'drafts of one token' : sprintf('drafts of %d tokens', K)
    set xlabel 'tokens a round, E[n\_emitted]'
    set ylabel panel == 1 ? 'total variation of the tokens drafted for' : ''
    set xrange [1 : K + 1.05]
    if (panel == 1) { set key left top font ',10' } else { set key off }
    plot x <= 1 + MOST[panel] ? 0 : (x - 1 - MOST[panel]) / K with lines linecolor rgb 'black' dashtype 2 title 'no rule lies below', \
        for [i=1:n] CSV using (at(FAMILY[i])):(column('tv')) with linespoints linecolor i linewidth 0.5 pointtype point(i) \
            pointsize 0.8 title FAMILY[i]
}
unset multiplot
