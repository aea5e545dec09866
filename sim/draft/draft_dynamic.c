/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dynamic: EAGLE-2's tree. A node's value is the product of the draft model's probabilities along
 * its path. On each level the `top` nodes of largest value grow, each into its `top` most probable
 * children; of all nodes the `nodes` of largest value are submitted. Among equal values the earlier
 * node wins. A child has at most its parent's value and comes later, so the submitted nodes form a
 * tree.
 *
 * Nothing is drawn: the siblings are chosen, so omitting nodes anticipates nothing. The most
 * probable children of a node are kept in order, so rules see them as top siblings.
 *
 * With draw, the second child of a node is drawn from the draft's row without the first one, as in
 * RheoSampling [HuQ26]; docs/formulas/newer-rules.md#rheo. Whether it is submitted must not depend
 * on what was drawn. So its value on the path is a proxy, min(first, rest), which no later child
 * exceeds. The other two proxies are negative controls. */
#include "sim/draft/drafter.h"

#include "models/row.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    double value;
    int order, token,
        /* order: index of this candidate, finally its node; parent: a candidate, or -1 */
        parent;
    int grown;                /* its index among the growing nodes, if it is one */
    const double *drawn_from; /* its row, if it was drawn; else NULL */
    bool kept;
} candidate;

/* The factor of a drawn child in the value of its path. NONE: no child is drawn. PROXY: min(first,
 * rest). OWN: its own probability, which anticipates. MEAN: the mean of the rest, which a later
 * child may exceed. */
enum { DRAW_NONE, DRAW_PROXY, DRAW_OWN, DRAW_MEAN };
static const char *const draws[] = {"none", "proxy", "own", "mean", NULL};

typedef struct {
    int draw;
    int top;              /* nodes of a level that grow, and children of each */
    int best;             /* nodes that are submitted */
    candidate *candidate; /* workspace: twice the most candidates of a draft */
} dynamic;

static void close(void *state)
{
    dynamic *tree = state;
    free(tree->candidate);
    free(tree);
}

/* Returns the number of candidates of a tree of `depth` levels: `top` on the first, then `top` per
 * growing node. */
static int candidates(int top, int depth)
{
    return depth > 0 ? top + (depth - 1) * top * top : 0;
}

static int depth_of(const spec_drafter *drafter, int K)
{
    return drafter->n_levels < K ? drafter->n_levels : K;
}

/* Returns the number of growing nodes of a tree of `depth` levels, without the root. */
static int growing(int top, int depth)
{
    return depth > 0 ? (depth - 1) * top : 0;
}

/* The draft model scores one tree: the growing nodes. */
static int nodes(const spec_drafter *drafter, int K)
{
    const dynamic *tree = drafter->state;
    const int depth = depth_of(drafter, K), most = candidates(tree->top, depth);
    if (growing(tree->top, depth) > SPEC_NODES_MAX) return SPEC_NODES_MAX + 1;
    return tree->best < most ? tree->best : most;
}

static int init(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    dynamic *tree = drafter->state = calloc(1, sizeof *tree);
    if (tree == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory for a tree");
    SPEC_TRY(spec_settings_int(&tree->top, settings, "top", 10, 1, SPEC_TOP_MAX, error));
    SPEC_TRY(spec_settings_int(&tree->best, settings, "nodes", 60, 1, SPEC_NODES_MAX, error));
    SPEC_TRY(
        spec_settings_int(&drafter->n_levels, settings, "depth", 6, 1, SPEC_LEVELS_MAX, error));
    SPEC_TRY(spec_settings_choice(&tree->draw, settings, "draw", DRAW_NONE, draws, error));
    drafter->siblings = tree->draw == DRAW_NONE ? SPEC_SIBLINGS_TOP : SPEC_SIBLINGS_TAIL;
    drafter->widest = tree->top;
    const int most = growing(tree->top, drafter->n_levels);
    drafter->n_weights = 1 + (most < SPEC_NODES_MAX ? most : SPEC_NODES_MAX);
    tree->candidate =
        malloc(2 * (size_t)candidates(tree->top, drafter->n_levels) * sizeof *tree->candidate);
    if (tree->candidate == NULL) status = spec_fail(error, GSL_ENOMEM, "out of memory for a tree");
done:
    return status;
}

static int by_value(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    if (a->value != b->value) return a->value > b->value ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Adds to the growth the `top` best of the candidates from..n-1 that can grow, in descending order
 * of value. */
static void choose(const dynamic *tree, spec_growth *growth, int from, int n,
                   const spec_model *model)
{
    candidate *all = tree->candidate;
    int *grows = growth->node + growth->n, held = 0;
    for (int i = from; i < n; i++) {
        if (spec_model_ends_text(model, all[i].token)) continue;
        if (held == tree->top && !(all[i].value > all[grows[held - 1]].value)) continue;
        int at = held < tree->top ? held++ : held - 1;
        for (; at > 0 && all[i].value > all[grows[at - 1]].value; at--) grows[at] = grows[at - 1];
        grows[at] = i;
    }
    for (int i = 0; i < held; i++, growth->n++) {
        candidate *chosen = &all[grows[i]];
        chosen->grown = growth->n;
        growth->token[growth->n] = chosen->token;
        growth->parent[growth->n] = chosen->parent < 0 ? -1 : all[chosen->parent].grown;
    }
}

/* Draws a token from the row without token[0], its most probable one, and inserts it as token[1].
 * If it was not among the `born` tokens, the last of them is dropped. Returns its value. rest (V)
 * is workspace. */
static double draw_second(int *token, int born, int draw, double *rest, const double *row,
                          int vocab, spec_chance *chance)
{
    const int first = token[0];
    memcpy(rest, row, (size_t)vocab * sizeof *rest);
    rest[first] = 0.0;
    const double sum = spec_row_sum(rest, vocab);
    for (int i = 0; !(sum > 0.0) && i < vocab; i++) rest[i] = i != first;
    const int drawn = spec_chance_pick(chance, rest, vocab);
    int at = 1;
    while (at < born - 1 && token[at] != drawn) at++;
    for (; at > 1; at--) token[at] = token[at - 1];
    token[1] = drawn;
    return draw == DRAW_OWN    ? row[drawn]
           : draw == DRAW_MEAN ? sum / (vocab - 1)
           : row[first] < sum  ? row[first]
                               : sum;
}

/* Appends the children of a candidate (-1: the root) with this row to the n candidates; returns
 * their new number. rest (V) is workspace. */
static int add_children(const dynamic *tree, int parent, const double *row, int vocab, int n,
                        double *rest, spec_chance *chance)
{
    candidate *all = tree->candidate;
    int token[SPEC_TOP_MAX];
    const int born = spec_row_largest(token, tree->top, row, vocab);
    const bool draws_one = tree->draw != DRAW_NONE && born > 1;
    const double value = parent < 0 ? 1.0 : all[parent].value,
                 second = draws_one ? draw_second(token, born, tree->draw, rest, row, vocab, chance)
                                    : 0.0;
    for (int i = 0; i < born; i++, n++) {
        const bool drawn = draws_one && i == 1;
        all[n] = (candidate){.value = value * (drawn ? second : row[token[i]]),
                             .order = n,
                             .token = token[i],
                             .parent = parent,
                             .drawn_from = drawn ? row : NULL};
    }
    return n;
}

/* Submits the best of the n candidates, in the order of their creation. */
static void submit(spec_draft *ret_draft, const dynamic *tree, int n)
{
    candidate *all = tree->candidate, *sorted = all + n;
    const int kept = tree->best < n ? tree->best : n;
    memcpy(sorted, all, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    for (int i = 0; i < n; i++) all[sorted[i].order].kept = i < kept;
    for (int i = 0; i < n; i++) {
        if (!all[i].kept) continue;
        all[i].order = ret_draft->n_nodes;
        spec_draft_append(ret_draft, all[i].token,
                          all[i].parent < 0 ? -1 : all[all[i].parent].order, all[i].drawn_from,
                          all[i].drawn_from != NULL);
    }
}

static int draft_dynamic(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                         const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    const dynamic *tree = drafter->state;
    const spec_model *model = drafter->session.model;
    spec_growth *growth = drafter->growth;
    const int depth = depth_of(drafter, policy->now);
    int grown = -1, all = 0; /* the next growing node (-1: the root); candidates so far */
    growth->n = 0;
    for (int level = 0; level < depth && grown < growth->n; level++) {
        const int born = all;
        const int status =
            spec_drafter_grow(drafter, context, n, grown + 1, drafter->weight, error);
        if (status != GSL_SUCCESS) return status;
        for (; grown < growth->n; grown++)
            all = add_children(tree, grown < 0 ? -1 : growth->node[grown], growth->row[grown + 1],
                               model->vocab, all, spec_draft_slot(ret_draft), chance);
        if (level < depth - 1) choose(tree, growth, born, all, model);
    }
    submit(ret_draft, tree, all);
    return GSL_SUCCESS;
}

const spec_drafter_kind spec_draft_dynamic = {
    .name = "dynamic",
    .usage = "dynamic?top=10&nodes=60&depth=6&draw=none",
    .summary = "EAGLE-2's tree: the top nodes of each level grow, the best of all are submitted "
               "(one-hot); draw=proxy: RheoSampling, one child of each node is drawn",
    .reference = "Li24",
    .needs_model = true,
    .nodes = nodes,
    .init = init,
    .free = close,
    .draft = draft_dynamic,
};
