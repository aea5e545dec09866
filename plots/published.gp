# Printed speed-ups, expected and measured, over what Theorem 3.8 gives for the printed alpha, K and c.
CSV = ARG1; OUT = ARG2; load ARG3
set xlabel 'speed-up by Theorem 3.8 from the printed α, K and c'
set ylabel 'printed speed-up'
set xrange [1.2:3.6]; set yrange [1.2:3.6]
set size square
set title 'T5-XXL: printed against computed'
plot x with lines linecolor rgb '#999999' dashtype 2 title 'equal', \
    CSV using (column('speedup_theory')):(column('printed_expected')) \
        with points linecolor 1 pointtype 7 pointsize 0.9 title 'expected, as printed', \
    CSV using (column('speedup_theory')):(column('printed_measured')) \
        with points linecolor 2 pointtype 5 pointsize 0.9 title 'measured, as printed'
