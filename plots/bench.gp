# Measured speed-up against K, with its predictions, and the time of a pass.
# title: {machine}: {decoding}
# from: speclab bench -o FILE.csv
# row: K ahead
# needs: K pass target_pass_ratio target_pass_ms
# may use: speedup speedup_low speedup_high speedup_predicted speedup_costed
# may use: ahead target_pass_ratio_se target_pass_limit_ms draft_pass_ratio draft_pass_ratio_se
# said: devices, decoding
# The title names the GPU, if there is one, instead of the machine.
card = strstrt(said_devices, 'gpu') ? said_devices : ''
if (card ne '' && strstrt(card, ';')) { card = card[1:strstrt(card, ';') - 1] }
if (card ne '' && !TITLE_GIVEN) { TITLE = wrap(card . ': ' . said_decoding, title_room) }
optional(name, has) = has ? column(name) : NaN
# The column ahead is 1 in rows of chains that are drafted ahead.
is_ahead(i) = optional('ahead', has_ahead) == 1
measured(i) = optional('speedup', has_speedup)
low(i) = optional('speedup_low', has_speedup_low)
high(i) = optional('speedup_high', has_speedup_high)
predicted(i) = optional('speedup_predicted', has_speedup_predicted)
costed(i) = optional('speedup_costed', has_speedup_costed)
at(ahead) = is_ahead(0) == ahead ? column('K') : NaN
stats $DATA using 'pass' nooutput
widest = STATS_max
stats $DATA using 'K' nooutput
first = STATS_min; last = STATS_max
# A withheld speed-up is an empty cell, and all of them may be withheld.
stats $DATA using (high(0) > 1 ? high(0) : 1) nooutput
highest = STATS_max
any_ahead = 0
if (has_ahead) { stats $DATA using 'ahead' nooutput; any_ahead = STATS_max > 0 }
stats $DATA using (column('pass') == 1 ? column('target_pass_ms') : NaN) nooutput
one = found(0) > 0 ? STATS_min : NaN
limited = has_target_pass_limit_ms && one == one
ratio(i) = column('target_pass_ratio')
draft_ratio(i) = optional('draft_pass_ratio', has_draft_pass_ratio)
limit(i) = optional('target_pass_limit_ms', has_target_pass_limit_ms) / one
costliest = 1
stats $DATA using (costliest = ratio(0) > costliest ? ratio(0) : costliest, \
    costliest = draft_ratio(0) > costliest ? draft_ratio(0) : costliest, \
    costliest = limited && limit(0) > costliest ? limit(0) : costliest, 0) nooutput
se(i) = optional('target_pass_ratio_se', has_target_pass_ratio_se)
draft_se(i) = optional('draft_pass_ratio_se', has_draft_pass_ratio_se)
# Error bars are cut at 0.
below(y, half) = least(y, most(0, y - 2 * half))
eval panels_apart(0)
eval panels(1, 2, 4 + 3 * any_ahead + limited + has_draft_pass_ratio, 23)
set offsets graph 0.04, graph 0.04, graph 0.05, 0
set xlabel xwrap('draft length K (tokens)')
set ylabel ywrap('speed-up over plain decoding, 95 % interval')
set title 'Predicted and measured' font fit(24)
set xrange [first - 0.5 : last + 0.5]
set yrange [0 : 1.05 * highest]
set ytics ystep(highest)
set xtics whole_step(last - first)
plot 1 with lines linecolor rgb FAINT dashtype 2 notitle, \
    $DATA using (at(0)):(predicted(0)) with lines linetype 3 linewidth 1.6 notitle, \
    '' using (at(0)):(costed(0)) with lines linetype 3 dashtype 2 linewidth 1.6 notitle, \
    '' using (at(0)):(measured(0)):(low(0)):(high(0)) with yerrorbars linetype 3 pointtype 7 \
        notitle, \
    for [i=1:any_ahead] '' using (at(1)):(predicted(0)) with lines linetype 4 linewidth 1.6 \
        notitle, \
    for [i=1:any_ahead] '' using (at(1)):(costed(0)) with lines linetype 4 dashtype 2 \
        linewidth 1.6 notitle, \
    for [i=1:any_ahead] '' using (at(1)):(measured(0)):(low(0)):(high(0)) with yerrorbars \
        linetype 4 pointtype 5 notitle
set title 'Time of a pass' font fit(24)
set xlabel xwrap('tokens in a pass')
set ylabel ywrap('time relative to one token, ±2 s.e.')
set xrange [*:*]
# The points set the scale: error bars from few texts may be many times as long.
set yrange [0 : 1.15 * costliest]
set ytics ystep(1.15 * costliest)
set xtics whole_step(widest)
plot 1 with lines linecolor rgb FAINT dashtype 2 notitle, \
    $DATA using 'pass':'target_pass_ratio' smooth unique with lines linecolor rgb TARGET notitle, \
    '' using 'pass':(ratio(0)):(below(ratio(0), se(0))):(ratio(0) + 2 * se(0)) \
        with yerrorbars linecolor rgb TARGET pointtype 7 notitle, \
    for [i=1:limited] '' using 'pass':(limit(0)) smooth unique with lines \
        linecolor rgb TARGET dashtype 3 linewidth 1.6 notitle, \
    for [i=1:has_draft_pass_ratio] '' using 'pass':(draft_ratio(0)): \
        (below(draft_ratio(0), draft_se(0))):(draft_ratio(0) + 2 * draft_se(0)) \
        with yerrorbars linecolor rgb DRAFT pointtype 5 notitle
eval legend(0)
command = "plot -1 notitle, keyentry with lines linetype 3 linewidth 1.6 title 'Theorem 3.8'" \
    . ", keyentry with lines linetype 3 dashtype 2 linewidth 1.6" \
    . " title 'from costs of passes'" \
    . ", keyentry with points linetype 3 pointtype 7 title 'measured'"
if (any_ahead) {
    command = command . ", keyentry with lines linetype 4 linewidth 1.6 title 'ahead, predicted'" \
        . ", keyentry with lines linetype 4 dashtype 2 linewidth 1.6 title 'ahead, from costs'" \
        . ", keyentry with points linetype 4 pointtype 5 title 'ahead, measured'"
}
command = command \
    . ", keyentry with linespoints linecolor rgb TARGET pointtype 7 title 'right: target'"
if (limited) { command = command \
    . ", keyentry with lines linecolor rgb TARGET dashtype 3 linewidth 1.6" \
    . " title 'right: target, roofline'" }
if (has_draft_pass_ratio) { command = command \
    . ", keyentry with points linecolor rgb DRAFT pointtype 5 title 'right: draft'" }
eval command
unset multiplot
