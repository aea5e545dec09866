# The draft length with the most tokens per second, by batch and context.
# title: Which draft length, at which batch and context
# needs: best_K
# row: batch context K
# names: batch context
# may use: K
# Each cell shows its K, as a number and as a colour.
n_batch = |batch_name|; n_context = |context_name|
stats $DATA using 'best_K' nooutput
if (found(0) == 0) { eval fail('no row has a best K') }
lowest = STATS_min; highest = STATS_max > STATS_min ? STATS_max : STATS_min + 1
widest = 0; high = 0
do for [i=1:n_batch] { widest = most(widest, strlen(batch_name[i])) }
do for [i=1:n_context] { high = most(high, strlen(context_name[i])) }
LEFT = beside_tics(high); RIGHT = 2
XTITLE = 'batch (requests)'; YTITLE = 'context (tokens)'
eval panels(1, 1, 0, 0)
unset grid
unset colorbox
set offsets 0, 0, 0, 0
set xrange [0.5 : n_batch + 0.5]
set yrange [0.5 : n_context + 0.5]
set cbrange [lowest - 0.3 * (highest - lowest) : highest + 0.5 * (highest - lowest)]
set palette defined (0 '#f7fbff', 1 '#08519c')
set style fill solid 1 noborder
step_x = ceil((CHARACTER * widest + 0.8) * n_batch / across)
step_y = ceil(LINE * n_context / down)
set xtics ('' 1); set ytics ('' 1)
do for [i=1:n_batch:step_x] { set xtics add (batch_name[i] i) }
do for [i=1:n_context:step_y] { set ytics add (context_name[i] i) }
room = across / n_batch > 1.4 && down / n_context > 1.2
plot $DATA using 'batch':'context':(0.5):(0.5):'best_K' with boxxyerror fillcolor palette notitle, \
    for [i=1:room] '' using 'batch':'context':(sprintf('%g', column('best_K'))) with labels \
        font font(0.9) notitle
unset multiplot
