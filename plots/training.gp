# Learning curves: loss, tokens per round or speed-up, and acceptance, against the steps of
# training.
# title: Training
# from: speclab train METHOD ... > FILE.csv
# row: step
# needs: step bits_per_token
# may use: loss tokens_T1 tokens_T0 tree8_T1 tree60_T1
# may use: alpha_1_T1 alpha_2_T1 alpha_3_T1 alpha_4_T1 alpha_5_T1 speedup_T1 speedup_T0
# may use: alpha_exit1_T1 alpha_exit2_T1 alpha_exit3_T1 alpha_exit4_T1 alpha_exit5_T1
# Panels: loss and bits per token; for drafts also tokens per round and acceptance by depth. For
#          early exits: the speed-up of the best one, and acceptance by exit. A narrow figure has no
#          space for the loss.
optional(name, has) = has ? column(name) : NaN
array WORTH[6] = ['tokens_T1', 'tokens_T0', 'tree8_T1', 'tree60_T1', 'speedup_T1', 'speedup_T0']
array TITLE_OF[6] = ['chain, T=1', 'chain, T=0', 'tree 8, T=1', 'tree 60, T=1', 'speed-up, T=1', \
    'speed-up, T=0']
array ALPHA[10] = ['alpha_1_T1', 'alpha_2_T1', 'alpha_3_T1', 'alpha_4_T1', 'alpha_5_T1', \
    'alpha_exit1_T1', 'alpha_exit2_T1', 'alpha_exit3_T1', 'alpha_exit4_T1', 'alpha_exit5_T1']
exits = has_alpha_exit1_T1
first = exits ? 5 : 1
last = exits ? 6 : 4
# Each panel has its own colours: black, those of COLOURS, and depths or exits in order.
colour(i) = int(word('2 2 3 4 2 2', i))
dash(i) = i == 2 || i == 6 ? 2 : 1
known(name) = value('has_' . name)
stats $DATA using 'step' nooutput
if (found(0) == 0) { eval fail('no row has a step') }
steps = STATS_max
drafts = has_tokens_T1
losses = !drafts || WIDTH >= 45
eval panels_apart(0)
eval panels(1, losses + 2 * drafts, 2 * losses + 9 * drafts, 12)
unset title
set xlabel xwrap('steps')
set xtics whole_step(most(steps, 1))
if (losses) {
    set ylabel ywrap('loss (nats), and bits per token')
    plot $DATA using 'step':(optional('loss', has_loss)) with lines linecolor rgb 'black' notitle, \
        '' using 'step':'bits_per_token' with lines linecolor rgb 'black' dashtype 2 notitle
}
if (drafts) {
    set ylabel ywrap(exits ? 'predicted speed-up' : 'tokens per round')
    plot for [i=first:last] $DATA using 'step':(optional(WORTH[i], known(WORTH[i]))) with lines \
        linecolor colour(i) dashtype dash(i) notitle
    set ylabel ywrap(exits ? 'acceptance by exit, T = 1' : 'acceptance by depth, T = 1')
    set yrange [0:1]
    plot for [i=1:5] $DATA using 'step':(optional(ALPHA[i + 5 * exits], \
        known(ALPHA[i + 5 * exits]))) with lines linecolor rgb graded(i, 5) notitle
}
eval legend(0)
plot -1 notitle, \
    for [i=1:losses] keyentry with lines linecolor rgb 'black' title 'loss', \
    for [i=1:losses] keyentry with lines linecolor rgb 'black' dashtype 2 title 'bits', \
    for [i=first:drafts*last] keyentry with lines linecolor colour(i) \
        dashtype dash(i) title TITLE_OF[i], \
    for [i=1:5*drafts] keyentry with lines linecolor rgb graded(i, 5) title \
        sprintf(exits ? 'exit %d' : 'depth %d', i)
unset multiplot
