# P-values of an exact sampler's tests, and the share of suspicious runs.
# title: {sampler}, tested {runs} times: {false alarms} false alarms at {false alarm rate}
# from: speclab validate --calibrate N --figure FILE
# needs: at share n
# row: at
# names: curve
# said: runs
# Left: the distance of p-values from uniform; 99 % of uniform samples stay within the band.
is(name, x) = curve_text[column('curve')] eq name ? x : NaN
is_test(i) = curve_text[i] ne 'run p' && curve_text[i] ne 'run e'
list = ''; longest = 20
do for [i=1:|curve_name|] { if (is_test(i)) {
    list = list . sprintf(' %d', i)
    longest = most(longest, strlen(curve_name[i]))
} }
n_tests = words(list)
test(i) = item(list, i)
eval panels_apart(0)
LEFT = LEFT + 1
eval panels(1, 2, n_tests + 4, longest)
unset title
set xlabel xwrap('p-value x')
set ylabel ywrap('√n (share of p-values up to x - x)')
set xrange [0:1]
away(i) = is_test(column('curve')) ? sqrt(column('n')) * (column('share') - column('at')) : 0
stats $DATA using (away(0)) nooutput
set xtics xstep(1)
set ytics ystep(most(1.63, STATS_max) + most(1.63, -STATS_min))
plot '+' using 1:(-1.63):(1.63) with filledcurves linecolor rgb '#e4e4e4' notitle, \
    for [i=1:n_tests] $DATA using (column('curve') == test(i) ? column('at') : NaN): \
        (sqrt(column('n')) * (column('share') - column('at'))) with lines \
            linecolor i dashtype 1 + (i - 1) / 8 notitle
set xlabel xwrap('a')
set ylabel ywrap('share of runs')
set xtics autofreq
set ytics autofreq
runs = number(said_runs)
runs = runs > 0 ? runs : 100
edge = 0.2 / runs
eval log_tics('x', edge, 1.5, across / 5)
eval log_tics('y', edge, 1.5, down / LINE)
# Zeros are drawn below all other shares of runs.
set ytics add ('0' edge)
set xrange [edge : 1.5]; set yrange [edge / 1.1 : 1.5]
shown(share) = share > 0 ? share : edge
plot x with lines linecolor rgb FAINT dashtype 2 notitle, \
    $DATA using (is('run p', column('at'))):(shown(column('share'))) with points \
        linecolor 1 pointtype 5 notitle, \
    '' using (is('run e', column('at'))):(shown(column('share'))) with points \
        linecolor 2 pointtype 7 notitle
eval legend(0)
plot -1 notitle, \
    for [i=1:n_tests] keyentry with lines linecolor i dashtype 1 + (i - 1) / 8 \
        title curve_name[test(i)], \
    keyentry with boxes fillstyle solid linecolor rgb '#e4e4e4' title '99 % band', \
    keyentry with lines linecolor rgb FAINT dashtype 2 title 'right: bound', \
    keyentry with points linecolor 1 pointtype 5 title 'p ≤ a, over all tests', \
    keyentry with points linecolor 2 pointtype 7 title 'e ≥ 1/a'
unset multiplot
