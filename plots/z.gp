# How many standard errors the simulation is from the exact mean, a line for each rule, a colour for chains and trees: beyond five a row fails.
CSV = ARG1; OUT = ARG2; load ARG3
names = '|'
stats CSV using (k = stringcolumn('rule') . '|', names = (strstrt(names, '|' . k) ? names : names . k), \
    column('emitted_z')) nooutput
n = (sum [i=1:strlen(names)] (names[i:i] eq '|')) - 1
array NAME[n]
rest = names[2:*]
do for [i=1:n] { bar = strstrt(rest, '|'); NAME[i] = rest[1:bar-1]; rest = rest[bar+1:*] }
row(name) = sum [i=1:n] (NAME[i] eq name ? i : 0)
set lmargin 24
set ytics () noenhanced
do for [i=1:n] { set ytics add (NAME[i] i) }
set yrange [n + 0.6 : 0.4]
set xrange [-5.5 : 5.5]
set xtics 1
set xlabel 'standard errors from the exact mean of n\_emitted'
set title 'Every rule, simulated against enumerated'
set key outside top center horizontal
do for [side=-5:5:10] { set arrow from side,graph 0 to side,graph 1 nohead linecolor rgb '#D55E00' dashtype 2 }
one_path(drafting) = drafting eq 'chain' || drafting eq 'greedy'
z_of(chains) = one_path(stringcolumn('drafting')) == chains ? column('emitted_z') : NaN
plot CSV using (z_of(1)):(row(stringcolumn('rule')) - 0.12) with points linecolor 1 pointtype 7 pointsize 0.7 title 'chains', \
    CSV using (z_of(0)):(row(stringcolumn('rule')) + 0.12) with points linecolor 2 pointtype 5 pointsize 0.7 title 'trees'
