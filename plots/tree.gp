# The draft tree of a plan: that of sequoia or medusa at the largest budget, or the last row's. The root is the text so
# far; a node's colour is its rank among its siblings.
CSV = ARG1; OUT = ARG2; load ARG3
shape = ''; told = ''; planned = 0
is_plan(m) = m eq 'sequoia' || m eq 'medusa'
stats CSV using (m = stringcolumn('method'), s = stringcolumn('drafting'), \
    (strstrt(s, 'tree?') && (is_plan(m) || !planned)) ? (shape = s, planned = is_plan(m), \
        told = sprintf('%s: %d draft tokens, %.3g tokens a round', m, column('tree_nodes'), column('emitted'))) : 0, 0) nooutput
by_width = strstrt(shape, 'widths=') > 0
from = strstrt(shape, '=') + 1
numbers = shape[from:strlen(shape)]
end = strstrt(numbers, '&')
if (end > 0) { numbers = numbers[1:end - 1] }
numbers = system("echo '" . numbers . "' | tr . ' '")

# Nodes breadth first, the root being the first: children, the first child, parent, level, rank.
MOST = 1026
array C[MOST]; array FIRST[MOST]; array PARENT[MOST]; array LEVEL[MOST]; array RANK[MOST]; array LEAVES[MOST]; array AT[MOST]
n = 1; PARENT[1] = 0; LEVEL[1] = 0; RANK[1] = 1; depth = 0
do for [i = 1:MOST] {
    if (i <= n) {
        w = by_width ? LEVEL[i] + 1 : i
        C[i] = w <= words(numbers) ? int(word(numbers, w)) : 0
        FIRST[i] = n + 1
        do for [r = 1:C[i]] {
            PARENT[n + r] = i; LEVEL[n + r] = LEVEL[i] + 1; RANK[n + r] = r; depth = LEVEL[i] + 1
        }
        n = n + C[i]
    }
}
# A node stands over the middle of its leaves.
do for [k = 1:n] {
    i = n + 1 - k
    LEAVES[i] = C[i] == 0 ? 1 : 0
    do for [r = 1:C[i]] { LEAVES[i] = LEAVES[i] + LEAVES[FIRST[i] + r - 1] }
}
AT[1] = 0
do for [i = 1:n] {
    x = AT[i]
    do for [r = 1:C[i]] { AT[FIRST[i] + r - 1] = x; x = x + LEAVES[FIRST[i] + r - 1] }
}
set print $EDGES
print 'x,y,dx,dy'
do for [i = 2:n] {
    p = PARENT[i]
    print sprintf('%g,%g,%g,%g', AT[p] + LEAVES[p] / 2.0, -LEVEL[p], AT[i] + LEAVES[i] / 2.0 - AT[p] - LEAVES[p] / 2.0, -1)
}
set print $NODES
print 'x,y,rank'
do for [i = 1:n] { print sprintf('%g,%g,%d', AT[i] + LEAVES[i] / 2.0, -LEVEL[i], i == 1 ? 7 : RANK[i] > 5 ? 6 : RANK[i]) }
unset print
set title told
unset key
unset xtics
unset grid
set border 0
set ylabel 'level'
set yrange [-depth - 0.5 : 0.5]
set ytics nomirror scale 0 ('text' 0)
do for [l = 1:depth] { set ytics add (sprintf('%d', l) -l) }
set xrange [-0.5 : LEAVES[1] + 0.5]
plot $EDGES using 1:2:3:4 with vectors nohead linecolor rgb '#999999' linewidth 1, \
    $NODES using 1:2:3 with points pointtype 7 pointsize (n > 200 ? 0.6 : 1.1) linecolor variable
