/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/tree_plan.h"

#include "analysis/statistics/compensated.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const double sum_slack = 1e-9; /* for sums of chances of exclusive events */

double spec_tree_emitted(const int *parent, const double *accept, int n, double *work)
{
    if (n < 0) return NAN;
    double *product = work,
           *children = work + n; /* children[v+1]: sum of the chances of v's children; [0] is for
                                  * the root */
    for (int v = 0; v <= n; v++) children[v] = 0;
    spec_compensated sum = {1, 0};
    for (int v = 0; v < n; v++) {
        if (parent[v] < -1 || parent[v] >= v || !(accept[v] >= 0 && accept[v] <= 1)) return NAN;
        children[parent[v] + 1] += accept[v];
        if (children[parent[v] + 1] > 1 + sum_slack) return NAN;
        product[v] = accept[v] * (parent[v] < 0 ? 1 : product[parent[v]]);
        spec_compensated_add(&sum, product[v]);
    }
    return spec_compensated_value(&sum);
}

double spec_tree_plan_parallel_chains(double alpha, int K, int b)
{
    if (!(alpha >= 0 && alpha <= 1) || K < 0 || b < 0) return NAN;
    if (b == 0) return 1;
    spec_compensated sum = {1, 0};
    double power = 1;
    for (int i = 1; i <= K; i++) {
        power *= alpha;
        spec_compensated_add(&sum, -expm1(b * log1p(-power))); /* some chain is accepted up to i */
    }
    return spec_compensated_value(&sum);
}

/* ---- Medusa ---------------------------------------------------------------------------------- */

/* Returns whether the chances (n) are in [0,1] and sum to at most 1. */
static bool exclusive(const double *chance, int n)
{
    double sum = 0;
    for (int r = 0; r < n; r++) {
        if (!(chance[r] >= 0 && chance[r] <= 1)) return false;
        sum += chance[r];
    }
    return sum <= 1 + sum_slack;
}

/* Sorts the ranks (n) by descending accuracy, ties by rank, by insertion. */
static void order_ranks(int *ret_ranks, const double *accuracy, int n)
{
    for (int r = 0; r < n; r++) {
        int i = r;
        for (; i > 0 && accuracy[ret_ranks[i - 1]] < accuracy[r]; i--)
            ret_ranks[i] = ret_ranks[i - 1];
        ret_ranks[i] = r;
    }
}

int spec_tree_plan_medusa(int *ret_parent, int *ret_rank, double *ret_product, int n,
                          const double *accuracy, int heads, int ranks, int *work)
{
    if (n < 0 || heads < 1 || ranks < 1) return -1;
    int *tried = work,
        *by_accuracy =
            work + n + 1; /* tried[v+1]: children that v has; by_accuracy (heads, ranks) */
    for (int k = 0; k < heads; k++) {
        if (!exclusive(accuracy + k * ranks, ranks)) return -1;
        order_ranks(by_accuracy + k * ranks, accuracy + k * ranks, ranks);
    }
    tried[0] = 0;
    for (int added = 0; added < n; added++) {
        double best = 0;
        int best_parent = -1, best_rank = -1;
        for (int v = -1; v < added; v++) {
            int depth = 0;
            for (int u = v; u >= 0; u = ret_parent[u]) depth++;
            if (depth == heads || tried[v + 1] == ranks) continue;
            int rank = by_accuracy[depth * ranks + tried[v + 1]];
            double product = (v < 0 ? 1 : ret_product[v]) * accuracy[depth * ranks + rank];
            if (product <= best) continue;
            best = product;
            best_parent = v;
            best_rank = rank;
        }
        if (best_rank < 0) return added;
        ret_parent[added] = best_parent;
        ret_rank[added] = best_rank;
        ret_product[added] = best;
        tried[best_parent + 1]++;
        tried[added + 1] = 0;
    }
    return n;
}

/* ---- Sequoia --------------------------------------------------------------------------------- */

/* Returns the address of forest(m, l, r), l >= 1. */
static double *forest_at(const spec_tree_plan *plan, int m, int l, int r)
{
    size_t row = (size_t)(l - 1) * (size_t)(plan->width + 1) + (size_t)r;
    return &plan->forest[row * (size_t)(plan->nodes + 1) + (size_t)m];
}

/* Returns T(m, l). */
static double best_tree(const spec_tree_plan *plan, int m, int l)
{
    return l == 0 ? 1 : 1 + *forest_at(plan, m, l, 0);
}

/* Returns the expected tokens from children r, r+1, ... with m nodes in all, of which y belong to
 * child r and its subtree. */
static double split(const spec_tree_plan *plan, int m, int l, int r, int y)
{
    return plan->accept[r] * best_tree(plan, y - 1, l - 1) + *forest_at(plan, m - y, l, r + 1);
}

int spec_tree_plan_init(spec_tree_plan *plan, const double *accept, int width, int nodes, int depth)
{
    memset(plan, 0, sizeof *plan);
    if (width < 1 || nodes < 0 || depth < 0 || !exclusive(accept, width)) return GSL_EDOM;
    plan->accept = malloc((size_t)width * sizeof *plan->accept);
    plan->forest = calloc(((size_t)depth + 1) * ((size_t)width + 1),
                          ((size_t)nodes + 1) * sizeof *plan->forest);
    if (plan->accept == NULL || plan->forest == NULL) {
        spec_tree_plan_free(plan);
        return GSL_ENOMEM;
    }
    memcpy(plan->accept, accept, (size_t)width * sizeof *accept);
    plan->nodes = nodes;
    plan->depth = depth;
    plan->width = width;
    for (int l = 1; l <= depth; l++) {
        for (int r = width - 1; r >= 0;
             r--) { /* no child beyond the last: forest(., ., width) is 0 */
            for (int m = 1; m <= nodes; m++) {
                double best = 0;
                for (int y = 1; y <= m; y++) best = fmax(best, split(plan, m, l, r, y));
                *forest_at(plan, m, l, r) = best;
            }
        }
    }
    return GSL_SUCCESS;
}

void spec_tree_plan_free(spec_tree_plan *plan)
{
    free(plan->accept);
    free(plan->forest);
    memset(plan, 0, sizeof *plan);
}

static bool planned(const spec_tree_plan *plan, int nodes, int depth)
{
    return plan->forest != NULL && nodes >= 0 && nodes <= plan->nodes && depth >= 0 &&
           depth <= plan->depth;
}

double spec_tree_plan_emitted(const spec_tree_plan *plan, int nodes, int depth)
{
    return planned(plan, nodes, depth) ? best_tree(plan, nodes, depth) : NAN;
}

/* Attaches the best m nodes on l levels below a parent, after the n existing nodes. Returns the new
 * number of nodes. */
static int hang(int *ret_parent, int *ret_rank, int n, const spec_tree_plan *plan, int m, int l,
                int parent)
{
    for (int r = 0; l > 0 && r < plan->width; r++) {
        double best = *forest_at(plan, m, l, r);
        if (best <= 0) break;
        int y = 1;
        while (split(plan, m, l, r, y) < best) y++;
        ret_parent[n] = parent;
        ret_rank[n] = r;
        n = hang(ret_parent, ret_rank, n + 1, plan, y - 1, l - 1, n);
        m -= y;
    }
    return n;
}

int spec_tree_plan_build(int *ret_parent, int *ret_rank, const spec_tree_plan *plan, int nodes,
                         int depth)
{
    return planned(plan, nodes, depth) ? hang(ret_parent, ret_rank, 0, plan, nodes, depth, -1) : -1;
}

double spec_tree_plan_limit(const double *target, int vocab, int nodes)
{
    double entropy = 0.0, second = 0.0;
    if (nodes < 0) return NAN;
    for (int x = 0; x < vocab; x++) {
        if (!(target[x] > 0.0)) continue;
        const double surprisal = -log(target[x]);
        entropy += target[x] * surprisal;
        second += target[x] * surprisal * surprisal;
    }
    if (nodes == 0 || !(entropy > 0.0)) return 1.0 + nodes;
    return 1.0 + fmin(nodes, log(nodes) / entropy + second / (entropy * entropy));
}

double spec_tree_plan_fastest(int *ret_nodes, int *ret_depth, const spec_tree_plan *plan, double c,
                              const double *verify)
{
    *ret_nodes = *ret_depth = 0;
    if (plan->forest == NULL || !(c >= 0) || isinf(c)) return NAN;
    for (int m = 0; m <= plan->nodes; m++) {
        if (!(verify[m] > 0) || isinf(verify[m])) return NAN;
    }
    double fastest = 0;
    for (int m = 0; m <= plan->nodes; m++) {
        for (int l = 0; l <= plan->depth && l <= m; l++) {
            double speedup = best_tree(plan, m, l) / (l * c + verify[m]);
            if (speedup <= fastest) continue;
            fastest = speedup;
            *ret_nodes = m;
            *ret_depth = l;
        }
    }
    return fastest;
}
