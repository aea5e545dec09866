# Times of requests, measured and simulated: their distributions, a panel for each machine and time.
# title: Measured and simulated times of requests
# row: level
# needs: level measured_ms simulated_ms
# names: machine time half split
# Where halves were predicted, fitted halves are left out, and so are costs that were given.
predicted = 0
do for [i=1:|half_name|] { if (half_text[i] eq 'predicted') { predicted = i } }
n = |split_name|
drawn(half) = predicted == 0 || half == predicted
meant(text) = text eq 'ttft' ? 'time to first token' : text eq 'tpot' ? 'time per token' : text
unit(text) = text eq 'tpot' ? 'ms' : 's'
size_of(text) = text eq 'tpot' ? 1.0 : 1000.0
axis(text) = sprintf('%s (%s)', meant(text), unit(text))
part(text) = text eq 'alternate' ? 'every other' : 'second half'
TITLED = 1
DOWN = 3.4
BOTTOM = 4.2
YTITLE = 'share of requests at or below'
eval panels(|machine_name|, |time_name|, 2 * n, 22)
set ytics 0.25
shown(m, t, s) = column('machine') == m && column('time') == t && column('split') == s \
    && drawn(column('half'))
do for [m=1:|machine_name|] {
    do for [t=1:|time_name|] {
        if (m + t > 2) { unset label }
        text = time_text[t]
        set format y (t == 1 ? '%g' : '')
        set title machine_name[m] font fit(strlen(machine_name[m]))
        set xlabel axis(text) font font(0.75)
        set xrange [*:*]; set yrange [*:*]
        stats $DATA using (column('machine') == m && column('time') == t \
            && drawn(column('half')) ? column('measured_ms') / size_of(text) : NaN) nooutput
        low = found(0) > 0 ? STATS_min : 0; high = found(0) > 0 ? STATS_max : 1
        if (high <= low) { high = low + 1 }
        set yrange [0:1]
        set xrange [low - 0.05 * (high - low) : high + 0.05 * (high - low)]
        set xtics xstep(2 * (high - low))
        plot for [s=1:n] $DATA using (shown(m, t, s) ? column('simulated_ms') / size_of(text) \
                : NaN):'level' with lines linecolor s notitle, \
            for [s=1:n] '' using (shown(m, t, s) ? column('measured_ms') / size_of(text) \
                : NaN):'level' with points linecolor s pointtype point(s) notitle
    }
}
eval legend(0)
plot -1 notitle, \
    for [s=1:n] keyentry with points linecolor s pointtype point(s) \
        title 'measured, '.part(split_text[s]), \
    for [s=1:n] keyentry with lines linecolor s title 'simulated, '.part(split_text[s])
unset multiplot
