/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/block/predecessors.h"

#include "base/noise.h"
#include "models/row.h"
#include "speclab/no_memory.h"
#include "speclab/round.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t most_nodes(int paths, int reach)
{
    return reach > 1 ? (size_t)paths * (size_t)(reach - 1) : 1;
}

static size_t stored_rows(const spec_model *target, int paths, int reach)
{
    return target->order < 0 ? most_nodes(paths, reach) + 1 : (size_t)paths;
}

int spec_predecessors_size(double *ret_size, const spec_model *target, int paths, int reach,
                           spec_error *error)
{
    *ret_size = (double)target->vocab * ((double)stored_rows(target, paths, reach) + paths);
    if (target->order < 0 && most_nodes(paths, reach) > SPEC_NODES_MAX)
        return spec_fail(error, GSL_EINVAL,
                         "paths=%d: this target scores trees of at most %d tokens, so with "
                         "reach=%d use paths=%d or less",
                         paths, SPEC_NODES_MAX, reach, SPEC_NODES_MAX / (reach - 1));
    return GSL_SUCCESS;
}

int spec_predecessors_init(spec_predecessors *at, const spec_model *target, int paths, int reach,
                           uint64_t seed, spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t nodes = most_nodes(paths, reach), n = (size_t)paths, V = (size_t)target->vocab;
    *at = (spec_predecessors){.target = target, .paths = paths, .reach = reach, .seed = seed};
    SPEC_TRY(spec_session_init(&at->session, target, error));
    at->token = malloc(nodes * sizeof *at->token);
    at->parent = malloc(nodes * sizeof *at->parent);
    at->node = malloc(n * sizeof *at->node);
    at->weight = malloc(n * sizeof *at->weight);
    at->row = malloc(n * sizeof *at->row);
    at->store = malloc(stored_rows(target, paths, reach) * V * sizeof *at->store);
    at->tree_row = malloc((nodes + 1) * sizeof *at->tree_row);
    at->mass = malloc(n * V * sizeof *at->mass);
    at->largest = malloc(n * sizeof *at->largest);
    at->group = malloc(n * sizeof *at->group);
    at->sorted = malloc(n * sizeof *at->sorted);
    at->tail = malloc(n * SPEC_ORDER_MAX * sizeof *at->tail);
    if (at->token == NULL || at->parent == NULL || at->node == NULL || at->weight == NULL ||
        at->row == NULL || at->store == NULL || at->tree_row == NULL || at->mass == NULL ||
        at->largest == NULL || at->group == NULL || at->sorted == NULL || at->tail == NULL)
        status = spec_no_memory(error);
done:
    if (status != GSL_SUCCESS) spec_predecessors_free(at);
    return status;
}

void spec_predecessors_free(spec_predecessors *at)
{
    spec_session_free(&at->session);
    free(at->context);
    free(at->token);
    free(at->parent);
    free(at->node);
    free(at->weight);
    free(at->row);
    free(at->store);
    free(at->tree_row);
    free(at->mass);
    free(at->largest);
    free(at->group);
    free(at->sorted);
    free(at->tail);
    *at = (spec_predecessors){0};
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Reads the target's rows after the current predecessors: in one pass over the tree, or one by
 * one. */
static int read_rows(spec_predecessors *at, spec_error *error)
{
    int status = GSL_SUCCESS, history[SPEC_ORDER_MAX];
    const int order = at->target->order;
    if (at->n == 0) return GSL_SUCCESS;
    if (order < 0) {
        SPEC_TRY(spec_session_score(&at->session,
                                    &(spec_score_request){.context = at->context,
                                                          .n_context = at->n_context,
                                                          .token = at->token,
                                                          .opt_parent = at->parent,
                                                          .n_nodes = at->n_nodes,
                                                          .first = at->node[0] + 1,
                                                          .ret_row = at->tree_row,
                                                          .scratch = at->store},
                                    error));
        for (int i = 0; i < at->n; i++) at->row[i] = at->tree_row[at->node[i] + 1];
        return GSL_SUCCESS;
    }
    for (int i = 0; i < at->n; i++) {
        const size_t length = spec_session_tail(history, order, at->context, at->n_context,
                                                at->token, at->parent, at->node[i]);
        at->row[i] = spec_session_row(&at->session, history, length,
                                      at->store + (size_t)i * (size_t)at->target->vocab, error);
        if (at->row[i] == NULL) return GSL_EFAILED;
    }
done:
    return status;
}

int spec_predecessors_begin(spec_predecessors *at, bool *ret_same, const int *context, size_t n,
                            spec_error *error)
{
    int status = GSL_SUCCESS;
    const int order = at->target->order;
    const size_t kept = order >= 0 && n > (size_t)order ? (size_t)order : n;
    context = n > 0 ? context + (n - kept) : NULL;
    *ret_same = at->begun && kept == at->n_context &&
                (kept == 0 || memcmp(context, at->context, kept * sizeof *context) == 0);
    if (*ret_same) return GSL_SUCCESS;
    at->begun = false;
    if (kept > at->capacity) {
        int *grown = realloc(at->context, 2 * kept * sizeof *grown);
        if (grown == NULL) return spec_no_memory(error);
        at->context = grown;
        at->capacity = 2 * kept;
    }
    if (kept > 0) memcpy(at->context, context, kept * sizeof *context);
    at->n_context = kept;
    at->key = spec_noise_key(at->seed, at->context, kept, -1);
    at->n_nodes = at->length = 0;
    at->thinned = false;
    at->n = 1;
    at->node[0] = -1;
    at->weight[0] = 1.0;
    status = read_rows(at, error);
    at->begun = status == GSL_SUCCESS;
    return status;
}

/* ---- the next offset ------------------------------------------------------------------------- */

static int compare_tails(const spec_predecessors *at, int length, int a, int b)
{
    return memcmp(at->tail + (size_t)a * SPEC_ORDER_MAX, at->tail + (size_t)b * SPEC_ORDER_MAX,
                  (size_t)length * sizeof *at->tail);
}

/* Sorts the predecessors by tail, by merging: qsort would need the tails in a global. */
static void sort_by_tail(const spec_predecessors *at, int length, int *index, int n, int *other)
{
    if (n < 2) return;
    const int half = n / 2;
    sort_by_tail(at, length, index, half, other);
    sort_by_tail(at, length, index + half, n - half, other);
    memcpy(other, index, (size_t)n * sizeof *index);
    for (int i = 0, a = 0, b = half; i < n; i++)
        index[i] = b == n || (a < half && compare_tails(at, length, other[a], other[b]) <= 0)
                       ? other[a++]
                       : other[b++];
}

/* Groups the predecessors: children with the same token merge if their predecessors are in the same
 * group. Returns the number of groups. Entry g < groups of `sorted` becomes a member of group g. */
static int make_groups(spec_predecessors *at)
{
    const int order = at->target->order, memory = order > 0 ? order : 1;
    const bool merges = order >= 0 && at->length >= memory;
    for (int i = 0; i < at->n; i++) at->group[i] = at->sorted[i] = i;
    if (!merges) return at->n;
    for (int i = 0; i < at->n; i++)
        spec_session_tail(at->tail + (size_t)i * SPEC_ORDER_MAX, memory - 1, NULL, 0, at->token,
                          at->parent, at->node[i]);
    sort_by_tail(at, memory - 1, at->sorted, at->n, at->group);
    int groups = 0, last = -1;
    for (int i = 0; i < at->n; i++) {
        const int one = at->sorted[i];
        if (last < 0 || compare_tails(at, memory - 1, last, one) != 0) at->sorted[groups++] = one;
        at->group[last = one] = groups - 1;
    }
    return groups;
}

/* Adds up the probability of each child over the members of a group. */
static void add_masses(spec_predecessors *at, const double *const *opt_draft, int groups)
{
    const size_t V = (size_t)at->target->vocab;
    const spec_text_ends *ends = &at->target->ends;
    memset(at->mass, 0, (size_t)groups * V * sizeof *at->mass);
    for (int i = 0; i < at->n; i++) {
        double *mass = at->mass + (size_t)at->group[i] * V;
        for (size_t x = 0; x < V; x++)
            mass[x] += at->weight[i] *
                       (opt_draft != NULL ? fmin(at->row[i][x], opt_draft[i][x]) : at->row[i][x]);
        for (int e = 0; e < ends->n; e++) mass[ends->token[e]] = 0.0;
    }
}

/* Keeps `value` if it is among the `most` largest: heap[0] is the least of them. */
static void keep_largest(double *heap, int *n, int most, double value)
{
    int at;
    if (*n < most) {
        for (at = (*n)++; at > 0 && heap[(at - 1) / 2] > value; at = (at - 1) / 2)
            heap[at] = heap[(at - 1) / 2];
    } else {
        if (value <= heap[0]) return;
        for (at = 0; 2 * at + 1 < most;) {
            int child = 2 * at + 1;
            if (child + 1 < most && heap[child + 1] < heap[child]) child++;
            if (heap[child] >= value) break;
            heap[at] = heap[child];
            at = child;
        }
    }
    heap[at] = value;
}

static int falling(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return a > b ? -1 : a < b;
}

/* Returns the mass above which a child is kept as it is: sum of min(mass / threshold, 1) = paths. 0
 * if all can be kept. */
static double threshold_of(spec_predecessors *at, size_t cells, double total)
{
    int held = 0;
    size_t positive = 0;
    for (size_t i = 0; i < cells; i++) {
        if (!(at->mass[i] > 0.0)) continue;
        positive++;
        keep_largest(at->largest, &held, at->paths, at->mass[i]);
    }
    if (positive <= (size_t)at->paths) return 0.0;
    qsort(at->largest, (size_t)held, sizeof *at->largest, falling);
    double rest = total;
    int kept = 0;
    while (kept < at->paths - 1 && at->largest[kept] * (at->paths - kept) >= rest)
        rest -= at->largest[kept++];
    return rest / (at->paths - kept);
}

static void add_child(spec_predecessors *at, int parent, int token, double weight)
{
    at->token[at->n_nodes] = token;
    at->parent[at->n_nodes] = parent;
    at->weight[at->n] = weight;
    at->group[at->n++] = at->n_nodes++; /* node numbers are kept here for now, because the parents
                                           are still needed */
}

/* Takes all children at or above the threshold, and the others with probability mass / threshold,
 * by systematic sampling with one uniform number. */
static void choose_children(spec_predecessors *at, int groups, double threshold)
{
    const int V = at->target->vocab;
    const double uniform = (double)(spec_noise_word(at->key, (uint64_t)at->length) >> 11) * 0x1p-53;
    double next = uniform * threshold, passed = 0.0;
    at->n = 0;
    for (int g = 0; g < groups; g++)
        for (int x = 0; x < V && at->n < at->paths; x++) {
            const double mass = at->mass[(size_t)g * (size_t)V + (size_t)x];
            if (!(mass > 0.0)) continue;
            const int parent = at->node[at->sorted[g]];
            if (mass >= threshold) {
                add_child(at, parent, x, mass);
                continue;
            }
            passed += mass;
            if (passed <= next) continue;
            next += threshold;
            add_child(at, parent, x, threshold);
        }
    memcpy(at->node, at->group, (size_t)at->n * sizeof *at->node);
}

int spec_predecessors_next(spec_predecessors *at, const double *const *opt_draft, spec_error *error)
{
    const int groups = at->n > 0 ? make_groups(at) : 0;
    const size_t cells = (size_t)groups * (size_t)at->target->vocab;
    add_masses(at, opt_draft, groups);
    double total = 0.0;
    for (size_t i = 0; i < cells; i++) total += at->mass[i];
    const double threshold = threshold_of(at, cells, total);
    if (threshold > 0.0) at->thinned = true;
    choose_children(at, groups, threshold);
    at->length++;
    if (at->n > 0) spec_row_normalise(at->weight, at->n);
    const int status = read_rows(at, error);
    at->begun = status == GSL_SUCCESS;
    return status;
}
