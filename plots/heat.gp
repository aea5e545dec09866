# A map of cells in one panel, or several with the same axes and colours.
widest = 0; high = 0
do for [i=1:XNAMES] { widest = most(widest, strlen(XNAME[i])) }
do for [i=1:YNAMES] { high = most(high, strlen(YNAME[i])) }
columns = panel_columns(PANELS); rows = panel_rows(PANELS)
LEFT = beside_tics(high); RIGHT = 8
XTITLE = XAXIS; YTITLE = YAXIS
eval panels(rows, columns, 0, 0)
# The size of a cell in em. Tics are not labelled where there is no space.
cell_x = across / XNAMES
cell_y = down / YNAMES
step_x = ceil((CHARACTER * widest + 0.8) / cell_x)
step_y = ceil(LINE / cell_y)
labelled = cell_x > 3.2 && cell_y > 1.5
unset grid
set offsets 0, 0, 0, 0
set xrange [0.5 : XNAMES + 0.5]
set yrange [0.5 : YNAMES + 0.5]
set cbrange [ZLOW : ZHIGH]
# Ratios are white at 1; other numbers are graded.
stages = RATIO ? 16 : 4
list = ''
do for [i=0:stages] {
    z = ZLOW + (ZHIGH - ZLOW) * i / stages
    list = list . sprintf(", %d '%s'", i, RATIO ? gain_colour(log(z) / FARTHEST) : graded(i + 1, 5))
}
eval 'set palette defined (' . list[3:*] . ')'
set style fill solid 1 noborder
set colorbox user origin screen x1 + 1.2 / WIDTH, screen y0 size screen 1.2 / WIDTH, screen y1 - y0
set label 3 ZTITLE at screen 1 - 0.9 / WIDTH, screen (y0 + y1) / 2 center rotate
at(p) = column('panel') == p ? column('x') : NaN
shade(p, dark) = column('panel') == p && column('dark') == dark ? column('x') : NaN
do for [p=1:PANELS] {
    if (p == 2) { unset label; unset colorbox }
    if (PANELS > 1) { set title PANEL[p] font fit(strlen(PANEL[p])) }
    # Only the outer panels have names at their tics.
    bottom = p + columns > PANELS; left = (p - 1) % columns == 0
    set xtics ('' 1); set ytics ('' 1)
    do for [i=1:XNAMES:step_x] { set xtics add ((bottom ? XNAME[i] : '') i) }
    do for [i=1:YNAMES:step_y] { set ytics add ((left ? YNAME[i] : '') i) }
    plot $DATA using (at(p)):'y':(0.5):(0.5):'z' with boxxyerror fillcolor palette notitle, \
        for [i=1:labelled] '' using (shade(p, 0)):'y':(sprintf('%.3g', column('z'))) \
            with labels font font(0.85) \
            textcolor rgb 'black' notitle, \
        for [i=1:labelled] '' using (shade(p, 1)):'y':(sprintf('%.3g', column('z'))) \
            with labels font font(0.85) \
            textcolor rgb 'white' notitle, \
        for [i=1:EDGES[p]] $EDGE using (column('panel') == p ? column('x') : NaN):'y':'dx':'dy' \
            with vectors nohead \
            linecolor rgb 'black' linewidth 2.5 notitle
}
unset multiplot
