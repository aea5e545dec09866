/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/index/best_first.h"

#include <assert.h>
#include <stdlib.h>

int spec_best_first_init(spec_best_first *tree, int capacity, int width, spec_error *error)
{
    assert(capacity >= 0 && capacity <= SPEC_NODES_MAX && width >= 1);
    const size_t n = (size_t)capacity + 1;
    *tree = (spec_best_first){.capacity = capacity, .width = width};
    tree->token = malloc(n * sizeof *tree->token);
    tree->parent = malloc(n * sizeof *tree->parent);
    tree->open = malloc(n * sizeof *tree->open);
    tree->child = malloc((size_t)width * sizeof *tree->child);
    if (tree->token == NULL || tree->parent == NULL || tree->open == NULL || tree->child == NULL) {
        spec_best_first_free(tree);
        return spec_fail(error, GSL_ENOMEM, "out of memory for a tree of %d nodes", capacity);
    }
    return GSL_SUCCESS;
}

void spec_best_first_free(spec_best_first *tree)
{
    free(tree->token);
    free(tree->parent);
    free(tree->open);
    free(tree->child);
    *tree = (spec_best_first){0};
}

void spec_best_first_offer(spec_best_first *tree, int token, int count, int low, int high)
{
    spec_branch *child = tree->child;
    const double value = count;
    tree->total += value;
    int at = tree->n_children;
    while (at > 0 && (value > child[at - 1].value ||
                      (value == child[at - 1].value && token < child[at - 1].token)))
        at--;
    if (at == tree->width) return;
    if (tree->n_children < tree->width) tree->n_children++;
    for (int i = tree->n_children - 1; i > at; i--) child[i] = child[i - 1];
    child[at] = (spec_branch){.value = value, .token = token, .low = low, .high = high};
}

/* Keeps a branch among the `most` best that are open. */
static void keep(spec_best_first *tree, const spec_branch *branch, int most)
{
    spec_branch *open = tree->open;
    int at = 0; /* after all branches that come later than this one */
    if (most == 0 || (tree->n_open == most && branch->value <= open[0].value)) return;
    while (at < tree->n_open && branch->value > open[at].value) at++;
    if (tree->n_open == most) {
        for (int i = 1; i < at; i++) open[i - 1] = open[i];
        at--;
    } else {
        for (int i = tree->n_open++; i > at; i--) open[i] = open[i - 1];
    }
    open[at] = *branch;
}

static void expand(spec_best_first *tree, const spec_continuations *from, const spec_branch *node,
                   const spec_best_first_limit *limit)
{
    tree->n_children = 0;
    tree->total = 0.0;
    from->children(tree, from->index, node);
    for (int i = 0; i < tree->n_children; i++) {
        spec_branch *child = &tree->child[i];
        child->value *= node->value / tree->total;
        child->node = node->node;
        child->depth = node->depth + 1;
        if (child->value >= limit->least) keep(tree, child, limit->nodes - tree->n);
    }
}

void spec_best_first_grow(spec_best_first *tree, const spec_continuations *from, int low, int high,
                          const spec_best_first_limit *limit)
{
    assert(limit->nodes <= tree->capacity);
    tree->n = tree->n_open = 0;
    tree->score = 0.0;
    if (limit->nodes <= 0 || limit->depth <= 0) return;
    expand(tree, from, &(spec_branch){.value = 1.0, .node = -1, .low = low, .high = high}, limit);
    while (tree->n < limit->nodes && tree->n_open > 0) {
        spec_branch node = tree->open[--tree->n_open];
        tree->token[tree->n] = node.token;
        tree->parent[tree->n] = node.node;
        tree->score += node.value;
        node.node = tree->n++;
        if (node.depth < limit->depth) expand(tree, from, &node, limit);
    }
}

void spec_best_first_submit(spec_draft *draft, const spec_best_first *tree)
{
    for (int i = 0; i < tree->n; i++)
        spec_draft_append(draft, tree->token[i], tree->parent[i], NULL, false);
}
