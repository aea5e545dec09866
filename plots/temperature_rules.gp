# Tokens per round against temperature, a colour for each rule and its drafts.
# title: Temperature and rules
# row: T
# needs: T emitted emitted_se
# names: rule drafting draft
perturbed(i) = strstrt(draft_text[i], 'perturb') == 1
n_kinds = 2; array SHOWN[2]; SHOWN[1] = 0; SHOWN[2] = 0
do for [i=1:|draft_name|] { SHOWN[perturbed(i) + 1] = 1 }
array TITLE_OF[2] = ['drafts of another model', 'drafts perturbed from the target']
pairs = |rule_name| * |drafting_name|
array THERE[pairs]
key(r, d) = (r - 1) * |drafting_name| + d
do for [i=1:pairs] { THERE[i] = 0 }
stats $DATA using (i = key(column('rule'), column('drafting')), THERE[i] = 1, i) nooutput
label(i) = rule_name[(i - 1) / |drafting_name| + 1] . ', ' \
    . drafting_name[(i - 1) % |drafting_name| + 1]
series = ''; longest = 0
do for [i=1:pairs] { if (THERE[i]) { series = series . sprintf(' %d', i); longest = most(longest, \
    strlen(label(i))) } }
n = words(series)
pair(i) = item(series, i)
shown = SHOWN[1] + SHOWN[2]
TITLED = 1
XTITLE = 'temperature T'; YTITLE = 'tokens per round, ±2 s.e.'
eval panels(1, shown, n, longest)
stats $DATA using 'T':(column('emitted') + 2 * column('emitted_se')) nooutput
set xtics xstep(STATS_max_x)
set ytics ystep(STATS_max_y - 1)
set xrange [0 : STATS_max_x + 0.1]
set yrange [1 : 1.03 * STATS_max_y]
do for [p=1:2] {
    if (SHOWN[p]) {
        at(i) = key(column('rule'), column('drafting')) == pair(i) \
            && perturbed(column('draft')) == p - 1 ? column('T') : NaN
        set title TITLE_OF[p] font fit(32)
        plot for [i=1:n] $DATA using (at(i)):'emitted':(2 * column('emitted_se')) with yerrorlines \
            linecolor i pointtype point(i) notitle
        unset label
        set format y ''
    }
}
eval legend(0)
plot -1 notitle, \
    for [i=1:n] keyentry with linespoints linecolor i pointtype point(i) title label(pair(i))
unset multiplot
