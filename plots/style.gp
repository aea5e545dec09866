# Shared by every figure: tics, grid, and the places of panels, titles and legend.
# speclab first sets the terminal and these variables:
#   SIZE     font size in the terminal's unit
#   WIDTH    width of the figure, and HEIGHT its height, in em (font sizes)
#   TITLE    the title, one line; TITLE_GIVEN is 1 if the user chose it, or chose none
#   LEGEND   'auto', 'right', 'bottom' or 'none'
#   MARK     size of a point, SPACING spacing of the legend, and LIFT of labels of tics, in em
#   TIKZ     1 if LaTeX typesets the text
# Theory is a line, simulation a point with an error bar of two standard errors.
set encoding utf8
set datafile separator comma
set datafile columnheaders
set datafile missing NaN

# Colours that stay distinct in print and for colour-blind readers (Okabe and Ito), and marks that
# stay distinct when small: 120 pairs. COLOURS and marks tell series apart; the named colours below
# have one meaning in all figures and on the page of `make web`.
COLOURS = '#0072B2 #D55E00 #009E73 #CC79A7 #E69F00 #56B4E9 #000000 #999999'
GAIN = 0x00588E; EVEN = 0xF3F1EB; LOSS = 0xD55E00
TARGET = 0x0072B2; DRAFT = 0xE69F00
ACCEPTED = 0x009E73; CORRECTION = 0xD55E00; BONUS = 0xCC79A7
LOSSLESS = 0x009E73
FAINT = '#999999'
do for [i=1:8] { set linetype i linecolor rgb word(COLOURS, i) }
set linetype cycle 8
array POINT[15] = [7, 5, 9, 13, 6, 4, 2, 1, 11, 8, 12, 10, 3, 15, 14]
point(i) = POINT[int(i - 1) % 15 + 1]
# A colour between two others, and the i-th of n colours from dark to light (viridis).
channel(from, to, share, shift) = \
    int(((from >> shift) & 255) * (1 - share) + ((to >> shift) & 255) * share + 0.5) << shift
between(from, to, share) = sprintf('#%06x', channel(from, to, share, 16) \
    + channel(from, to, share, 8) + channel(from, to, share, 0))
array VIRIDIS[5] = [0x440154, 0x3B528B, 0x21918C, 0x5EC962, 0xE6D214]
stage(x) = x < 4 ? int(x) : 3
graded(i, n) = between(VIRIDIS[stage(4.0 * (i - 1) / (n - 1)) + 1], \
    VIRIDIS[stage(4.0 * (i - 1) / (n - 1)) + 2], \
    4.0 * (i - 1) / (n - 1) - stage(4.0 * (i - 1) / (n - 1)))
# White for a ratio of 1, towards GAIN above and LOSS below, in proportion to its logarithm.
gain_colour(share) = between(EVEN, share > 0 ? GAIN : LOSS, least(1, abs(share)))

least(a, b) = a < b ? a : b
most(a, b) = a > b ? a : b
set border 3 linewidth 0.8
set tics nomirror out scale 0.6
set xtics offset screen 0, LIFT / HEIGHT
set format '%g'
set grid linetype 1 linecolor rgb '#e4e4e4' linewidth 0.6
set bars 0.5
MARK = MARK * least(1, 0.4 + HEIGHT / 70.0)
set pointsize MARK
# eval fail(text): print this line for the user and exit.
fail(text) = sprintf("print '%s'; exit status 3", text)
font(times) = TIKZ ? '' : sprintf(',%g', SIZE * times)

# Text in em: the mean width of a character, the height of a line of the legend, and of a title. The
# breadth of a text is the sum of its characters' widths.
CHARACTER = 0.56
wide(c) = strstrt('mwMW&=%@+', c) ? 0.95 : strstrt('fijlrt .,:-()/|', c) ? 0.4 : 0.63
breadth(text) = strlen(text) == 0 ? 0 : (sum [i=1:strlen(text)] wide(text[i:i]))
LINE = 1.35
TITLE_LINE = 1.5
# A text wrapped at blanks into lines of at most n characters, and the number of lines.
blank(text, i) = i < 1 ? 0 : text[i:i] eq ' ' ? i : blank(text, i - 1)
wrap(text, n) = strlen(text) <= n || blank(text, n + 1) == 0 ? text \
    : text[1:blank(text, n + 1) - 1] . "\n" . wrap(text[blank(text, n + 1) + 1:*], n)
title_room = least(200, int(WIDTH / (1.2 * CHARACTER)))
lines(text) = strlen(text) == 0 ? 0 : 1 + (sum [i=1:strlen(text)] (text[i:i] eq "\n" ? 1 : 0))
TITLE = wrap(TITLE, title_room)

# Margins around the panels in em, without title and legend. A script may change them before it
# calls panels().
LEFT = 5.4; RIGHT = 1.2; TOP = 0.6; BOTTOM = 3.7
# The longest name beside or upright below an axis, in em; names rather than panels may lack room.
names_long = 0
no_room(legend) = 'the figure has no room for ' \
    . (names_long > 8 ? 'its long names; choose shorter names or a larger --size' \
        : 'its panels; choose a larger --size') \
    . (legend ? ' or --legend none' : '')
# LEFT for n rows of names of that length, which are smaller if the figure is low.
beside_rows(length, n) = (names_long = length, 1.5 + length * most(0.4, least(1, (HEIGHT - 10) / (1.2 * n))))
# LEFT for a title beside tic labels of n characters.
beside_tics(length) = 3.2 + 0.6 * length
# Between panels that share their axes.
ACROSS = 1.6; DOWN = 0.6
# eval panels_apart(0): each panel has its own axis titles. xwrap() and ywrap() break them into
# lines, in a small font if the figure is narrow.
apart = WIDTH < 45 ? 0.75 : 1
panels_apart(i) = (apart < 1 ? 'LEFT = 6; ACROSS = 7; BOTTOM = 4.4' \
        : 'LEFT = 6.2; ACROSS = 7.6; BOTTOM = 4.2') \
    . sprintf("; set xlabel font '%s'; set ylabel font '%s'", font(apart), font(apart))
# 1 if a panel has a title even when it is the only one.
TITLED = 0
# Titles of axes that all panels share: drawn with the first panel, as labels 1 and 2.
XTITLE = ''; YTITLE = ''

# eval panels(rows, columns, entries, longest): open a multiplot with space for the legend: its
# number of entries, and the characters of the longest. A panel is `across` wide and `down` high, in
# em. The first panel draws shared titles: `unset label` after it.
entry = 0; beside = 0; in_row = 1; key_rows = 0; small = 1; below = 0
x0 = 0; x1 = 0; y0 = 0; y1 = 0; across = 0; down = 0
# The number of characters that fit, centred at a place in the figure.
around(place, size) = int((2 * least(place, 1 - place) * size - 1) / CHARACTER)
panels(rows, columns, entries, longest) = ( \
    entry = CHARACTER * longest + 4, \
    beside = entries > 0 && (LEGEND eq 'right' \
        || (LEGEND eq 'auto' && WIDTH - entry > 36 && entries * LINE < HEIGHT - 4)), \
    in_row = most(1, int((WIDTH - 1) / entry)), \
    small = !beside && LINE * entries / in_row > 0.35 * HEIGHT ? 0.75 : 1, \
    in_row = most(1, least(entries, int((WIDTH - 1) / (small * entry)))), \
    key_rows = ceil(1.0 * entries / in_row), \
    below = entries > 0 && !beside && LEGEND ne 'none' ? small * key_rows * LINE + 0.4 : 0, \
    y1 = 1 - (TOP + (TITLE eq '' ? 0 : 1.5 * lines(TITLE) + 0.5) \
        + (TITLED || rows * columns > 1 ? 1.8 : 0)) / HEIGHT, \
    y0 = (BOTTOM + below) / HEIGHT, \
    YTITLE = wrap(YTITLE, around((y0 + y1) / 2, HEIGHT)), \
    x0 = (LEFT + TITLE_LINE * most(0, lines(YTITLE) - 1)) / WIDTH, \
    x1 = 1 - (RIGHT + (beside ? entry + 0.6 : 0)) / WIDTH, \
    XTITLE = wrap(XTITLE, around((x0 + x1) / 2, WIDTH)), \
    y0 = y0 + TITLE_LINE * most(0, lines(XTITLE) - 1) / HEIGHT, \
    across = ((x1 - x0) * WIDTH - (columns - 1) * ACROSS) / columns, \
    down = ((y1 - y0) * HEIGHT - (rows - 1) * (DOWN + 2.8)) / rows, \
    sprintf('unset key; set multiplot layout %d,%d ', rows, columns) \
    . sprintf('margins screen %g,%g,%g,%g spacing screen %g,%g', \
        x0, x1, y0, y1, ACROSS / WIDTH, (DOWN + 2.8) / HEIGHT) \
    . (TITLE eq '' ? '' : ' title TITLE font font(1.15)') \
    . (XTITLE eq '' ? '' : sprintf('; set label 1 XTITLE at screen %g, screen %g center', \
        (x0 + x1) / 2, (below + 0.9 + TITLE_LINE * (lines(XTITLE) - 1)) / HEIGHT)) \
    . (YTITLE eq '' ? '' : sprintf('; set label 2 YTITLE at screen %g, screen %g center rotate', \
        0.9 / WIDTH, (y0 + y1) / 2)) \
    . (across < 4 || down < 3 ? '; ' \
        . fail(no_room(below > 0 || (beside && across < 4))) \
        : ''))

# eval legend(0): make the next plot the legend, beside or below the panels, after all of them.
# That plot has keyentries, and the constant -1, which is outside its ranges.
legend(i) = 'unset title; unset border; unset tics; unset grid; unset xlabel; unset ylabel;' \
    . 'unset label; unset arrow; unset colorbox; unset logscale; set size nosquare;' \
    . 'set offsets 0, 0, 0, 0;' \
    . 'set lmargin at screen 0; set rmargin at screen 1;' \
    . 'set bmargin at screen 0; set tmargin at screen 1;' \
    . 'set xrange [0:1]; set yrange [0:1];' \
    . (LEGEND eq 'none' ? '' : (beside \
        ? sprintf('set key at screen %g, screen %g left top', x1 + 0.8 / WIDTH, y1) \
        : sprintf('set key at screen 0.5, screen %g center bottom', 0.3 / HEIGHT) \
            . sprintf(" font '%s'", font(small))) \
    . sprintf(' vertical maxrows %d Left reverse samplen 2', beside ? 100 : key_rows) \
    . sprintf(' spacing %g width 0', SPACING))

# The number of values that the last `stats` found; the number that a text begins with, or 0.
found(i) = exists('STATS_records') ? STATS_records : 0
number(text) = text ne '' && strstrt('0123456789', text[1:1]) ? text + 0 : 0
# The i-th number of a list in a text; gnuplot reads the clause of an empty loop once.
item(list, i) = i > words(list) ? 1 : int(word(list, i) + 0)

# For a panel: steps of tics, 1, 2 or 5 times a power of ten, with no more tics than fit; lines of
# titles next to it, and fonts of titles above it and of rows of names.
digit(x) = x <= 1 ? 1 : x <= 2 ? 2 : x <= 5 ? 5 : 10
power(x) = x > 0 ? 10.0 ** floor(log10(x)) : 1
nice(x) = digit(x / power(x)) * power(x)
step(range, n) = nice(1.0 * range / n)
xstep(range) = step(range, most(3, least(10, across / 3.2)))
ystep(range) = step(range, most(3, least(10, down / LINE)))
# Whole numbers, for counts such as tokens.
fewest(range) = ceil((0.8 + 0.6 * strlen(sprintf('%d', range))) * (range + 1) / across)
whole_step(range) = range < 10 && fewest(range) == 3 ? 3 : nice(fewest(range))
# eval log_tics('y', low, high, n): a logarithmic axis with at least two labels, and about n.
tic_in(x, low, high) = x >= low * (1 - 1e-9) && x <= high * (1 + 1e-9) ? sprintf('%.10g, ', x) : ''
tics_10(k, low, high, every) = 10.0 ** k > high * (1 + 1e-9) ? '' \
    : tic_in(10.0 ** k, low, high) . tics_10(k + every, low, high, every)
tics_125(k, low, high) = 10.0 ** k > high ? '' : tic_in(10.0 ** k, low, high) \
    . tic_in(2 * 10.0 ** k, low, high) . tic_in(5 * 10.0 ** k, low, high) \
    . tics_125(k + 1, low, high)
tics_dense(k, low, high) = 10.0 ** k > high ? '' : tic_in(10.0 ** k, low, high) \
    . tic_in(1.5 * 10.0 ** k, low, high) . tic_in(2 * 10.0 ** k, low, high) \
    . tic_in(3 * 10.0 ** k, low, high) . tic_in(4 * 10.0 ** k, low, high) \
    . tic_in(6 * 10.0 ** k, low, high) . tic_in(8 * 10.0 ** k, low, high) \
    . tics_dense(k + 1, low, high)
tics_even(x, high, by) = x > high * (1 + 1e-9) ? '' : sprintf('%.10g, ', x) \
    . tics_even(x + by, high, by)
fits(list, n) = words(list) >= 2 && words(list) <= n
listed(list) = list[1:strlen(list) - 2]
decade(x) = floor(log10(x) + 1e-9)
log_list(low, high, n) = high / low < 200 && fits(tics_dense(decade(low), low, high), n) \
    ? tics_dense(decade(low), low, high) \
    : high / low < 200 && fits(tics_125(decade(low), low, high), n) \
    ? tics_125(decade(low), low, high) \
    : words(tics_10(decade(low), low, high, 1)) >= 2 \
    ? tics_10(decade(high) - decade(high / low), low, high, \
        ceil((decade(high / low) + 1.0) / most(3, n))) \
    : words(tics_125(decade(low), low, high)) >= 2 ? tics_125(decade(low), low, high) \
    : tics_even(ceil(low / step(high - low, 3) - 1e-9) * step(high - low, 3), high, \
        step(high - low, 3))
log_tics(axis, low, high, n) = sprintf('set logscale %s', axis) . (high <= low \
    ? sprintf('; set %stics (%.10g)', axis, low) \
    : sprintf('; set %stics (%s)', axis, listed(log_list(low, high, least(8, n)))))
# The same with powers of two, if there are at least two of them.
log_tics_2(axis, low, high, n) = high >= 4 * low ? sprintf('set logscale %s 2', axis) \
    : log_tics(axis, low, high, n)
# Series that coincide remain visible: the i-th of n has a smaller mark and a thinner line than the
# one before it.
nested(i, n) = 0.8 + least(1.5, 0.4 * (n - 1)) * (n - i) / most(1, n - 1)
xwrap(text) = wrap(text, int((across + 4) / apart / CHARACTER))
ywrap(text) = wrap(text, int((down + 2) / apart / CHARACTER))
fit(length) = font(most(0.6, least(1, across / (CHARACTER * most(1, length)))))
fit_rows(n) = font(most(0.4, least(1, down / (1.2 * n))))
# Rows and columns for n panels in a figure of this shape.
panel_rows(n) = n <= 3 && WIDTH > 1.2 * HEIGHT ? 1 \
    : ceil(1.0 * n / ceil(sqrt(n * 0.8 * WIDTH / HEIGHT)))
panel_columns(n) = ceil(1.0 * n / panel_rows(n))
set title font font(1) offset 0,-0.5
set xlabel offset screen 0, (0.3 + LIFT) / HEIGHT
set autoscale fix
set offsets graph 0.04, graph 0.04, graph 0.05, graph 0.05
