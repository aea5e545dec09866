# Tokens a round over the draft's order, one panel a text: simulated on real text, and as the iid formula predicts from
# alpha.
CSV = ARG1; OUT = ARG2; load ARG3
texts = ''; lengths = ''
stats CSV using (t = stringcolumn('text'), k = sprintf('%d', column('K')), \
    texts = (strstrt('|' . texts . '|', '|' . t . '|') ? texts : texts . (strlen(texts) ? '|' : '') . t), \
    lengths = (strstrt(' ' . lengths . ' ', ' ' . k . ' ') ? lengths : lengths . ' ' . k), \
    column('draft_order')) nooutput
panels = 1; do for [i=1:strlen(texts)] { if (texts[i:i] eq '|') { panels = panels + 1 } }
set xlabel 'order of the draft model'
set xrange [STATS_min - 0.4 : STATS_max + 0.4]
set xtics 1
set yrange [1:7]
of(text, i) = stringcolumn('text') eq text && column('K') == int(word(lengths, i)) ? column('draft_order') : NaN
set multiplot layout 1,panels title 'N-gram drafts for a 6-gram target on real text' font ',15'
rest = texts
do for [p=1:panels] {
    bar = strstrt(rest, '|')
    subject = bar ? rest[1:bar-1] : rest
    rest = bar ? rest[bar+1:*] : ''
    set title subject noenhanced
    set ylabel p == 1 ? 'tokens a round, E[n\_emitted]' : ''
    plot for [i=1:words(lengths)] CSV using (of(subject, i)):(column('emitted_iid')) \
            with lines linecolor i title 'K = ' . word(lengths, i), \
        for [i=1:words(lengths)] CSV using (of(subject, i)):(column('emitted')):(2 * column('emitted_se')) \
            with yerrorbars linecolor i pointtype point(i) pointsize 0.8 notitle, \
        NaN with lines linecolor rgb 'black' title 'iid formula from α', \
        NaN with points linecolor rgb 'black' pointtype 7 title 'simulated, ±2 s.e.'
}
unset multiplot
