# Draft tree of a plan: the one of sequoia or medusa at the largest budget, or of the last row.
# title: Draft tree
# needs: tree_nodes emitted
# names: method drafting
# The root is the text so far; a node's colour is its rank among its siblings.
is_plan(m) = m eq 'sequoia' || m eq 'medusa'
shape = ''; planned = 0; told = ''
stats $DATA using (m = method_text[column('method')], s = drafting_text[column('drafting')], \
    (strstrt(s, 'tree?') == 1 && (is_plan(m) || !planned)) ? (shape = s, planned = is_plan(m), \
        told = sprintf('%s: %d draft tokens, %.3g tokens per round', m, column('tree_nodes'), \
            column('emitted')), 0) : 0) nooutput
if (shape eq '') { eval fail('no row of drafting has a tree, such as tree?children=2.1.0.0') }
if (!TITLE_GIVEN) { TITLE = wrap(told, title_room) }
# The numbers between = and &: the children of each node, or of each node of a level.
by_width = strstrt(shape, 'children=') == 0
numbers = shape[strstrt(shape, '=') + 1:*]
if (strstrt(numbers, '&')) { numbers = numbers[1:strstrt(numbers, '&') - 1] }
list = ''
do for [i=1:strlen(numbers)] { list = list . (numbers[i:i] eq '.' ? ' ' : numbers[i:i]) }

# Nodes breadth first from the root: number of children, first child, parent, level, rank.
MOST = 1026
array C[MOST]; array FIRST[MOST]; array PARENT[MOST]; array LEVEL[MOST]; array RANK[MOST]
array LEAVES[MOST]; array AT[MOST]
n = 1; PARENT[1] = 0; LEVEL[1] = 0; RANK[1] = 1; depth = 0
do for [i=1:MOST] {
    if (i <= n) {
        w = by_width ? LEVEL[i] + 1 : i
        C[i] = w <= words(list) ? least(int(number(word(list, w))), MOST - n) : 0
        FIRST[i] = n + 1
        do for [r=1:C[i]] {
            PARENT[n + r] = i; LEVEL[n + r] = LEVEL[i] + 1; RANK[n + r] = r; depth = LEVEL[i] + 1
        }
        n = n + C[i]
    }
}
# Each node is placed over the middle of its leaves.
do for [k=1:n] {
    i = n + 1 - k
    LEAVES[i] = C[i] == 0 ? 1 : 0
    do for [r=1:C[i]] { LEAVES[i] = LEAVES[i] + LEAVES[FIRST[i] + r - 1] }
}
AT[1] = 0
do for [i=1:n] {
    x = AT[i]
    do for [r=1:C[i]] { AT[FIRST[i] + r - 1] = x; x = x + LEAVES[FIRST[i] + r - 1] }
}
middle(i) = AT[i] + LEAVES[i] / 2.0
set print $EDGES
print 'x,y,dx,dy'
do for [i=2:n] { p = PARENT[i]; print sprintf('%g,%g,%g,%g', middle(p), -LEVEL[p], \
    middle(i) - middle(p), -1) }
set print $NODES
print 'x,y,rank'
do for [i=1:n] { print sprintf('%g,%g,%d', middle(i), -LEVEL[i], i == 1 ? 7 : least(RANK[i], 6)) }
unset print
BOTTOM = 1
YTITLE = 'level'
ranks = 0
do for [i=2:n] { ranks = most(ranks, least(RANK[i], 6)) }
rank(r) = r == 1 ? 'first of its siblings' \
    : sprintf('%d%s', r, r == 2 ? 'nd' : r == 3 ? 'rd' : 'th') \
    . (r == 6 ? ' or later' : '')
eval panels(1, 1, ranks + 1, 21)
unset xtics
unset grid
set border 0
set yrange [-depth - 0.5 : 0.5]
set ytics nomirror scale 0 ('text' 0)
do for [l=1:depth] { set ytics add (sprintf('%d', l) -l) }
set xrange [-0.5 : LEAVES[1] + 0.5]
plot $EDGES using 1:2:3:4 with vectors nohead linecolor rgb FAINT linewidth 1, \
    $NODES using 1:2:3 with points pointtype 7 pointsize (n > 200 ? 0.6 : 1.1) linecolor variable
eval legend(0)
plot -1 notitle, keyentry with points pointtype 7 linecolor 7 title 'the text so far', \
    for [r=1:ranks] keyentry with points pointtype 7 linecolor r title rank(r)
unset multiplot
