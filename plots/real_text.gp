# Tokens a round over the draft's order, one panel a text: simulated on real text, and as the iid formula predicts from alpha.
CSV = ARG1; OUT = ARG2; load ARG3
texts = ''; lengths = ''
stats CSV using (t = stringcolumn('text'), k = sprintf('%d', column('K')), \
    texts = (strstrt('|' . texts . '|', '|' . t . '|') ? texts : texts . (strlen(texts) ? '|' : '') . t), \
    lengths = (strstrt(' ' . lengths . ' ', ' ' . k . ' ') ? lengths : lengths . ' ' . k), column('draft_order')) nooutput
panels = 1; do for [i=1:strlen(texts)] { if (texts[i:i] eq '|') { panels = panels + 1 } }
set xlabel 'order of the draft model'
set xrange [STATS_min - 0.4 : STATS_max + 0.4]
set xtics 1
set yrange [1:*]
set multiplot layout 1,panels title 'N-gram drafts for a 6-gram target on real text' font ',15'
rest = texts
do for [p=1:panels] {
    bar = strstrt(rest, '|')
    text = bar ? rest[1:bar-1] : rest
    rest = bar ? rest[bar+1:*] : ''
    set title text noenhanced
    if (p == 1) { set ylabel 'tokens a round, E[n\_emitted]' } else { unset ylabel }
    plot for [i=1:words(lengths)] CSV using (stringcolumn('text') eq text && column('K') == int(word(lengths, i)) ? column('draft_order') : NaN):(column('emitted_iid')) \
            with lines linecolor rgb colour(i) title 'iid formula from α, K = ' . word(lengths, i), \
        for [i=1:words(lengths)] CSV using (stringcolumn('text') eq text && column('K') == int(word(lengths, i)) ? column('draft_order') : NaN):(column('emitted')):(2 * column('emitted_se')) \
            with yerrorbars linecolor rgb colour(i) pointtype point(i) pointsize 0.8 title 'simulated, ±2 s.e., K = ' . word(lengths, i)
}
unset multiplot
