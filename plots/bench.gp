# Left: speed-up over K, measured with its 95 % interval, beside Theorem 3.8 and the model with the costs of passes.
# Right: the time of a pass of n tokens over that of one, and the least that the device's measured roofline allows.
CSV = ARG1; OUT = ARG2; load ARG3
said(key) = system("sed -n 's/^# " . key . ": *//p' \"" . CSV . "\" | head -n 1")
stats CSV using 'K' nooutput
first = STATS_min; last = STATS_max
stats CSV using 'speedup_high' nooutput
high = STATS_max
stats CSV using 'pass':'target_pass_ratio' nooutput
widest = STATS_max_x; most = STATS_max_y
limited = strstrt(said('devices'), 'target') && said('roofline of [^:]*') ne ''
one = 1.0
if (limited) {
    stats CSV using (column('pass') == 1 ? column('target_pass_ms') : NaN) nooutput
    one = STATS_min
}
devices = said('devices')
if (strstrt(devices, ';')) { devices = devices[1:strstrt(devices, ';') - 1] }
where = strstrt(devices, 'gpu') ? devices : said('machine')
# What does not fit beside the other stands under it.
title = where . ': ' . said('decoding')
if (strlen(title) > 90) { title = where . "\n" . said('decoding') }
# Rows of chains that were drafted ahead have 1 in the column `ahead`.
ordinary(y) = column('ahead') == 0 ? column(y) : NaN
drafted_ahead(y) = column('ahead') == 1 ? column(y) : NaN
stats CSV using 'ahead' nooutput
any_ahead = STATS_max > 0 ? 1 : 0
set multiplot layout 1,2 title title font ',13'
set xlabel 'draft length K (tokens)'
set ylabel 'speed-up over plain decoding'
set title 'Predicted and measured'
set xrange [first - 0.5 : last + 0.5]
set yrange [0 : (high > 1 ? 1.3 * high : 1.35) * (any_ahead ? 1.2 : 1)]
set xtics 1
if (last - first > 12) { set xtics autofreq }
plot 1 with lines linecolor rgb '#999999' dashtype 2 notitle, \
    CSV using 'K':(ordinary('speedup_predicted')) with lines linetype 1 linewidth 1.6 \
        title 'Theorem 3.8', \
    '' using 'K':(ordinary('speedup_costed')) with lines linetype 3 linewidth 1.6 title 'with what passes cost', \
    '' using 'K':(ordinary('speedup')):'speedup_low':'speedup_high' with yerrorbars linetype 2 pointtype 7 \
        pointsize 0.8 title 'measured, 95 %', \
    for [i=1:any_ahead] '' using 'K':(drafted_ahead('speedup_predicted')) with lines linetype 4 linewidth 1.6 \
        title 'drafted ahead, predicted', \
    for [i=1:any_ahead] '' using 'K':(drafted_ahead('speedup_costed')) with lines linetype 4 dashtype 2 linewidth 1.6 \
        title 'with what passes cost', \
    for [i=1:any_ahead] '' using 'K':(drafted_ahead('speedup')):'speedup_low':'speedup_high' with yerrorbars \
        linetype 4 pointtype 5 pointsize 0.8 title 'measured, 95 %'
set title 'What a pass costs'
set xlabel 'tokens in a pass'
set ylabel 'time over that of one token'
set xrange [0.5 : widest + 0.5]
set yrange [0 : 1.25 * most]
set xtics autofreq
drafts = said('draft') ne ''
plot 1 with lines linecolor rgb '#999999' dashtype 2 notitle, \
    CSV using 'pass':'target_pass_ratio':(2 * column('target_pass_ratio_se')) smooth unique with lines linetype 1 notitle, \
    '' using 'pass':'target_pass_ratio':(2 * column('target_pass_ratio_se')) with yerrorbars linetype 1 pointtype 7 \
        pointsize 0.8 title 'target, ±2 s.e.', \
    for [i=1:limited] CSV using 'pass':(column('target_pass_limit_ms') / one) smooth unique with lines \
        linetype 3 dashtype 3 linewidth 1.6 title 'target, roofline', \
    for [i=1:drafts] '' using 'pass':'draft_pass_ratio':(2 * column('draft_pass_ratio_se')) with yerrorbars \
        linetype 2 pointtype 5 pointsize 0.8 title 'draft, ±2 s.e.'
unset multiplot
