# Acceptance by depth, and the speed-up against K, from an engine's log.
# title: From a log to a draft length
# from: speclab advise server.log --plain plain.log -o FILE.csv
# needs: K tokens_per_round
# row: K batch_from
# names: known_from
# may use: batch_from conditional conditional_low conditional_high
# may use: speedup speedup_low speedup_high best
# may use: tokens_per_round_low tokens_per_round_high
# Left: the share of tokens accepted at each depth, of those that reach it. Right:
# speed-ups with intervals, filled where K was run, and the best K. Without times: tokens/round.
optional(name, has) = has ? column(name) : NaN
# Rows of ranges of batches are not drawn.
whole(x) = has_batch_from && column('batch_from') == column('batch_from') ? NaN : x
K(i) = whole(column('K'))
stats $DATA using (K(0)) nooutput
if (found(0) == 0) { eval fail('no row has a draft length') }
last = STATS_max > 0 ? STATS_max : 1
depth(x) = column('K') >= 1 && x == x ? K(0) : NaN
n_depths = 0
if (has_conditional) {
    stats $DATA using (depth(column('conditional'))) nooutput
    n_depths = found(0) > 0 ? STATS_max : 0
}
timed = 0
if (has_speedup_low) {
    stats $DATA using (K(0) > 0 ? column('speedup_low') : NaN) nooutput
    timed = found(0) > 0
}
run = 0
do for [i=1:|known_from_name|] { if (known_from_text[i] eq 'run') { run = i } }
cell(name, has) = whole(optional(name, has))
measured(x) = run > 0 && column('known_from') == run ? x : NaN
best(x) = timed && has_best && column('best') == 1 ? x : NaN
gain(i) = timed ? cell('speedup', has_speedup) : whole(column('tokens_per_round'))
# Without an interval the band has no width; if there were a gap, its neighbours would bridge it.
end(x) = x == x ? x : gain(0)
low(i) = end(timed ? cell('speedup_low', has_speedup_low) \
    : cell('tokens_per_round_low', has_tokens_per_round_low))
high(i) = end(timed ? cell('speedup_high', has_speedup_high) \
    : cell('tokens_per_round_high', has_tokens_per_round_high))
eval panels_apart(0)
eval panels(1, 2, timed ? 5 : 3, 15)
unset title
set xlabel xwrap('depth (tokens)')
set ylabel ywrap('accepted, of tokens that reach the depth')
set xrange [0.5 : (n_depths > 0 ? n_depths : last) + 0.5]
set yrange [0 : 1]
set offsets 0, 0, 0, 0
set xtics whole_step(n_depths > 0 ? n_depths : last)
plot -1 notitle, \
    $DATA using (n_depths > 0 ? depth(column('conditional')) : NaN):(optional('conditional', \
        has_conditional)) with lines linecolor rgb FAINT notitle, \
    '' using (n_depths > 0 ? depth(column('conditional')) : NaN):(optional('conditional', \
        has_conditional)):(optional('conditional_low', \
        has_conditional_low)):(optional('conditional_high', has_conditional_high)) \
        with yerrorbars linecolor 1 pointtype 7 notitle, \
    '' using (n_depths > 0 ? depth(column('conditional')) : NaN):(optional('conditional', \
        has_conditional)) with points linecolor 1 pointtype 7 notitle
set xlabel xwrap('draft length K (tokens)')
set ylabel ywrap(timed ? 'speed-up over plain decoding' : 'tokens per round')
set xrange [-0.3 : last + 0.3]
set yrange [* : *]
set offsets 0, 0, graph 0.08, graph 0.08
set xtics whole_step(last)
plot 1 with lines linecolor rgb FAINT dashtype 2 notitle, \
    $DATA using (K(0)):(gain(0)):(low(0)):(high(0)) with yerrorbars linecolor 1 \
        pointtype 6 notitle, \
    '' using (K(0)):(timed ? NaN : gain(0)) with lines linecolor 1 notitle, \
    '' using (K(0)):(measured(gain(0))) with points linecolor 1 pointtype 7 notitle, \
    '' using (K(0)):(best(gain(0))) with points linecolor 2 pointtype 6 linewidth 2 \
        pointsize 2 * MARK notitle
eval legend(0)
plot -1 notitle, \
    keyentry with points linecolor 1 pointtype 7 title 'measured, 95 %', \
    keyentry with points linecolor 1 pointtype 6 title 'estimated, 95 %', \
    for [i=1:timed] keyentry with points linecolor 2 pointtype 6 linewidth 2 title 'best K', \
    for [i=1:timed] keyentry with lines linecolor rgb FAINT dashtype 2 title 'plain decoding'
unset multiplot
