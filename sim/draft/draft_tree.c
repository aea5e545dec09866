/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tree: level by level, every node gets its children from the draft model's row at its position.
 * Whether and how a node is drawn never depends on drawn tokens, so nothing is anticipated.
 *
 * The nodes of a shape given by `children` are its places, numbered breadth first from 0; the root
 * is -1. Each drafted node fills one place. A place stays empty where a text ends or the vocabulary
 * has no more tokens for siblings.
 *
 * With a seed, siblings are the first arrivals in the race that the rule gumbel with the same seed
 * runs at their position [LiuY26]; docs/formulas/newer-rules.md#races. */
#include "sim/draft/drafter.h"

#include "models/row.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int width[SPEC_LEVELS_MAX]; /* children of a node, by level; the first entry is for all if
                                 * n_levels = 0 */
    int *children;    /* (nodes+1) children of the root and of each node, breadth first, or NULL */
    int *first_child; /* (nodes+1) first child of the root and of each node; only with `children` */
    int *place;       /* (nodes) workspace: place of each drafted node; only with `children` */
} shape;

static void close(void *state)
{
    shape *tree = state;
    free(tree->children); /* one block with first_child and place */
    free(tree);
}

/* ---- shape ----------------------------------------------------------------------------------- */

/* Returns the number of children of the node at a place on a level (both -1: the root). */
static int width_at(const spec_drafter *drafter, int level, int place)
{
    const shape *tree = drafter->state;
    if (tree->children != NULL) return tree->children[place + 1];
    return tree->width[drafter->n_levels > 0 ? level + 1 : 0];
}

/* Returns the number of places on the next level, after a level with `n` places from `first` on. */
static int next_level(const shape *tree, int first, int n)
{
    int next = 0;
    for (int place = first; place < first + n; place++) next += tree->children[place + 1];
    return next;
}

static int depth_of(const spec_drafter *drafter, int K)
{
    return drafter->n_levels > 0 && drafter->n_levels < K ? drafter->n_levels : K;
}

static int nodes(const spec_drafter *drafter, int K)
{
    const shape *tree = drafter->state;
    int level_nodes = 1, all = 0;
    for (int level = 0; level < depth_of(drafter, K) && level_nodes > 0 && all <= SPEC_NODES_MAX;
         level++) {
        level_nodes = tree->children != NULL ? next_level(tree, all - level_nodes, level_nodes)
                                             : level_nodes * width_at(drafter, level - 1, 0);
        all += level_nodes; /* at most SPEC_NODES_MAX^2 */
    }
    return all;
}

/* Parses "3.2.1": a width for each level. */
static int read_widths(spec_drafter *drafter, const char *text, spec_error *error)
{
    shape *tree = drafter->state;
    const size_t length = strlen(text);
    for (size_t at = 0; at <= length;) {
        int width;
        const int status =
            spec_settings_list_int(&width, &at, "widths", text, 1, SPEC_NODES_MAX, error);
        if (status != GSL_SUCCESS) return status;
        if (drafter->n_levels == SPEC_LEVELS_MAX)
            return spec_fail(error, GSL_EINVAL, "widths=%.80s: more than %d levels", text,
                             SPEC_LEVELS_MAX);
        tree->width[drafter->n_levels++] = width;
        if (width > drafter->widest) drafter->widest = width;
    }
    return GSL_SUCCESS;
}

/* Parses "3.2.0.1": the number of children of the root, then of each node, breadth first; further
 * nodes have none. */
static int read_children(spec_drafter *drafter, const char *text, spec_error *error)
{
    shape *tree = drafter->state;
    const size_t length = strlen(text), most = SPEC_NODES_MAX;
    int places = 0, n = 0; /* number of places so far; numbers read */
    tree->children = calloc(3 * most + 1, sizeof *tree->children);
    if (tree->children == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    tree->first_child = tree->children + most + 1;
    tree->place = tree->first_child + most; /* the last node has no children */
    for (size_t at = 0; at <= length; n++) {
        int width;
        const int status =
            spec_settings_list_int(&width, &at, "children", text, 0, SPEC_NODES_MAX, error);
        if (status != GSL_SUCCESS) return status;
        if (n > places)
            return spec_fail(error, GSL_EINVAL,
                             "children=%.80s: number %d has no node: the numbers before it make "
                             "%d nodes",
                             text, n + 1, places);
        tree->children[n] = width;
        tree->first_child[n] = places;
        places += width;
        if (places > SPEC_NODES_MAX)
            return spec_fail(error, GSL_EINVAL, "children=%.80s: more than %d nodes", text,
                             SPEC_NODES_MAX);
        if (width > drafter->widest) drafter->widest = width;
    }
    return GSL_SUCCESS;
}

static int init(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    int siblings, status = GSL_SUCCESS;
    const char *widths = spec_settings_text(settings, "widths"),
               *children = spec_settings_text(settings, "children");
    shape *tree = drafter->state = calloc(1, sizeof *tree);
    if (tree == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    drafter->n_weights = 1;
    SPEC_TRY(spec_shared_noise_init(&drafter->noise, SPEC_NOISE_RACES, settings, error));
    SPEC_TRY(spec_settings_choice(&siblings, settings, "siblings", SPEC_SIBLINGS_IID,
                                  spec_siblings_names, error));
    drafter->siblings = (spec_siblings)siblings;
    if ((widths != NULL) + (children != NULL) + (spec_settings_text(settings, "n") != NULL) > 1)
        return spec_fail(error, GSL_EINVAL,
                         "give only one of n (children per node), widths (per level) and "
                         "children (of each node)");
    if (widths != NULL) SPEC_TRY(read_widths(drafter, widths, error));
    else if (children != NULL) SPEC_TRY(read_children(drafter, children, error));
    else
        SPEC_TRY(spec_settings_int(&tree->width[0], settings, "n", 2, 1, SPEC_NODES_MAX, error));
    if (tree->width[0] > drafter->widest) drafter->widest = tree->width[0];
    if (drafter->siblings == SPEC_SIBLINGS_HUB && drafter->widest > 2)
        status =
            spec_fail(error, GSL_EINVAL, "hub siblings come in pairs: a width of %d is more than 2",
                      drafter->widest);
    if (drafter->noise.kind != SPEC_NOISE_NONE && drafter->siblings != SPEC_SIBLINGS_IID &&
        drafter->siblings != SPEC_SIBLINGS_WITHOUT)
        status = spec_fail(error, GSL_EINVAL, "with a seed, siblings= must be iid or without");
done:
    return status;
}

/* ---- siblings -------------------------------------------------------------------------------- */

/* Fills weight with the rest of the row without the siblings from node `first` on; returns false if
 * these are all tokens. */
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

/* Adds n children to `parent`, or as many as there are tokens: first the chosen ones, then the
 * drawn ones; of tail siblings only one is chosen before the draw. */
static void add_children(spec_draft *draft, double *weight, int parent, const double *row, int n,
                         spec_chance *chance)
{
    const int first = draft->n_nodes, V = draft->vocab;
    const spec_siblings siblings = draft->siblings;
    int chosen[SPEC_NODES_MAX];
    const int n_chosen = spec_row_largest(chosen,
                                          siblings == SPEC_SIBLINGS_TOP      ? n
                                          : siblings == SPEC_SIBLINGS_GREEDY ? n - 1
                                          : siblings == SPEC_SIBLINGS_TAIL   ? n > 1
                                                                             : 0,
                                          row, V);
    for (int i = 0; i < n_chosen; i++) spec_draft_append(draft, chosen[i], parent, row, false);
    for (int born = n_chosen; born < n; born++) {
        const double *law = row;
        if (siblings != SPEC_SIBLINGS_IID) {
            if (!take_rest(weight, row, draft, first)) return;
            law = weight;
        }
        const bool joins_hub = siblings == SPEC_SIBLINGS_HUB && born == 1 &&
                               draft->token[first] != spec_row_argmax(row, V),
                   fills = siblings == SPEC_SIBLINGS_TAIL && born > 1;
        const int token =
            joins_hub || fills ? spec_row_argmax(law, V) : spec_chance_pick(chance, law, V);
        spec_draft_append(draft, token, parent, row, !fills);
    }
}

/* Adds the first n tokens of the race at noise->place. */
static void add_arrivals(spec_draft *draft, const spec_shared_noise *noise, int parent,
                         const double *row, int n)
{
    int token[SPEC_NODES_MAX];
    double at[SPEC_NODES_MAX];
    n = spec_shared_noise_list(token, n, noise, draft->siblings == SPEC_SIBLINGS_IID, row,
                               draft->vocab, at);
    for (int i = 0; i < n; i++) spec_draft_append(draft, token[i], parent, row, true);
}

/* ---- levels ---------------------------------------------------------------------------------- */

/* Returns the place of a node in the shape. */
static int place_of(const spec_drafter *drafter, int node)
{
    const shape *tree = drafter->state;
    return node >= 0 && tree->children != NULL ? tree->place[node] : node;
}

/* Adds the growing nodes of a level, those from `node` on, to the growth. */
static void join(spec_drafter *drafter, const spec_draft *draft, int node, int level)
{
    spec_growth *growth = drafter->growth;
    int parent = -1; /* the last parent found: parents come in the order of their children */
    for (; node < draft->n_nodes; node++) {
        if (width_at(drafter, level, place_of(drafter, node)) == 0) continue;
        if (spec_model_ends_text(drafter->session.model, draft->token[node])) continue;
        while ((parent < 0 ? -1 : growth->node[parent]) != draft->parent[node]) parent++;
        growth->token[growth->n] = draft->token[node];
        growth->parent[growth->n] = parent;
        growth->node[growth->n++] = node;
    }
}

static int draft_tree(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                      const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    const shape *tree = drafter->state;
    spec_growth *growth = drafter->growth;
    const int depth = depth_of(drafter, policy->now);
    int level_begins = 0,
        grown = width_at(drafter, -1, -1) > 0 ? -1 : 0; /* the next node that grows; -1: the root */
    growth->n = 0;
    drafter->noise.text = ret_draft->text;
    for (int level = -1; level < depth - 1; level++) {
        drafter->noise.place = ret_draft->place + (uint64_t)(level + 1);
        if (level >= 0) join(drafter, ret_draft, level_begins, level);
        if (grown == growth->n) break; /* every path has ended */
        level_begins = ret_draft->n_nodes;
        const int status =
            spec_drafter_grow(drafter, context, n, grown + 1, ret_draft->store, error);
        if (status != GSL_SUCCESS) return status;
        for (; grown < growth->n; grown++) {
            const int node = grown < 0 ? -1 : growth->node[grown], first = ret_draft->n_nodes;
            const int place = place_of(drafter, node), width = width_at(drafter, level, place);
            const double *row = growth->row[grown + 1];
            if (drafter->noise.kind != SPEC_NOISE_NONE)
                add_arrivals(ret_draft, &drafter->noise, node, row, width);
            else add_children(ret_draft, drafter->weight, node, row, width, chance);
            for (int i = first; tree->children != NULL && i < ret_draft->n_nodes; i++)
                tree->place[i] = tree->first_child[place + 1] + i - first;
        }
    }
    return GSL_SUCCESS;
}

const spec_drafter_kind spec_draft_tree = {
    .name = "tree",
    .usage = "tree?n=2&widths=n.n...&children=n.n...&siblings=iid&seed=none",
    .summary = "n children per node, iid, without (replacement), top, hub, greedy or tail; or "
               "widths=1.1.3.1 by level (a trunk, then branches), or children=2.1.0.3 by node",
    .reference = "Miao24",
    .needs_model = true,
    .nodes = nodes,
    .init = init,
    .free = close,
    .draft = draft_tree,
};
