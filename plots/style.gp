# What every figure shares: size, colours, fonts, the reading of a result, and the terminal that the output's name asks
# for.
# A script begins with:  CSV = ARG1; OUT = ARG2; load ARG3
# Theory is a line, simulation a point with an error bar of two standard errors.
set encoding utf8
if (OUT[strlen(OUT)-2:] eq 'png') { set terminal pngcairo size 900,600 font 'DejaVu Sans,13' linewidth 1.4 } \
else { if (OUT[strlen(OUT)-2:] eq 'pdf') { set terminal pdfcairo size 15cm,10cm font 'DejaVu Sans,10' linewidth 1.4 } \
else { set terminal svg size 900,600 dynamic font 'DejaVu Sans,13' linewidth 1.4 background rgb 'white' } }
set output OUT

set datafile separator comma
set datafile commentschars '#'
set datafile columnheaders
set datafile missing NaN

# Colours that are told apart in print and by the colour-blind (Okabe and Ito).
COLOURS = '#0072B2 #D55E00 #009E73 #CC79A7 #E69F00 #56B4E9 #000000 #999999'
do for [i=1:8] { set linetype i linecolor rgb word(COLOURS, i) }
set linetype cycle 8
array POINT[8] = [7, 5, 9, 13, 11, 4, 6, 8]
point(i) = POINT[int(i - 1) % 8 + 1]

set border 3 linewidth 0.8
set tics nomirror out scale 0.6
set grid linetype 1 linecolor rgb '#e4e4e4' linewidth 0.6
set key left top Left reverse samplen 2 spacing 1.15
set bars 0.5
set title font ',15'

# The names of the columns, and whether there is one of that name.
HEAD = system("grep -v '^#' \"" . CSV . "\" | head -n 1")
has(name) = strstrt(',' . HEAD . ',', ',' . name . ',') > 0
