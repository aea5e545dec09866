# Overlap of a draft that learns while it serves, batch by batch, a line for each way to learn.
# title: A draft that learns while it serves
# row: batch
# needs: batch alpha_mean
# names: learns phase
# may use: alpha_mean_se
# Each point is the mean of the batches since the previous point. Dotted lines mark changes of
# topic;
# the topic is above the panel.
optional(name, has) = has ? column(name) : 0
stats $DATA using 'batch':'alpha_mean' nooutput
if (found(0) == 0) { eval fail('no row has a batch and an overlap') }
first = least(0, STATS_min_x); last = STATS_max_x > first ? STATS_max_x : first + 1
longest = 1
do for [i=1:|learns_name|] { longest = most(longest, strlen(learns_name[i])) }
# Space above the panel for the topics.
TITLED = 1
eval panels(1, 1, |learns_name|, longest)
set xlabel 'batches'
set ylabel ywrap('mean overlap')
set xtics whole_step(last - first)
begin = first
do for [p=1:|phase_name|] {
    stats $DATA using (column('phase') == p ? column('batch') : NaN) nooutput
    if (found(0) > 0) {
        if (STATS_max < last) {
            set arrow p from STATS_max, graph 0 to STATS_max, graph 1 nohead \
                linecolor rgb FAINT dashtype 3
        }
        set label p phase_name[p] at 0.5 * (begin + STATS_max), graph 1 center offset 0,0.6 \
            font font(0.9)
        begin = STATS_max
    }
}
set xrange [first:last + 0.02 * (last - first)]
plot for [i=1:|learns_name|] $DATA using (column('learns') == i ? column('batch') : NaN): \
        'alpha_mean' with lines linecolor i notitle, \
    for [i=1:|learns_name|] '' using (column('learns') == i ? column('batch') : NaN): \
        'alpha_mean':(2 * optional('alpha_mean_se', has_alpha_mean_se)) with yerrorbars \
        linecolor i pointtype point(i) notitle
eval legend(0)
plot -1 notitle, for [i=1:|learns_name|] keyentry with linespoints linecolor i \
    pointtype point(i) title learns_name[i]
unset multiplot
