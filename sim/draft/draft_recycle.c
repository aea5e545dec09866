/* SPDX-License-Identifier: GPL-3.0-or-later */
/* recycle: token recycling [Luo24]. A table keeps, for each token, the k tokens that the target
 * last found most probable after it. The draft fills a fixed template breadth first: the child of
 * rank r of a node is entry r of the table's row for the node's token. Every row of a pass updates
 * the table, even those after rejected tokens. The table lasts from text to text.
 *
 * The paper's template is a list for its own models. Here a node of rank r costs 1 + r more than
 * its parent, and the template has the `nodes` nodes of least cost, as if entry r followed with
 * chance 2^-(1+r). Tokens of probability 0 are not candidates: a row of temperature 0 has only one,
 * and older entries then stay after it. */
#include "sim/draft/drafter.h"

#include "models/row.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int k, nodes;
    int vocab;
    int *token;   /* (V, k) the table, the most probable first */
    int *n;       /* (V) number of entries */
    int n_places; /* nodes of the template */
    int parent[SPEC_NODES_MAX], rank[SPEC_NODES_MAX], depth[SPEC_NODES_MAX];
    int node[SPEC_NODES_MAX]; /* draft node of each template node, or -1 */
    int last;                 /* token before the draft, or -1 */
} recycle;

static void close(void *state)
{
    recycle *r = state;
    free(r->token);
    free(r->n);
    free(r);
}

static int nodes(const spec_drafter *drafter, int K)
{
    const recycle *r = drafter->state;
    return K > 0 ? r->nodes : 0;
}

static int init(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    recycle *r = drafter->state = calloc(1, sizeof *r);
    if (r == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(spec_settings_int(&r->k, settings, "k", 8, 1, SPEC_TOP_MAX, error));
    SPEC_TRY(spec_settings_int(&r->nodes, settings, "nodes", 80, 1, SPEC_NODES_MAX, error));
    drafter->siblings = SPEC_SIBLINGS_TOP;
    drafter->widest = r->k;
done:
    return status;
}

/* Adds template nodes down to depth K, in ascending order of cost; among equals, the child of the
 * earliest parent first. */
static void fill_template(recycle *r, int K)
{
    int cost[SPEC_NODES_MAX + 1] = {0}, born[SPEC_NODES_MAX + 1] = {0}; /* [0]: the root */
    for (r->n_places = 0; r->n_places < r->nodes; r->n_places++) {
        int best = -2;
        for (int place = -1; place < r->n_places; place++) {
            const int depth = place >= 0 ? r->depth[place] : 0, at = place + 1;
            if (depth == K || born[at] == r->k) continue;
            if (best == -2 || cost[at] + born[at] < cost[best + 1] + born[best + 1]) best = place;
        }
        if (best == -2) return;
        const int place = r->n_places;
        r->parent[place] = best;
        r->rank[place] = born[best + 1]++;
        r->depth[place] = (best >= 0 ? r->depth[best] : 0) + 1;
        cost[place + 1] = cost[best + 1] + r->rank[place] + 1;
    }
}

static int open(spec_drafter *drafter, const spec_model *target, int K, spec_error *error)
{
    recycle *r = drafter->state;
    const size_t vocab = (size_t)target->vocab;
    r->vocab = target->vocab;
    r->token = malloc(vocab * (size_t)r->k * sizeof *r->token);
    r->n = calloc(vocab, sizeof *r->n);
    r->last = -1;
    fill_template(r, K);
    return r->token != NULL && r->n != NULL
               ? GSL_SUCCESS
               : spec_fail(error, GSL_ENOMEM, "out of memory for a table of %zu x %d tokens", vocab,
                           r->k);
}

static int reset(spec_drafter *drafter, bool all, spec_error *error)
{
    recycle *r = drafter->state;
    (void)error;
    if (all) memset(r->n, 0, (size_t)r->vocab * sizeof *r->n);
    return GSL_SUCCESS;
}

/* Puts the most probable tokens of a row before the entries of `token`. */
static void update(recycle *r, int token, const double *row)
{
    int *entry = r->token + (size_t)token * (size_t)r->k;
    int fresh[2 * SPEC_TOP_MAX], n = spec_row_largest(fresh, r->k, row, r->vocab);
    while (n > 0 && !(row[fresh[n - 1]] > 0.0)) n--;
    const int n_fresh = n;
    for (int i = 0; i < r->n[token]; i++) {
        int same = 0;
        while (same < n_fresh && fresh[same] != entry[i]) same++;
        if (same == n_fresh) fresh[n++] = entry[i];
    }
    r->n[token] = n < r->k ? n : r->k;
    memcpy(entry, fresh, (size_t)r->n[token] * sizeof *entry);
}

static void observe(spec_drafter *drafter, const spec_draft *draft, const double *const *target_row,
                    const spec_round *round)
{
    recycle *r = drafter->state;
    (void)round;
    if (r->last >= 0) update(r, r->last, target_row[0]);
    for (int i = 0; i < draft->n_nodes; i++) update(r, draft->token[i], target_row[i + 1]);
}

static int draft(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                 const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    recycle *r = drafter->state;
    (void)chance, (void)error;
    r->last = n > 0 ? context[n - 1] : -1;
    for (int place = 0; place < r->n_places; place++) {
        const int parent = r->parent[place], node = parent >= 0 ? r->node[parent] : -1;
        const int token = parent < 0 ? r->last : node >= 0 ? ret_draft->token[node] : -1;
        r->node[place] = -1;
        if (token < 0 || r->depth[place] > policy->now || r->rank[place] >= r->n[token]) continue;
        r->node[place] = ret_draft->n_nodes;
        spec_draft_append(ret_draft,
                          r->token[(size_t)token * (size_t)r->k + (size_t)r->rank[place]], node,
                          NULL, false);
    }
    return GSL_SUCCESS;
}

const spec_drafter_kind spec_draft_recycle = {
    .name = "recycle",
    .usage = "recycle?k=8&nodes=80",
    .summary = "a tree of the k tokens that the target last found most probable after each token "
               "(one-hot, no model)",
    .reference = "Luo24",
    .nodes = nodes,
    .init = init,
    .free = close,
    .open = open,
    .reset = reset,
    .observe = observe,
    .draft = draft,
};
