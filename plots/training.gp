# Learning curves: loss, tokens per round and acceptance by depth over the steps of a training.
# title: Training
# from: speclab train METHOD ... > FILE.csv
# needs: step bits_per_token
# may use: loss tokens_T1 tokens_T0 tree8_T1 tree60_T1
# may use: alpha_1_T1 alpha_2_T1 alpha_3_T1 alpha_4_T1 alpha_5_T1
# Loss and bits per token, and for drafts tokens per round and acceptance. A narrow figure of a
# draft has no space for the loss.
optional(name, has) = has ? column(name) : NaN
array TOKENS[4] = ['tokens_T1', 'tokens_T0', 'tree8_T1', 'tree60_T1']
array TITLE_OF[4] = ['chain, T=1', 'chain, T=0', 'tree 8, T=1', 'tree 60, T=1']
array HAS[4] = [has_tokens_T1, has_tokens_T0, has_tree8_T1, has_tree60_T1]
array ALPHA[5] = ['alpha_1_T1', 'alpha_2_T1', 'alpha_3_T1', 'alpha_4_T1', 'alpha_5_T1']
array HAS_ALPHA[5] = [has_alpha_1_T1, has_alpha_2_T1, has_alpha_3_T1, has_alpha_4_T1, \
    has_alpha_5_T1]
stats $DATA using 'step' nooutput
if (found(0) == 0) { eval fail('no row has a step') }
steps = STATS_max
drafts = has_tokens_T1
losses = !drafts || WIDTH >= 45
eval panels_apart(0)
eval panels(1, losses + 2 * drafts, 2 * losses + 9 * drafts, 12)
unset title
set xlabel xwrap('steps')
set xtics xstep(most(steps, 1))
if (losses) {
    set ylabel ywrap('loss (nats), and bits per token')
    plot $DATA using 'step':(optional('loss', has_loss)) with lines linecolor 1 notitle, \
        '' using 'step':'bits_per_token' with lines linecolor 2 dashtype 2 notitle
}
if (drafts) {
    set ylabel ywrap('tokens per round')
    plot for [i=1:4] $DATA using 'step':(optional(TOKENS[i], HAS[i])) with lines \
        linecolor i + 2 notitle
    set ylabel ywrap('acceptance by depth, T = 1')
    set yrange [0:1]
    plot for [i=1:5] $DATA using 'step':(optional(ALPHA[i], HAS_ALPHA[i])) with lines \
        linecolor i dashtype i notitle
}
eval legend(0)
plot -1 notitle, \
    for [i=1:losses] keyentry with lines linecolor 1 title 'loss', \
    for [i=1:losses] keyentry with lines linecolor 2 dashtype 2 title 'bits', \
    for [i=1:4*drafts] keyentry with lines linecolor i + 2 title TITLE_OF[i], \
    for [i=1:5*drafts] keyentry with lines linecolor i dashtype i title sprintf('depth %d', i)
unset multiplot
