# Speed-up, tokens per round and acceptance of drafts over K, then the speed-up by category.
# title: Drafts of {target}
# from: speclab pair --target SPEC --draft SPEC -o FILE.csv
# row: K
# names: draft
# needs: K tokens_per_round conditional
# may name: category
# may use: speedup speedup_low speedup_high
# may use: tokens_per_round_low tokens_per_round_high conditional_low conditional_high
# said: target
optional(name, has) = has ? column(name) : NaN
# Rows of all texts have no category.
category_of(i) = has_category && column('category') == column('category') ? column('category') : 0
at(draft, category) = column('draft') == draft && category_of(0) == category ? column('K') : NaN
speedup(i) = optional('speedup', has_speedup)
# Without an interval the bar has no length.
end(x, y) = x == x ? x : y
speedup_low(i) = end(optional('speedup_low', has_speedup_low), speedup(0))
speedup_high(i) = end(optional('speedup_high', has_speedup_high), speedup(0))
tokens(i) = column('tokens_per_round')
tokens_low(i) = end(optional('tokens_per_round_low', has_tokens_per_round_low), tokens(0))
tokens_high(i) = end(optional('tokens_per_round_high', has_tokens_per_round_high), tokens(0))
accepted(i) = column('conditional')
accepted_low(i) = end(optional('conditional_low', has_conditional_low), accepted(0))
accepted_high(i) = end(optional('conditional_high', has_conditional_high), accepted(0))
stats $DATA using 'K' nooutput
first = STATS_min; last = STATS_max
highest = 1.0
if (has_speedup) {
    stats $DATA using (speedup(0)) nooutput
    if (found(0) > 0 && STATS_max > highest) { highest = STATS_max }
    # The interval of a few texts may be many times as high: it is cut, so that curves can be read.
    most_shown = 1.5 * highest
    stats $DATA using (speedup(0) == speedup(0) ? speedup_high(0) : NaN) nooutput
    if (found(0) > 0 && STATS_max > highest) {
        highest = STATS_max < most_shown ? STATS_max : most_shown
    }
}
stats $DATA using (tokens(0)) nooutput
most_tokens = found(0) > 0 && STATS_max > 1 ? STATS_max : 1.0
n = |draft_name|
longest = 0
do for [i=1:n] { longest = most(longest, strlen(draft_name[i])) }
# A narrow figure has room for the first two panels alone.
all = apart == 1
categories = 0
if (has_category && all) { categories = |category_name| }
DOWN = 3.4
eval panels_apart(0)
eval panels(1 + ceil(categories / 3.0), 2 + all, n, longest)
set offsets graph 0.04, graph 0.04, graph 0.05, 0
set xlabel xwrap('draft length K (tokens)')
set xrange [first - 0.3 : last + 0.3]
set xtics whole_step(last - first)
do for [p=0:categories] {
    set title (p == 0 ? 'Speed-up' : category_name[p]) font fit(16)
    set ylabel ywrap('over plain decoding')
    set yrange [0 : 1.05 * highest]
    set ytics ystep(highest)
    plot 1 with lines linecolor rgb FAINT dashtype 2 notitle, \
        for [i=1:n] $DATA using (at(i, p)):(speedup(0)) with lines linecolor i notitle, \
        for [i=1:n] '' using (at(i, p)):(speedup(0)):(speedup_low(0)):(speedup_high(0)) \
            with yerrorbars linecolor i pointtype point(i) notitle
    if (p == 0) {
        set title 'Tokens per round' font fit(16)
        set ylabel ywrap('tokens')
        set yrange [0 : 1.05 * most_tokens]
        set ytics ystep(most_tokens)
        plot for [i=1:n] $DATA using (at(i, 0)):(tokens(0)) with lines linecolor i notitle, \
            for [i=1:n] '' using (at(i, 0)):(tokens(0)):(tokens_low(0)):(tokens_high(0)) \
                with yerrorbars linecolor i pointtype point(i) notitle
    }
    if (p == 0 && all) {
        set title 'Acceptance by depth' font fit(16)
        set ylabel ywrap('share accepted of those reached')
        set xlabel xwrap('draft token')
        set yrange [0 : 1.05]
        set ytics ystep(1)
        plot for [i=1:n] $DATA using (at(i, 0)):(accepted(0)) with lines linecolor i notitle, \
            for [i=1:n] '' using (at(i, 0)):(accepted(0)):(accepted_low(0)):(accepted_high(0)) \
                with yerrorbars linecolor i pointtype point(i) notitle
        set xlabel xwrap('draft length K (tokens)')
    }
}
eval legend(0)
plot -1 notitle, for [i=1:n] keyentry with linespoints linecolor i pointtype point(i) \
    title draft_name[i]
unset multiplot
