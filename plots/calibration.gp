# An exact sampler tested many times: left how far the p-values of each test are from uniform, in units in which 99 % of
# uniform samples stay within the band; right how often the whole of a run was as suspicious as a, beside the bound a.
CSV = ARG1; OUT = ARG2; load ARG3
told(what) = system("sed -n 's/^# " . what . ": //p' \"" . CSV . "\"")
tests = system("sed -n -e '/^#/d' -e '/^curve,/d' -e '/^run /d' -e 's/,.*//p' \"" . CSV . "\" | uniq")
is(name, x) = strcol('curve') eq name ? x : NaN
set multiplot layout 1,2 title told('sampler') . ', tested ' . told('runs') . ' times: ' . told('false alarms') . \
    ' false alarms at ' . told('alpha') noenhanced
set xlabel 'p-value x'
set ylabel "√n (share of p-values up to x - x)"
set yrange [-5:2.5]; set xrange [0:1]
set key inside bottom center opaque maxrows 8 samplen 1 width 0 font ',8'
plot '+' using 1:(-1.63):(1.63) with filledcurves linecolor rgb '#eeeeee' title '99 % band', \
    for [i=1:words(tests)] CSV using (is(word(tests, i), column('at'))):(sqrt(column('n')) * \
        (column('share') - column('at'))) with lines linecolor i dashtype int((i - 1) / 8) + 1 linewidth 1.2 \
        noenhanced title word(tests, i)
set xlabel 'a'
set ylabel 'share of runs'
set logscale xy
runs = told('runs') + 0
set xrange [0.2 / runs:1.5]; set yrange [0.2 / runs:1.5]
set format x '10^{%T}'; set format y '10^{%T}'
set key inside top left font ',11'
plot x with lines linecolor rgb '#999999' dashtype 2 title 'bound', \
    CSV using (is('run p', column('at'))):(column('share')) with points linecolor 1 pointtype 5 \
        pointsize 0.6 title 'p ≤ a, over all tests', \
    '' using (is('run e', column('at'))):(column('share')) with points linecolor 2 pointtype 7 pointsize 0.6 \
        title 'e ≥ 1/a'
unset multiplot
