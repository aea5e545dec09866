# Speed-up over the configured draft length (the most tokens a round may draft; where the heuristic begins), a curve for
# each policy.
CSV = ARG1; OUT = ARG2; load ARG3
names = ''
stats CSV using (t = stringcolumn('policy'), \
    names = (strstrt(' ' . names . ' ', ' ' . t . ' ') ? names : names . ' ' . t), column('K')) nooutput
set xlabel 'configured draft length K (tokens)'
set ylabel 'speed-up over plain decoding'
set xrange [STATS_min - 0.3 : STATS_max + 0.3]
set key outside right top
set title 'Length policies on real text'
of(i) = stringcolumn('policy') eq word(names, i) ? column('K') : NaN
plot 1 with lines linecolor rgb '#999999' dashtype 2 notitle, \
    for [i=1:words(names)] CSV using (of(i)):(column('speedup')):(2 * column('speedup_se')) \
        with yerrorlines linecolor i pointtype point(i) pointsize 0.8 noenhanced title word(names, i)
