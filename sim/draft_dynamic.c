/* dynamic: EAGLE-2's tree. A node's value is the product of the draft model's probabilities along its path. Level by
 * level the `top` nodes of largest value grow, each into its `top` most probable children; of all that grew the `nodes`
 * of largest value are submitted. Of equal ones the earlier counts as the larger. A child's value is at most its
 * parent's, and it is the later, so that what is submitted is a tree.
 *
 * Nothing is drawn: the siblings are chosen, so that leaving nodes out anticipates nothing. Of a parent's children the
 * most probable are kept, in their order: they are top siblings, as rules understand them. */
#include "sim/drafter.h"

#include "models/row.h"

#include <stdlib.h>
#include <string.h>

struct spec_candidate {
    double value;
    int order, token, parent; /* order: which candidate this is, at last which node; parent: a candidate, or -1 */
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

static int nodes(const spec_drafter *drafter, int K)
{
    const int most = candidates(drafter->top, depth_of(drafter, K));
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

/* The `top` best of the candidates from..n-1 that can grow, in the order of their values. Returns how many. */
static int choose(int *ret_grows, const spec_drafter *drafter, int from, int n, int end_of_text)
{
    const spec_candidate *all = drafter->candidate;
    int held = 0;
    for (int i = from; i < n; i++) {
        if (all[i].token == end_of_text) continue;
        if (held == drafter->top && !(all[i].value > all[ret_grows[held - 1]].value)) continue;
        int at = held < drafter->top ? held++ : held - 1;
        for (; at > 0 && all[i].value > all[ret_grows[at - 1]].value; at--) ret_grows[at] = ret_grows[at - 1];
        ret_grows[at] = i;
    }
    return held;
}

/* Append the children of a candidate on that level (-1, -1: the root) to the n there are; returns how many there are
 * then, or -1. */
static int grow(spec_drafter *drafter, long n_path, int parent, int level, int n, double *store, spec_error *error)
{
    spec_candidate *all = drafter->candidate;
    for (int i = level, node = parent; i >= 0; i--, node = all[node].parent)
        drafter->path[n_path + i] = all[node].token;
    const double *row =
        spec_session_row(&drafter->session, drafter->path, (size_t)(n_path + level + 1), store, error);
    if (row == NULL) return -1;
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
    const int depth = depth_of(drafter, policy->now), end_of_text = drafter->session.model->end_of_text;
    const long n_path = spec_drafter_begin_path(drafter, context, n, depth);
    if (n_path < 0) return spec_fail(error, GSL_ENOMEM, "out of memory for a context of %zu tokens", n);
    (void)chance;

    int grows[SPEC_TOP_MAX] = {-1}, n_grows = 1, grown = 0; /* what grows, the root first; candidates so far */
    for (int level = -1; level < depth - 1 && n_grows > 0; level++) {
        const int born = grown;
        for (int i = 0; i < n_grows; i++) {
            grown = grow(drafter, n_path, grows[i], level, grown, drafter->weight, error);
            if (grown < 0) return GSL_EFAILED;
        }
        drafter->n_calls++;
        n_grows = choose(grows, drafter, born, grown, end_of_text);
    }
    submit(ret_draft, drafter, grown);
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
