# Measured and predicted speed-up of a live server against K, a panel for each concurrency.
# title: Speed-up of a live server
# from: speclab drive --url URL --prompts FILE -o FILE.csv
# row: concurrency K
# names: concurrency
# needs: K speedup
# may name: category
# may use: speedup_low speedup_high speedup_predicted speedup_perfect
# Points are measured, the line is predicted from acceptance and round times, and the dashed line is
# what a perfect draft would give.
optional(name, has) = has ? column(name) : NaN
# Rows of categories are not drawn.
whole(x) = has_category && column('category') == column('category') ? NaN : x
at(level) = column('concurrency') == level ? whole(column('K')) : NaN
measured(i) = column('speedup')
# Without an interval the bar has no length.
end(x) = x == x ? x : measured(0)
low(i) = end(optional('speedup_low', has_speedup_low))
high(i) = end(optional('speedup_high', has_speedup_high))
predicted(i) = optional('speedup_predicted', has_speedup_predicted)
perfect(i) = optional('speedup_perfect', has_speedup_perfect)
stats $DATA using (whole(column('K'))) nooutput
if (found(0) == 0) { eval fail('no row has a draft length') }
first = STATS_min; last = STATS_max
stats $DATA using (whole(high(0) > 1 ? high(0) : 1)) nooutput
highest = found(0) > 0 ? STATS_max : 1
if (has_speedup_perfect) {
    stats $DATA using (whole(perfect(0))) nooutput
    if (found(0) > 0 && STATS_max > highest) { highest = STATS_max }
}
n = |concurrency_name|
wide = n > 3 ? ceil(sqrt(n)) : n
tall = ceil(1.0 * n / wide)
TITLED = 1
DOWN = 2.6
YTITLE = 'speed-up over K = 0, 95 % interval'
XTITLE = 'draft length K (tokens)'
eval panels(tall, wide, 3, 16)
set offsets graph 0.04, graph 0.04, graph 0.05, 0
set xrange [first - 0.3 : last + 0.3]
set yrange [0 : 1.05 * highest]
set ytics ystep(highest)
set xtics whole_step(last - first)
do for [i=1:n] {
    if (i > 1) { unset label }
    set format y ((i - 1) % wide == 0 ? '%g' : '')
    set title concurrency_name[i] . ' at a time' font fit(14)
    plot 1 with lines linecolor rgb FAINT dashtype 2 notitle, \
        $DATA using (at(i)):(perfect(0)) with lines linetype 3 dashtype 2 linewidth 1.6 notitle, \
        '' using (at(i)):(predicted(0)) with lines linetype 3 linewidth 1.6 notitle, \
        '' using (at(i)):(measured(0)):(low(0)):(high(0)) with yerrorbars linetype 3 pointtype 7 \
            notitle
}
eval legend(0)
plot -1 notitle, keyentry with points linetype 3 pointtype 7 title 'measured', \
    keyentry with lines linetype 3 linewidth 1.6 title 'predicted', \
    keyentry with lines linetype 3 dashtype 2 linewidth 1.6 title 'perfect draft'
unset multiplot
