# Tokens a round over the budget of nodes, a panel for each pair, a colour for each method: planned as a line, simulated
# as points.
CSV = ARG1; OUT = ARG2; load ARG3
METHODS = 'chain k-ary branches delayed sequoia dynamic'
panels = 0; last = ''
array PAIR[16]
stats CSV using (p = stringcolumn('pair'), p eq last ? 0 : (panels = panels + 1, PAIR[panels] = p, last = p, 0)) nooutput
set logscale x 2
set xlabel 'draft tokens of a tree, at most'
set ylabel 'tokens a round'
set key font ',10' samplen 1 spacing 0.95
set title font ',12'
set tics font ',10'
set xrange [0.9:72]
at(k, i) = stringcolumn('pair') eq PAIR[k] && stringcolumn('method') eq word(METHODS, i) ? column('budget') : NaN
set multiplot layout (panels + 1) / 2, panels > 1 ? 2 : 1
do for [k = 1:panels] {
    set title PAIR[k]
    if (k > 1) { unset key }
    plot for [i=1:words(METHODS)] CSV using (at(k, i)):(column('emitted')) with lines linecolor i linewidth 1.4 notitle, \
        for [i=1:words(METHODS)] CSV using (at(k, i)):(column('simulated')):(2 * column('simulated_se')) \
            with yerrorbars linecolor i pointtype point(i) pointsize 0.6 notitle, \
        for [i=1:words(METHODS)] keyentry with linespoints linecolor i pointtype point(i) pointsize 0.6 \
            title word(METHODS, i)
}
unset multiplot
