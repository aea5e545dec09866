/* SPDX-License-Identifier: GPL-3.0-or-later */
/* marginals: the tree of the prefixes with the largest products of marginal probabilities, as
 * DDTree and UNO build it. The draft model's rows depend only on depth, so one call gives all of
 * them. A prefix comes before its children and its less probable siblings, so a heap of candidates
 * finds the best in order.
 *
 * Nothing is drawn: the siblings are chosen, the most probable first. */
#include "sim/draft/drafter.h"

#include "models/row.h"
#include "sim/draft/index/branch_heap.h"

#include <stdlib.h>

enum { DEPTH = 16 };

/* A prefix that may be submitted next is a branch. Its value is the product of the marginals along
 * its path, and `above` is its parent's product. Its token has rank `item` in the row of its
 * depth. */
typedef struct {
    int nodes;             /* nodes that are submitted */
    spec_branch_heap open; /* (nodes + 1) */
    int *token;            /* (levels, nodes) the most probable tokens of each depth */
} marginals;

static void close(void *state)
{
    marginals *tree = state;
    free(tree->open.branch);
    free(tree->token);
    free(tree);
}

static int depth_of(const spec_drafter *drafter, int K)
{
    return drafter->n_levels < K ? drafter->n_levels : K;
}

static int nodes(const spec_drafter *drafter, int K)
{
    return depth_of(drafter, K) > 0 ? ((const marginals *)drafter->state)->nodes : 0;
}

static int init(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    marginals *tree = drafter->state = calloc(1, sizeof *tree);
    if (tree == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory for a tree");
    SPEC_TRY(spec_settings_int(&tree->nodes, settings, "nodes", 60, 1, SPEC_NODES_MAX, error));
    SPEC_TRY(
        spec_settings_int(&drafter->n_levels, settings, "depth", DEPTH, 1, SPEC_LEVELS_MAX, error));
    drafter->siblings = SPEC_SIBLINGS_TOP;
    drafter->widest = tree->nodes;
    drafter->n_weights = drafter->n_levels;
    tree->open.branch = malloc(((size_t)tree->nodes + 1) * sizeof *tree->open.branch);
    tree->token = malloc((size_t)drafter->n_levels * (size_t)tree->nodes * sizeof *tree->token);
    if (tree->open.branch == NULL || tree->token == NULL)
        status = spec_fail(error, GSL_ENOMEM, "out of memory for a tree");
done:
    return status;
}

static int open(spec_drafter *drafter, const spec_model *target, int K, spec_error *error)
{
    (void)target, (void)K;
    const spec_model *model = drafter->session.model;
    if (model->by_depth) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL,
                     "draft strategy 'marginals' needs rows that depend only on the depth, and "
                     "those of '%.200s' depend on the path: use dynamic, or a draft such as block",
                     model->spec);
}

/* Reads the rows of all depths in one call, for a chain whose tokens do not matter. */
static int read_rows(spec_drafter *drafter, const int *context, size_t n, int depth,
                     spec_error *error)
{
    spec_growth *growth = drafter->growth;
    marginals *tree = drafter->state;
    const int V = drafter->session.model->vocab;
    growth->n = depth - 1;
    for (int i = 0; i < growth->n; i++) {
        growth->token[i] = 0;
        growth->parent[i] = i - 1;
    }
    const int status = spec_drafter_grow(drafter, context, n, 0, drafter->weight, error);
    for (int i = 0; status == GSL_SUCCESS && i < depth; i++)
        spec_row_largest(tree->token + i * tree->nodes, tree->nodes, growth->row[i], V);
    return status;
}

/* Offers child number `rank` of a node, unless its probability is 0. */
static void offer(spec_drafter *drafter, int parent, double above, int depth, int rank)
{
    marginals *tree = drafter->state;
    if (rank == drafter->session.model->vocab || rank == tree->nodes) return;
    const double value =
        above * drafter->growth->row[depth][tree->token[depth * tree->nodes + rank]];
    if (value > 0.0)
        spec_branch_heap_push(
            &tree->open,
            (spec_open_branch){
                .value = value, .above = above, .node = parent, .depth = depth, .item = rank});
}

static int draft_marginals(spec_draft *ret_draft, spec_drafter *drafter, const int *context,
                           size_t n, const spec_policy *policy, spec_chance *chance,
                           spec_error *error)
{
    marginals *tree = drafter->state;
    const int depth = depth_of(drafter, policy->now);
    (void)chance;
    spec_branch_heap_clear(&tree->open);
    if (depth <= 0) return GSL_SUCCESS;
    const int status = read_rows(drafter, context, n, depth, error);
    if (status != GSL_SUCCESS) return status;
    offer(drafter, -1, 1.0, 0, 0);
    while (tree->open.n > 0 && ret_draft->n_nodes < tree->nodes) {
        const spec_open_branch best = spec_branch_heap_pop(&tree->open);
        const int node = ret_draft->n_nodes,
                  token = tree->token[best.depth * tree->nodes + best.item];
        spec_draft_append(ret_draft, token, best.node, NULL, false);
        offer(drafter, best.node, best.above, best.depth, best.item + 1);
        if (best.depth + 1 < depth && !spec_model_ends_text(drafter->session.model, token))
            offer(drafter, node, best.value, best.depth + 1, 0);
    }
    return GSL_SUCCESS;
}

const spec_drafter_kind spec_draft_marginals = {
    .name = "marginals",
    .usage = "marginals?nodes=60&depth=16",
    .summary = "DDTree: the prefixes of a one-pass draft with the largest products of marginals "
               "(one-hot)",
    .reference = "",
    .needs_model = true,
    .nodes = nodes,
    .init = init,
    .free = close,
    .open = open,
    .draft = draft_marginals,
};
