# SPDX-License-Identifier: GPL-3.0-or-later
# Refuses circles of modules: modules that include one another, directly or through others.
# A module is x.h with x.c or x.cu. Its private headers may include x.h: a header without a source
# of its own, which only its own folder, tests and web/system include. Input: the sources, as awk's
# arguments.
BEGIN {
    # Tolerated, with the reason. A header without a source, which another folder includes:
    tolerated["sim/chance/lanes_step"] = "the kernels of sim/acceptance_kernels.h inline it"
    # One module of a circle allows all of it:
    tolerated["tests/simulator/block_run"] = "one interpreter of PTX in parts, a fixture of tests"
}
FNR == 1 {
    module = FILENAME; sub(/\.(c|h|cu)$/, "", module)
    if (FILENAME ~ /\.cu?$/) has_source[module] = 1
    folder = FILENAME; sub(/\/[^\/]*$/, "", folder)
    if (!(module in number)) { number[module] = ++n; name[n] = module }
}
/^[ \t]*#[ \t]*include[ \t]*["<]/ {
    path = $0; sub(/^[^"<]*["<]/, "", path); sub(/[">].*/, "", path)
    if (path ~ /^speclab\//) path = "include/" path
    if (path !~ /\.h$/) next
    sub(/\.h$/, "", path)
    if (path == module) next
    to[module, ++edges[module]] = path
    from = path; sub(/\/[^\/]*$/, "", from)
    if (from != folder && folder !~ /^(tests|web\/system)/) foreign[path] = FILENAME
}
# Tarjan's algorithm: strongly connected components.
function visit(v,    k, w, members, size, i) {
    index_of[v] = low[v] = ++visited
    stack[++top] = v; on_stack[v] = 1
    for (k = 1; k <= edges[v]; k++) {
        w = to[v, k]
        if (!(w in number)) continue
        if (!(w in index_of)) {
            visit(w)
            if (low[w] < low[v]) low[v] = low[w]
        } else if (on_stack[w] && index_of[w] < low[v]) low[v] = index_of[w]
    }
    if (low[v] != index_of[v]) return
    size = 0; members = ""; sources = 0; blame = ""; is_spared = 0
    do {
        w = stack[top--]; on_stack[w] = 0
        size++; members = members " " w
        if ((w in tolerated) && (w in has_source)) is_spared = 1
        if (w in has_source) sources++
        else if ((w in foreign) && !(w in tolerated)) blame = foreign[w] " includes " w ".h"
    } while (w != v)
    if (size == 1) return
    if (is_spared) { spared++; return }
    if (sources <= 1 && blame == "") { private++; return }
    print "circle of modules:" members (blame != "" ? " (" blame ")" : "")
    bad++
}
END {
    for (i = 1; i <= n; i++) if (!(name[i] in index_of)) visit(name[i])
    if (bad) { print "layers: " bad " circles of modules"; exit 1 }
    print "layers: no circles of modules; " private " of a module and its private headers, " \
          spared + 0 " tolerated"
}
