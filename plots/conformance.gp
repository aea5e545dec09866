# A failing case: observed and expected tokens after one state, and which step emitted them.
# title: {sampler}: fixture {fixture}, scope {scope}, state {state}
# from: speclab validate --figure FILE
# needs: target draft seen n
# row: token
# names: token
# may use: accepted_draft correction bonus
# may use: accepted_draft_expected correction_expected bonus_expected
# Theory is a bar or a dash; an observation is a point with an error bar of two standard errors.
tokens = |token_name|
se(p, n) = 2 * sqrt(p * (1 - p) / n)
high(i) = column('seen') + se(column('seen'), column('n'))
low(i) = least(column('seen'), most(0, column('seen') - se(column('seen'), column('n'))))
rounds = has_accepted_draft || has_correction || has_bonus
widest = 0
do for [i=1:tokens] { widest = most(widest, strlen(token_name[i])) }
upright = tokens * (1 + rounds) * (CHARACTER * widest + 1) > WIDTH - 30
eval panels_apart(0)
if (upright) {
    BOTTOM = most(BOTTOM, 4.6 + CHARACTER * widest)
    names_long = CHARACTER * widest
}
eval panels(1, 1 + rounds, 3 + 4 * rounds, 17)
unset title
set style fill solid 0.35 border
set xtics (token_tic[1] 1)
do for [i=2:tokens] { set xtics add (token_tic[i] i) }
if (upright) { set xtics rotate by 90 right }
set offsets graph 0.04, graph 0.04, graph 0.05, 0
set xlabel xwrap('token')
stats $DATA using (most(column('target'), most(column('draft'), \
    high(0)))) nooutput
set yrange [*<0:*]
set ytics ystep(found(0) > 0 ? STATS_max : 1)
set ylabel ywrap('share of the tokens after this state')
set xrange [0.4 : tokens + 0.6]
optional(name, has) = has ? column(name) : NaN
name(j) = word('accepted_draft correction bonus', j)
called(j) = j == 1 ? 'accepted draft' : name(j)
has(j) = j == 1 ? has_accepted_draft : j == 2 ? has_correction : has_bonus
colour(j) = j == 1 ? ACCEPTED : j == 2 ? CORRECTION : BONUS
has_expected(j) = j == 1 ? has_accepted_draft_expected : j == 2 ? has_correction_expected \
    : has_bonus_expected
plot $DATA using (column('token') - 0.17):'target':(0.3) with boxes linecolor rgb TARGET notitle, \
    '' using (column('token') + 0.17):'draft':(0.3) with boxes linecolor rgb DRAFT notitle, \
    '' using (column('token') - 0.17):'seen':(low(0)):(high(0)) with yerrorbars \
        linecolor rgb 'black' pointtype 7 linewidth 1.4 notitle
# Three bars per token: accepted draft, correction, bonus. A text of scope S does not separate them.
if (rounds) {
    set ytics autofreq
    set ylabel ywrap('rounds, and as the token rule expects them')
    place(j) = column('token') + 0.27 * (j - 2)
    plot for [j=1:3] $DATA using (place(j)):(optional(name(j), has(j))):(0.24) with boxes \
        linecolor rgb colour(j) notitle, \
        for [j=1:3] '' using (place(j) - 0.12):(optional(name(j) . '_expected', has_expected(j))) \
            :(0.24):(0) with vectors \
            nohead linecolor rgb 'black' linewidth 2 notitle
}
eval legend(0)
command = "plot -1 notitle, keyentry with boxes linecolor rgb TARGET title 'target'" \
    . ", keyentry with boxes linecolor rgb DRAFT title 'draft'" \
    . ", keyentry with points linecolor rgb 'black' pointtype 7 title 'seen, ±2 s.e.'"
if (rounds) {
    command = command \
        . ", for [j=1:3] keyentry with boxes linecolor rgb colour(j) title 'right: ' . called(j)" \
        . ", keyentry with lines linecolor rgb 'black' linewidth 2 title 'as expected'"
}
eval command
unset multiplot
