# Total variation against tokens per round, a panel for each K, a colour for each family.
# title: Lossy rules: total variation against tokens per round
# row: K
# needs: tv mean_n_accepted
# may use: front_tv
# names: rule family K
# A point's label shows the values of its settings, if it fits; the legend names them.
# A small figure has no labels. Families of lossless rules share a colour.
labels = WIDTH >= 45
LABEL = 0.75
settings(text) = strstrt(text, '?') ? text[strstrt(text, '?') + 1:*] : ''
rest(text) = strstrt(text, '&') ? text[strstrt(text, '&') + 1:*] : ''
pair(text) = strstrt(text, '&') ? text[1:strstrt(text, '&') - 1] : text
keys(text) = text eq '' ? '' : pair(text)[1:strstrt(pair(text), '=') - 1] . (rest(text) eq '' \
    ? '' : ', ' . keys(rest(text)))
values(text) = text eq '' ? '' : pair(text)[strstrt(pair(text), '=') + 1:*] . (rest(text) eq '' \
    ? '' : ', ' . values(rest(text)))
n = |family_name|; n_K = |K_name|
is_lossy(f) = strstrt(family_name[least(f, n)], '(lossy)') > 0
lossy_before(f) = sum [i=1:f] is_lossy(i)
tone(f) = !is_lossy(f) ? sprintf('#%06x', LOSSLESS) \
    : word(COLOURS, int(word('1 2 4 5 6 7 8', (lossy_before(f) - 1) % 7 + 1)))
ink_of(f) = between(int('0x' . tone(f)[2:7]), 0x000000, 0.35)
array LEGEND_OF[n]
do for [i=1:n] { LEGEND_OF[i] = '' }
stats $DATA using (f = column('family'), \
    LEGEND_OF[f] = keys(settings(rule_text[column('rule')])), 0) nooutput
longest = 19
legend_of(i) = family_name[i] . (!labels || LEGEND_OF[i] eq '' ? '' : ': ' . LEGEND_OF[i])
do for [i=1:n] { longest = most(longest, strlen(legend_of(i))) }
array LOW[n_K]
front(i) = has_front_tv ? column('front_tv') : NaN
do for [k=1:n_K] {
    stats $DATA using (column('K') == k ? 1 + column('mean_n_accepted') : NaN) nooutput
    LOW[k] = found(0) > 0 ? STATS_min : 1
}
stats $DATA using (column(0)) nooutput
n_rows = int(STATS_max) + 1
stats $DATA using 'tv' nooutput
high = most(STATS_max, 0.1)
columns = panel_columns(n_K); rows = panel_rows(n_K)
TITLED = 1
ACROSS = 2.5
if (rows > 1) { DOWN = 2.4 }
XTITLE = 'tokens per round'; YTITLE = 'total variation of the tokens drafted for'
eval panels(rows, columns, n + 1, longest)
set ytics ystep(1.15 * high)
set yrange [-0.03 * high : 1.12 * high]
at(k, f) = column('K') == k && column('family') == f ? 1 + column('mean_n_accepted') : NaN
labelled(k, f) = PLACED[int(column(0)) + 1] ? at(k, f) : NaN
array FROM[n_K]; array TO[n_K]
do for [k=1:n_K] {
    FROM[k] = least(LOW[k], 1 + K_value[k] * 0.5) - 0.12 * K_value[k]
    TO[k] = K_value[k] + 1.12
}
# Labels are to the left and right of points in turn, and never cover a mark or another label.
# Marks and labels are boxes in em, marks first.
label(i) = values(settings(rule_text[column('rule')]))
is_left(i) = int(column('family')) % 2
array PLACED[n_rows]; array X[2 * n_rows]; array Y[2 * n_rows]; array LENGTH[2 * n_rows]
put(x, y, length) = (n_boxes = n_boxes + 1, X[n_boxes] = x, Y[n_boxes] = y, \
    LENGTH[n_boxes] = length)
covers(x, y, length) = (sum [i=1:n_boxes] (x < X[i] + LENGTH[i] && X[i] < x + length \
    && abs(y - Y[i]) < (i <= n_marks ? 0.6 : 0.9)))
x_em(k) = (1 + column('mean_n_accepted') - FROM[k]) / (TO[k] - FROM[k]) * across
y_em(i) = column('tv') / (1.15 * high) * down
do for [k=1:n_K] {
    if (k > 1) { unset label }
    if ((k - 1) % columns > 0) { set format y '' } else { set format y '%g' }
    set xrange [FROM[k] : TO[k]]
    set xtics xstep(TO[k] - LOW[k])
    n_boxes = 0
    stats $DATA using (column('K') == k ? put(x_em(k) - 0.3, y_em(0), 0.6) : 0, 0) nooutput
    n_marks = n_boxes
    stats $DATA using (row = int(column(0)) + 1, long = LABEL * CHARACTER * strlen(label(0)), \
        x = x_em(k) + (is_left(0) ? -0.6 - long : 0.6), y = y_em(0) + (is_left(0) ? 0.2 : -0.2), \
        PLACED[row] = column('K') == k && long > 0 && labels && x > 0 \
            && x + long < across + ACROSS && !covers(x, y, long), \
        PLACED[row] ? put(x, y, long) : 0, 0) nooutput
    set title sprintf(K_value[k] == 1 ? 'drafts of %g token' : 'drafts of %g tokens', K_value[k])
    plot $DATA using (column('K') == k ? 1 + column('mean_n_accepted') : NaN):(front(0)) \
            smooth unique with lines linecolor rgb 'black' dashtype 2 notitle, \
        for [f=1:n] $DATA using (at(k, f)):'tv' with linespoints linecolor rgb tone(f) \
            linewidth 0.5 pointtype point(f) notitle, \
        for [f=1:n:2] '' using (labelled(k, f)):'tv':(label(0)) with labels right \
            font font(LABEL) textcolor rgb ink_of(f) offset -0.8, 0.2 notitle, \
        for [f=2:n:2] '' using (labelled(k, f)):'tv':(label(0)) with labels left \
            font font(LABEL) textcolor rgb ink_of(f) offset 0.8, -0.2 notitle
}
eval legend(0)
plot -1 notitle, \
    for [f=1:n] keyentry with linespoints linecolor rgb tone(f) linewidth 0.5 pointtype point(f) \
        title legend_of(f), \
    keyentry with lines linecolor rgb 'black' dashtype 2 \
        title has_front_tv ? 'no rule lies below' : ''
unset multiplot
