/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/tree_shape.h"

#include <math.h>
#include <stdbool.h>

static const double sum_slack = 1e-9; /* for sums of chances of exclusive events */

int spec_tree_shape_nodes(const int *width, int depth, int most)
{
    long level = 1, all = 0;
    if (depth < 0) return -1;
    for (int l = 0; l < depth; l++) {
        if (width[l] < 0) return -1;
        level *= width[l]; /* no overflow: at most `most` times an int */
        all += level;
        if (all > most) return -1;
    }
    return (int)all;
}

double spec_tree_shape_emitted(const int *width, int depth, const double *accept, int ranks)
{
    double product = 1, sum = 1;
    if (depth < 0) return NAN;
    for (int l = 0; l < depth; l++) {
        double some = 0; /* chance that some child of a node is accepted */
        if (width[l] < 0 || width[l] > ranks) return NAN;
        for (int r = 0; r < width[l]; r++) {
            const double chance = accept[l * ranks + r];
            if (!(chance >= 0)) return NAN;
            some += chance;
        }
        if (some > 1 + sum_slack) return NAN;
        product *= some;
        sum += product;
    }
    return sum;
}

/* Returns whether this level of the form has n children per node, instead of one. */
static bool is_wide(spec_form form, int level, int trunk)
{
    return form == SPEC_FORM_K_ARY || (form == SPEC_FORM_BRANCHES && level == 0) ||
           (form == SPEC_FORM_DELAYED && level == trunk);
}

spec_tree_shape_found spec_tree_shape_fastest(int *ret_width, const spec_tree_shape_search *search)
{
    const spec_form form = search->form;
    const int levels = search->levels, ranks = search->ranks, nodes = search->nodes;
    const spec_tree_shape_found none = {.speedup = NAN};
    spec_tree_shape_found found = {0};
    int best_n = 1, best_trunk = 0;
    if (levels < 0 || ranks < 1 || nodes < 0 || !(search->c >= 0) || isinf(search->c)) return none;
    for (int m = 0; m <= nodes; m++) {
        if (!(search->verify[m] > 0) || isinf(search->verify[m])) return none;
    }
    for (int l = 0; l < levels; l++) ret_width[l] = ranks;
    if (isnan(spec_tree_shape_emitted(ret_width, levels, search->accept, ranks))) return none;
    for (int n = 1; n <= (form == SPEC_FORM_CHAIN ? 1 : ranks); n++) {
        for (int trunk = 0; trunk == 0 || (form == SPEC_FORM_DELAYED && trunk < levels); trunk++) {
            for (int depth = 0; depth <= levels; depth++) {
                if (depth > 0) ret_width[depth - 1] = is_wide(form, depth - 1, trunk) ? n : 1;
                const int size = spec_tree_shape_nodes(ret_width, depth, nodes);
                if (size < 0) break;
                const double emitted =
                    spec_tree_shape_emitted(ret_width, depth, search->accept, ranks);
                const double speedup = emitted / (depth * search->c + search->verify[size]);
                if (speedup <= found.speedup) continue;
                found = (spec_tree_shape_found){size, depth, emitted, speedup};
                best_n = n;
                best_trunk = trunk;
            }
        }
    }
    for (int l = 0; l < found.depth; l++) ret_width[l] = is_wide(form, l, best_trunk) ? best_n : 1;
    return found;
}

int spec_tree_children(int *ret_children, const int *parent, int n, int *work)
{
    int depth = 0,
        end = 0; /* work holds the nodes breadth first, level by level, `end` of them so far */
    for (int v = 0; v < n; v++) {
        if (parent[v] < -1 || parent[v] >= v) return -1;
    }
    for (int i = -1, level_end = 0; i < end; i++) {
        const int node = i < 0 ? -1 : work[i], born = end;
        if (i == level_end) {
            depth++;
            level_end = end;
        }
        for (int v = node + 1; v < n; v++) {
            if (parent[v] == node) work[end++] = v;
        }
        ret_children[i + 1] = end - born;
    }
    return depth;
}
