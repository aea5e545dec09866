# Tokens a round of every rule and kind of draft, a line for each, a colour for each text.
CSV = ARG1; OUT = ARG2; load ARG3
names = '|'; texts = '|'
stats CSV using (k = stringcolumn('rule') . ',  ' . stringcolumn('kind') . '|', \
    names = (strstrt(names, '|' . k) ? names : names . k), t = stringcolumn('text') . '|', \
    texts = (strstrt(texts, '|' . t) ? texts : texts . t), column('emitted')) nooutput
pieces(list) = (sum [i=1:strlen(list)] (list[i:i] eq '|')) - 1
n = pieces(names); m = pieces(texts)
array NAME[n]; array TEXT[m]
rest = names[2:*]
do for [i=1:n] { bar = strstrt(rest, '|'); NAME[i] = rest[1:bar-1]; rest = rest[bar+1:*] }
rest = texts[2:*]
do for [i=1:m] { bar = strstrt(rest, '|'); TEXT[i] = rest[1:bar-1]; rest = rest[bar+1:*] }
row(name) = sum [i=1:n] (NAME[i] eq name ? i : 0)
set lmargin 24
set ytics () noenhanced
do for [i=1:n] { set ytics add (NAME[i] i) }
set yrange [n + 0.6 : 0.4]
set xrange [1 : *]
set xlabel 'tokens a round, E[n\_emitted], ±2 s.e.'
set title 'Every lossless rule on real text, at a depth of four'
set key right top
at(text) = stringcolumn('text') eq text ? row(stringcolumn('rule') . ',  ' . stringcolumn('kind')) : NaN
plot for [i=1:m] CSV using (column('emitted')):(at(TEXT[i])):(2 * column('emitted_se')) with xerrorbars \
    linecolor i pointtype point(i) pointsize 0.9 title TEXT[i] noenhanced
