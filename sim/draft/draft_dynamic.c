/* dynamic: EAGLE-2's tree. A node's value is the product of the draft model's probabilities along its path. Level by
 * level the `top` nodes of largest value grow, each into its `top` most probable children; of all that grew the `nodes`
 * of largest value are submitted. Of equal ones the earlier counts as the larger. A child's value is at most its
 * parent's, and it is the later, so that what is submitted is a tree.
 *
 * Nothing is drawn: the siblings are chosen, so that leaving nodes out anticipates nothing. Of a parent's children the
 * most probable are kept, in their order: they are top siblings, as rules understand them. */
#include "sim/draft/drafter.h"

#include "models/row.h"

#include <stdlib.h>
#include <string.h>

struct spec_candidate {
    double value;
    int order, token, parent; /* order: which candidate this is, at last which node; parent: a candidate, or -1 */
    int grown;                /* which of those that grow, where it is one of them */
    bool kept;
};

/* The candidates of a tree of so many levels: `top` on the first, `top` for each that grows on those that follow. */
static int candidates(int top, int depth)
{
    return depth > 0 ? top + (depth - 1) * top * top : 0;
}

static int depth_of(const spec_drafter *drafter, int K)
{
    return drafter->n_widths < K ? drafter->n_widths : K;
}

/* The nodes that grow in a tree of so many levels, but the root. */
static int growing(int top, int depth)
{
    return depth > 0 ? (depth - 1) * top : 0;
}

/* The draft model is asked about one tree, that of the nodes that grow. */
static int nodes(const spec_drafter *drafter, int K)
{
    const int depth = depth_of(drafter, K), most = candidates(drafter->top, depth);
    if (growing(drafter->top, depth) > SPEC_NODES_MAX) return SPEC_NODES_MAX + 1;
    return drafter->best < most ? drafter->best : most;
}

static int init(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_int(&drafter->top, settings, "top", 10, 1, SPEC_TOP_MAX, error));
    SPEC_TRY(spec_settings_int(&drafter->best, settings, "nodes", 60, 1, SPEC_NODES_MAX, error));
    SPEC_TRY(spec_settings_int(&drafter->n_widths, settings, "depth", 6, 1, SPEC_LEVELS_MAX, error));
    drafter->siblings = SPEC_SIBLINGS_TOP;
    drafter->widest = drafter->top;
    const int most = growing(drafter->top, drafter->n_widths);
    drafter->n_weights = 1 + (most < SPEC_NODES_MAX ? most : SPEC_NODES_MAX);
    drafter->candidate = malloc(2 * (size_t)candidates(drafter->top, drafter->n_widths) * sizeof *drafter->candidate);
    if (drafter->candidate == NULL) status = spec_fail(error, GSL_ENOMEM, "out of memory for a tree");
done:
    return status;
}

static int by_value(const void *left, const void *right)
{
    const spec_candidate *a = left, *b = right;
    if (a->value != b->value) return a->value > b->value ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* The `top` best of the candidates from..n-1 that can grow join the growth, in the order of their values. */
static void choose(const spec_drafter *drafter, int from, int n, int end_of_text)
{
    spec_growth *growth = drafter->growth;
    spec_candidate *all = drafter->candidate;
    int *grows = growth->node + growth->n, held = 0;
    for (int i = from; i < n; i++) {
        if (all[i].token == end_of_text) continue;
        if (held == drafter->top && !(all[i].value > all[grows[held - 1]].value)) continue;
        int at = held < drafter->top ? held++ : held - 1;
        for (; at > 0 && all[i].value > all[grows[at - 1]].value; at--) grows[at] = grows[at - 1];
        grows[at] = i;
    }
    for (int i = 0; i < held; i++, growth->n++) {
        spec_candidate *chosen = &all[grows[i]];
        chosen->grown = growth->n;
        growth->token[growth->n] = chosen->token;
        growth->parent[growth->n] = chosen->parent < 0 ? -1 : all[chosen->parent].grown;
    }
}

/* Append the children of a candidate (-1: the root), whose row this is, to the n there are; returns how many there are
 * then. */
static int add_children(const spec_drafter *drafter, int parent, const double *row, int n)
{
    spec_candidate *all = drafter->candidate;
    int token[SPEC_TOP_MAX];
    const int born = spec_row_largest(token, drafter->top, row, drafter->session.model->vocab);
    const double value = parent < 0 ? 1.0 : all[parent].value;
    for (int i = 0; i < born; i++, n++)
        all[n] = (spec_candidate){.value = value * row[token[i]], .order = n, .token = token[i], .parent = parent};
    return n;
}

/* Submit the best of the n candidates, in the order in which they grew. */
static void submit(spec_draft *ret_draft, spec_drafter *drafter, int n)
{
    spec_candidate *all = drafter->candidate, *sorted = all + n;
    const int kept = drafter->best < n ? drafter->best : n;
    memcpy(sorted, all, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    for (int i = 0; i < n; i++) all[sorted[i].order].kept = i < kept;
    for (int i = 0; i < n; i++) {
        if (!all[i].kept) continue;
        all[i].order = ret_draft->n_nodes;
        spec_draft_append(ret_draft, all[i].token, all[i].parent < 0 ? -1 : all[all[i].parent].order, NULL, false);
    }
}

static int draft_dynamic(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                         const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    spec_growth *growth = drafter->growth;
    const int depth = depth_of(drafter, policy->now), end_of_text = drafter->session.model->end_of_text;
    int grown = -1, all = 0; /* the next that grows, -1: the root; candidates so far */
    (void)chance;
    growth->n = 0;
    for (int level = 0; level < depth && grown < growth->n; level++) {
        const int born = all;
        const int status = spec_drafter_grow(drafter, context, n, grown + 1, drafter->weight, error);
        if (status != GSL_SUCCESS) return status;
        for (; grown < growth->n; grown++)
            all = add_children(drafter, grown < 0 ? -1 : growth->node[grown], growth->row[grown + 1], all);
        if (level < depth - 1) choose(drafter, born, all, end_of_text);
    }
    submit(ret_draft, drafter, all);
    return GSL_SUCCESS;
}

const spec_drafter_kind spec_draft_dynamic = {
    .name = "dynamic",
    .usage = "dynamic?top=10&nodes=60&depth=6",
    .summary = "EAGLE-2's tree: the top nodes of each level grow, the best of all are submitted (one-hot)",
    .reference = "Li24",
    .needs_model = true,
    .nodes = nodes,
    .init = init,
    .draft = draft_dynamic,
};
