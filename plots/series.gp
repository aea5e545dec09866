# Curves and points in one panel, or several with the same axes.
longest = 0
do for [k=1:KEYS] { longest = most(longest, strlen(KEY_TITLE[k])) }
widest = 0
do for [i=1:NAMES] { widest = most(widest, breadth(NAME[i])) }
columns = panel_columns(PANELS); rows = panel_rows(PANELS)
# Names beside the vertical axis are horizontal; below an axis they are upright if they do not fit.
upright = 0
if (NAMES && SIDEWAYS) { LEFT = beside_rows(widest, NAMES * rows); RIGHT = 2 }
if (NAMES && !SIDEWAYS) {
    upright = NAMES * columns * (widest + 1) > WIDTH - 8
    if (upright) { BOTTOM = 2.6 + widest; names_long = widest }
}
# Space for the longest label beside the axis: a power of ten if the axis is logarithmic.
if (!SIDEWAYS) {
    unit = YSPAN > 0 ? step(YSPAN, 10) : 1
    first = YSPAN > 0 ? ceil(YLOW / unit) : floor(log10(YLOW))
    last = YSPAN > 0 ? floor(YHIGH / unit) : floor(log10(YHIGH))
    do for [i=0:int(last - first)] {
        tic = YSPAN > 0 ? (first + i) * unit : 10.0 ** (first + i)
        LEFT = most(LEFT, beside_tics(strlen(sprintf('%g', tic))))
    }
}
XTITLE = XAXIS; YTITLE = YAXIS
eval panels(rows, columns, KEYS, longest)
# As many tics as fit, at whole numbers if the values are whole.
if (WHOLE) { set xtics whole_step(LAST - FIRST) }
if (XSPAN > 0) { set xtics xstep(XSPAN) }
if (YSPAN > 0) { set ytics ystep(YSPAN) }
if (XLISTED * CHARACTER > across) { XLISTED = 0 }
if (XLOG > 0 && XLISTED == 0) { eval log_tics('x', XLOG, XHIGH, across / 5) }
if (YLOG > 0) { eval log_tics('y', YLOG, YHIGH, down / LINE) }
if (NAMES && SIDEWAYS) { rows_font = fit_rows(NAMES); set ytics font rows_font }
widest = 1
do for [p=1:PANELS] { widest = most(widest, strlen(PANEL[p])) }
if (upright) { set xtics rotate by 90 right }
# If there are more ORDERED colours than distinct ones, they are graded: colours of numbers, and
# colours that marks do not distinguish.
tint(i) = i == 0 ? '#000000' : ORDERED > 8 ? graded(i, ORDERED) : word(COLOURS, (i - 1) % 8 + 1)
mark(i) = i == 0 ? -1 : point(i)
# At a name, the series (if many, the styles) are drawn a little apart.
lanes = |SHAPE| <= 6 ? |SHAPE| : 1
do for [s=1:|SHAPE|] { if (|SHAPE| > 6) { lanes = most(lanes, SHAPE[s]) } }
lane(s) = SIDEWAYS ? 0.6 * ((|SHAPE| <= 6 ? s : SHAPE[s]) - (lanes + 1) / 2.0) / lanes : 0
place(p, s) = column('panel') == p && column('series') == s ? column('at') + lane(s) : NaN
# Where colours coincide, the later ones are smaller and thinner.
size(s) = NESTED ? MARK * nested(COLOUR[s], NESTED) : MARK
thick(s) = NESTED ? nested(COLOUR[s], NESTED) : 1

# Clauses of a plot command: the line of one series, and its points with or without error bars.
line(p, s, name) = sprintf(', $DATA using (place(%d, %d)):"%s" with lines', p, s, name) \
    . sprintf(' linecolor rgb tint(COLOUR[%d]) dashtype DASH[%d] linewidth thick(%d)', s, s, s) \
    . ' notitle'
drawn(s) = sprintf(' linecolor rgb tint(COLOUR[%d]) pointtype mark(SHAPE[%d])', s, s) \
    . sprintf(' pointsize size(%d) notitle', s)
dots(p, s, bars) = ', $DATA using ' . (SIDEWAYS ? '"value":' : '') \
    . sprintf('(place(%d, %d))', p, s) . (SIDEWAYS ? '' : ':"value"') \
    . (bars ? ':"low":"high"' : '') . ' with ' . (bars ? (SIDEWAYS ? 'xerrorbars' \
        : 'yerrorbars') : 'points') . drawn(s)
# The same points with their numbers, which are shown under the mouse.
number_at(p, s) = (NAMES ? '' : sprintf('sprintf("%%.6g, ", place(%d, %d)).', p, s)) \
    . 'sprintf("%.6g", column("value"))'
tips(p, s) = ', $DATA using ' . (SIDEWAYS ? '"value":' : '') . sprintf('(place(%d, %d))', p, s) \
    . (SIDEWAYS ? '' : ':"value"') . ':(' . number_at(p, s) . ') with labels hypertext point' \
    . drawn(s)
number_of(list, i) = int(word(list, i) + 0)
# The bars of series s next to those of the others, from BARS_FROM, with error bars on top.
bar = 0.8 / |SHAPE|
slot(p, s) = place(p, s) + (s - (|SHAPE| + 1) / 2.0) * bar
fill(s) = tint(COLOUR[s])
box(p, s) = ', $DATA using ' . (SIDEWAYS \
        ? sprintf('"value":(slot(%d, %d)):(BARS_FROM):"value"', p, s) \
            . sprintf(':(slot(%d, %d) - bar / 2):(slot(%d, %d) + bar / 2)', p, s, p, s) \
        : sprintf('(slot(%d, %d)):"value":(slot(%d, %d) - bar / 2)', p, s, p, s) \
            . sprintf(':(slot(%d, %d) + bar / 2):(BARS_FROM):"value"', p, s)) \
    . sprintf(' with boxxyerror fillstyle solid 0.8 noborder linecolor rgb fill(%d) notitle', s)
length = 'column("high") - column("low")'
whisker(p, s) = ', $DATA using ' . (SIDEWAYS \
        ? sprintf('"low":(slot(%d, %d)):(%s):(0)', p, s, length) \
        : sprintf('(slot(%d, %d)):"low":(0):(%s)', p, s, length)) \
    . " with vectors heads size screen 0.004,90 linecolor rgb '#404040' notitle"

# The line at 1 that divides gain from loss, if the values have such a line.
one = SIDEWAYS ? 'from 1, graph 0 to 1, graph 1' : 'from graph 0, first 1 to graph 1, first 1'
if (ONE) { eval 'set arrow 1 ' . one . ' nohead linecolor rgb FAINT dashtype 2 back' }
if (NAMES && SIDEWAYS) { set ytics ('' 1) }
if (NAMES && !SIDEWAYS) { set xtics ('' 1) }
do for [p=1:PANELS] {
    if (p > 1) { unset label }
    if (PANELS > 1) { set title PANEL[p] font fit(widest) }
    # Only the outer panels have numbers or names at their tics.
    bottom = p + columns > PANELS; left = (p - 1) % columns == 0
    if (bottom) { set format x '%g' } else { set format x '' }
    if (left) { set format y '%g' } else { set format y '' }
    # A logarithmic axis shows zeros at its low end.
    if (XZERO > 0) { set xtics add ((bottom ? '0' : '') XZERO) }
    if (YZERO > 0) { set ytics add ((left ? '0' : '') YZERO) }
    if (SIDEWAYS) { do for [i=1:NAMES] { set ytics add ((left ? NAME[i] : '') i) } }
    if (!SIDEWAYS) { do for [i=1:NAMES] { set xtics add ((bottom ? NAME[i] : '') i) } }
    command = ''
    do for [i=1:words(JOIN[p])] { command = command . line(p, number_of(JOIN[p], i), 'value') }
    do for [i=1:words(THEORY[p])] { command = command . line(p, number_of(THEORY[p], i), 'theory') }
    both = BARS[p] . ' ' . DOTS[p]
    if (BOXES) {
        do for [i=1:words(both)] { command = command . box(p, number_of(both, i)) }
        do for [i=1:words(BARS[p])] { command = command . whisker(p, number_of(BARS[p], i)) }
    } else {
        do for [i=1:words(BARS[p])] { command = command . dots(p, number_of(BARS[p], i), 1) }
        do for [i=1:words(DOTS[p])] { command = command . dots(p, number_of(DOTS[p], i), 0) }
    }
    shown = MOUSE ? both : ''
    do for [i=1:words(shown)] { command = command . tips(p, number_of(shown, i)) }
    eval 'plot ' . command[3:*]
}
eval legend(0)
command = 'plot -1 notitle'
do for [k=1:KEYS] {
    style = KEY_DASH[k] > 0 ? sprintf('linespoints dashtype KEY_DASH[%d]', k) : 'points'
    command = command . ', keyentry with ' \
        . (BOXES ? 'boxes fillstyle solid 0.8 noborder' \
            : style . sprintf(' pointtype mark(KEY_SHAPE[%d])', k)) \
        . sprintf(' linecolor rgb tint(KEY_COLOUR[%d]) title KEY_TITLE[%d]', k, k)
}
eval command
unset multiplot
