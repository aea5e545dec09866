# Alpha over temperature, a curve for each way of drafting.
CSV = ARG1; OUT = ARG2; load ARG3
regimes = ''
stats CSV using (t = stringcolumn('regime'), \
    regimes = (strstrt('|' . regimes . '|', '|' . t . '|') ? regimes : regimes . (strlen(regimes) ? '|' : '') . t), \
    column('T')) nooutput
n = 1; do for [i=1:strlen(regimes)] { if (regimes[i:i] eq '|') { n = n + 1 } }
array NAME[n]
rest = regimes
do for [i=1:n] { bar = strstrt(rest, '|'); NAME[i] = bar ? rest[1:bar-1] : rest; rest = bar ? rest[bar+1:*] : '' }
set xlabel 'temperature of the target, T'
set ylabel 'acceptance rate α'
set xrange [STATS_min - 0.05 : STATS_max + 0.05]
set yrange [0:1]
set title 'Temperature and acceptance'
of(i) = stringcolumn('regime') eq NAME[i] ? column('T') : NaN
plot for [i=1:n] CSV using (of(i)):(column('alpha_mean')):(2 * column('alpha_mean_se')) \
    with yerrorlines linecolor i pointtype point(i) pointsize 0.8 title NAME[i] . ' (±2 s.e.)'
