/* tree: level by level, every node gets its children from the draft model's row at its place. Whether and how it is
 * drawn never depends on what was drawn, so nothing is anticipated.
 *
 * A shape of any form has places, numbered breadth first from 0, the root being -1. A drafted node stands at one of
 * them; places are left empty where a text ends, or the vocabulary has no more tokens for siblings. */
#include "sim/draft/drafter.h"

#include "models/row.h"

#include <stdlib.h>
#include <string.h>

/* ---- shape ------------------------------------------------------------------------------------------------------- */

/* How many children the node at a place on a level (both -1: the root) gets. */
static int width_at(const spec_drafter *drafter, int level, int place)
{
    if (drafter->children != NULL) return drafter->children[place + 1];
    return drafter->width[drafter->n_widths > 0 ? level + 1 : 0];
}

/* Places of level 0, 1, ... of a shape: those on the next level after `n` places that begin at `first`. */
static int next_level(const spec_drafter *drafter, int first, int n)
{
    int next = 0;
    for (int place = first; place < first + n; place++) next += drafter->children[place + 1];
    return next;
}

static int depth_of(const spec_drafter *drafter, int K)
{
    return drafter->n_widths > 0 && drafter->n_widths < K ? drafter->n_widths : K;
}

static int nodes(const spec_drafter *drafter, int K)
{
    int level_nodes = 1, all = 0;
    for (int level = 0; level < depth_of(drafter, K) && level_nodes > 0 && all <= SPEC_NODES_MAX; level++) {
        level_nodes = drafter->children != NULL ? next_level(drafter, all - level_nodes, level_nodes)
                                                : level_nodes * width_at(drafter, level - 1, 0);
        all += level_nodes; /* at most SPEC_NODES_MAX^2 */
    }
    return all;
}

/* "3.2.1": a width for each level. */
static int read_widths(spec_drafter *drafter, const char *text, spec_error *error)
{
    const size_t length = strlen(text);
    for (size_t at = 0; at <= length;) {
        int width;
        const int status = spec_settings_list_int(&width, &at, "widths", text, 1, SPEC_NODES_MAX, error);
        if (status != GSL_SUCCESS) return status;
        if (drafter->n_widths == SPEC_LEVELS_MAX)
            return spec_fail(error, GSL_EINVAL, "widths=%.80s: more than %d levels", text, SPEC_LEVELS_MAX);
        drafter->width[drafter->n_widths++] = width;
        if (width > drafter->widest) drafter->widest = width;
    }
    return GSL_SUCCESS;
}

/* "3.2.0.1": the root's children, then those of each node, breadth first; nodes beyond the last number have none. */
static int read_children(spec_drafter *drafter, const char *text, spec_error *error)
{
    const size_t length = strlen(text), most = SPEC_NODES_MAX;
    int places = 0, n = 0; /* of the nodes named so far; numbers read */
    drafter->children = calloc(3 * most + 1, sizeof *drafter->children);
    if (drafter->children == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    drafter->first_child = drafter->children + most + 1;
    drafter->place = drafter->first_child + most; /* the last node has no children */
    for (size_t at = 0; at <= length; n++) {
        int width;
        const int status = spec_settings_list_int(&width, &at, "children", text, 0, SPEC_NODES_MAX, error);
        if (status != GSL_SUCCESS) return status;
        if (n > places)
            return spec_fail(error, GSL_EINVAL,
                             "children=%.80s: number %d is of a node that is not there: those before it make %d nodes",
                             text, n + 1, places);
        drafter->children[n] = width;
        drafter->first_child[n] = places;
        places += width;
        if (places > SPEC_NODES_MAX)
            return spec_fail(error, GSL_EINVAL, "children=%.80s: more than %d nodes", text, SPEC_NODES_MAX);
        if (width > drafter->widest) drafter->widest = width;
    }
    return GSL_SUCCESS;
}

static int init(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    int siblings, status = GSL_SUCCESS;
    const char *widths = spec_settings_text(settings, "widths"), *children = spec_settings_text(settings, "children");
    SPEC_TRY(spec_settings_choice(&siblings, settings, "siblings", SPEC_SIBLINGS_IID, spec_siblings_names, error));
    drafter->siblings = (spec_siblings)siblings;
    if ((widths != NULL) + (children != NULL) + (spec_settings_text(settings, "n") != NULL) > 1)
        return spec_fail(error, GSL_EINVAL,
                         "give one of n, a width for all levels, widths, one for each, and children, one for each "
                         "node: not two of them");
    if (widths != NULL) SPEC_TRY(read_widths(drafter, widths, error));
    else if (children != NULL) SPEC_TRY(read_children(drafter, children, error));
    else SPEC_TRY(spec_settings_int(&drafter->width[0], settings, "n", 2, 1, SPEC_NODES_MAX, error));
    if (drafter->width[0] > drafter->widest) drafter->widest = drafter->width[0];
    if (drafter->siblings == SPEC_SIBLINGS_HUB && drafter->widest > 2)
        status = spec_fail(error, GSL_EINVAL, "hub siblings come in pairs: a width of %d is more than 2",
                           drafter->widest);
done:
    return status;
}

/* ---- siblings ---------------------------------------------------------------------------------------------------- */

/* What the siblings from node `first` on leave of their row; false where they are all the tokens there are. */
static bool take_rest(double *weight, const double *row, const spec_draft *draft, int first)
{
    const int V = draft->vocab;
    if (draft->n_nodes - first >= V) return false;
    memcpy(weight, row, (size_t)V * sizeof *weight);
    for (int i = first; i < draft->n_nodes; i++) weight[draft->token[i]] = 0.0;
    if (weight[spec_row_argmax(weight, V)] > 0.0) return true;
    for (int i = 0; i < V; i++) weight[i] = 1.0;
    for (int i = first; i < draft->n_nodes; i++) weight[draft->token[i]] = 0.0;
    return true;
}

/* n children of `parent`, or all tokens: first those that are chosen, then those that are drawn. */
static void add_children(spec_draft *draft, double *weight, int parent, const double *row, int n, spec_chance *chance)
{
    const int first = draft->n_nodes, V = draft->vocab;
    const spec_siblings siblings = draft->siblings;
    int chosen[SPEC_NODES_MAX];
    const int n_chosen = spec_row_largest(
        chosen, siblings == SPEC_SIBLINGS_TOP ? n : siblings == SPEC_SIBLINGS_GREEDY ? n - 1 : 0, row, V);
    for (int i = 0; i < n_chosen; i++) spec_draft_append(draft, chosen[i], parent, row, false);
    for (int born = n_chosen; born < n; born++) {
        const double *law = row;
        if (siblings != SPEC_SIBLINGS_IID) {
            if (!take_rest(weight, row, draft, first)) return;
            law = weight;
        }
        const bool joins_hub =
            siblings == SPEC_SIBLINGS_HUB && born == 1 && draft->token[first] != spec_row_argmax(row, V);
        spec_draft_append(draft, joins_hub ? spec_row_argmax(law, V) : spec_chance_pick(chance, law, V), parent, row,
                          true);
    }
}

/* ---- levels ------------------------------------------------------------------------------------------------------ */

/* Where in the shape a node stands. */
static int place_of(const spec_drafter *drafter, int node)
{
    return node >= 0 && drafter->children != NULL ? drafter->place[node] : node;
}

/* Those of the nodes from `node` on, all of that level, that grow join the growth. */
static void join(spec_drafter *drafter, const spec_draft *draft, int node, int level)
{
    spec_growth *growth = drafter->growth;
    int parent = -1; /* the last that grew before: parents come in the order of their children */
    for (; node < draft->n_nodes; node++) {
        if (width_at(drafter, level, place_of(drafter, node)) == 0) continue;
        if (draft->token[node] == drafter->session.model->end_of_text) continue;
        while ((parent < 0 ? -1 : growth->node[parent]) != draft->parent[node]) parent++;
        growth->token[growth->n] = draft->token[node];
        growth->parent[growth->n] = parent;
        growth->node[growth->n++] = node;
    }
}

static int draft_tree(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                      const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    spec_growth *growth = drafter->growth;
    const int depth = depth_of(drafter, policy->now);
    int level_begins = 0, grown = width_at(drafter, -1, -1) > 0 ? -1 : 0; /* the next that grows, -1: the root */
    growth->n = 0;
    for (int level = -1; level < depth - 1; level++) {
        if (level >= 0) join(drafter, ret_draft, level_begins, level);
        if (grown == growth->n) break; /* every path has ended */
        level_begins = ret_draft->n_nodes;
        const int status = spec_drafter_grow(drafter, context, n, grown + 1, ret_draft->store, error);
        if (status != GSL_SUCCESS) return status;
        for (; grown < growth->n; grown++) {
            const int node = grown < 0 ? -1 : growth->node[grown], first = ret_draft->n_nodes;
            const int place = place_of(drafter, node);
            add_children(ret_draft, drafter->weight, node, growth->row[grown + 1], width_at(drafter, level, place),
                         chance);
            for (int i = first; drafter->children != NULL && i < ret_draft->n_nodes; i++)
                drafter->place[i] = drafter->first_child[place + 1] + i - first;
        }
    }
    return GSL_SUCCESS;
}

const spec_drafter_kind spec_draft_tree = {
    .name = "tree",
    .usage = "tree?n=2&widths=n.n...&children=n.n...&siblings=iid",
    .summary = "n children a node, iid, without (replacement), top, hub or greedy; or widths=1.1.3.1 by level (a "
               "trunk, then branches), or children=2.1.0.3 by node",
    .reference = "Miao24",
    .needs_model = true,
    .nodes = nodes,
    .init = init,
    .draft = draft_tree,
};
