# A failing case of speclab validate: left what came after one state beside what should have come, right where it came
# from beside what the token rule expects. Theory is a bar or a dash, what was seen a point with two standard errors.
CSV = ARG1; OUT = ARG2; load ARG3
told(what) = system("sed -n 's/^# " . what . ": //p' \"" . CSV . "\"")
stats CSV using 0 nooutput
n_tokens = STATS_records
set multiplot layout 1,2 title told('sampler') . ': fixture ' . told('fixture') . ', scope ' . told('scope') . \
    ', state ' . told('state') noenhanced
se(p, n) = 2 * sqrt(p * (1 - p) / n)
set style fill solid 0.35 border
set xlabel 'token'
set yrange [0:*]
if (strlen(system("tail -n 1 \"" . CSV . "\" | cut -d, -f1")) > 2) { set xtics rotate by 45 right }
set ylabel 'share of the tokens after this state'
set key above maxrows 1 samplen 1 width -2
set xrange [-0.6:n_tokens - 0.4]
plot CSV using ($0 - 0.17):(column('target')):(0.3) with boxes linecolor 1 title 'target', \
    '' using ($0 + 0.17):(column('draft')):(0.3) with boxes linecolor 8 title 'draft', \
    '' using ($0 - 0.17):(column('seen')):(se(column('seen'), column('n'))):xticlabels(strcol('token')) \
        with yerrorbars linecolor 2 pointtype 7 linewidth 1.6 title 'seen'

# Three bars a token: accepted, correction, bonus; scope S tells none.
if (system("tail -n 1 \"" . CSV . "\" | cut -d, -f8") eq '') {
    unset border; unset tics; unset xlabel; unset ylabel; unset key
    set label 1 "a text tells no more:\nits rounds are not seen" at graph 0.5, 0.5 center
    plot [0:1] [0:1] -1 notitle
} else {
    set ylabel 'rounds, and what the token rule expects'
    at(j) = column(0) + 0.27 * (j - 2)
    name(j) = word('accepted correction bonus', j)
    set key maxrows 2
    plot CSV using (at(2)):(column(name(2))):(0.24):xticlabels(strcol('token')) with boxes linecolor 2 title name(2), \
        for [j=1:3:2] '' using (at(j)):(column(name(j))):(0.24) with boxes linecolor word('3 2 5', j) + 0 \
            title name(j), \
        for [j=1:3] '' using (at(j) - 0.12):(column(name(j) . '_expected')):(0.24):(0) with vectors nohead \
            linecolor rgb 'black' linewidth 2.5 title (j == 1 ? 'token rule' : '')
}
unset multiplot
