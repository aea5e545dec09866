# Time of a pass of n tokens over the time of a pass of one, for each kind of hardware.
CSV = ARG1; OUT = ARG2; load ARG3
names = ''
stats CSV using (t = stringcolumn('hardware'), \
    names = (strstrt(' ' . names . ' ', ' ' . t . ' ') ? names : names . ' ' . t), column('n_tokens')) nooutput
array ONE[words(names)]
of(i) = stringcolumn('hardware') eq word(names, i)
do for [i=1:words(names)] {
    stats CSV using (of(i) && column('n_tokens') == 1 ? column('time_ms') : NaN) nooutput
    ONE[i] = STATS_min
}
set xlabel 'tokens in a pass'
set ylabel 'time of a pass over that of one token'
set logscale xy 2
set key left top
set title 'Roofline: a pass reads the weights once'
plot for [i=1:words(names)] CSV using (of(i) ? column('n_tokens') : NaN):(column('time_ms') / ONE[i]) \
        with linespoints linecolor i pointtype point(i) pointsize 0.8 \
        title sprintf('%s (one token: %.2f ms)', word(names, i), ONE[i])
