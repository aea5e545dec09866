/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trie: SGLang's drafts by n-grams. After each round, all strings of at most `depth` tokens in the
 * last `depth` tokens enter a trie, which all texts share; a draft is a tree of `nodes`. Below each
 * match of the text's end, the longest first, the tree takes the most recently used children,
 * breadth first. The breadth falls from max_breadth after a short match to min_breadth after a long
 * one, and further with each level. With order=frequency it takes the nodes with the largest
 * products of shares, among the max_breadth most frequent children of each.
 *
 * As in SGLang, only the last `depth` tokens of a prompt enter, and a string counts again in each
 * round whose last tokens contain it. A full trie is emptied here; SGLang drops the least recently
 * used strings. SGLang also fills up a tree that is too small with tokens 0. */
#include "sim/draft/drafter.h"

#include "sim/draft/index/branch_heap.h"
#include "sim/draft/index/token_trie.h"

#include <stdlib.h>

enum { DEPTH_MAX = 256, CAPACITY_MAX = 1 << 26 };

typedef struct {
    int depth, nodes, min_breadth, max_breadth, by_frequency, capacity;
    spec_token_trie trie;
    /* (nodes (max_breadth + 1) + max_breadth) strings, as items: a heap by products of shares, or a
     * queue of nodes of the tree, whose values are the breadths below them */
    spec_branch_heap open;
} trie;

static void close(void *state)
{
    trie *t = state;
    spec_token_trie_free(&t->trie);
    free(t->open.branch);
    free(t);
}

static int nodes(const spec_drafter *drafter, int K)
{
    const trie *t = drafter->state;
    return K == 0 ? 0 : t->nodes;
}

static int init(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    static const char *const orders[] = {"recency", "frequency", NULL};
    int status = GSL_SUCCESS;
    trie *t = drafter->state = calloc(1, sizeof *t);
    if (t == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(spec_settings_int(&t->depth, settings, "depth", 18, 2, DEPTH_MAX, error));
    SPEC_TRY(spec_settings_int(&t->nodes, settings, "nodes", 11, 1, SPEC_NODES_MAX, error));
    SPEC_TRY(
        spec_settings_int(&t->max_breadth, settings, "max_breadth", 10, 1, SPEC_TOP_MAX, error));
    SPEC_TRY(
        spec_settings_int(&t->min_breadth, settings, "min_breadth", 1, 1, t->max_breadth, error));
    SPEC_TRY(spec_settings_choice(&t->by_frequency, settings, "order", 0, orders, error));
    SPEC_TRY(spec_settings_int(&t->capacity, settings, "capacity", 1 << 20, t->depth, CAPACITY_MAX,
                               error));
    drafter->siblings = SPEC_SIBLINGS_TOP;
    drafter->widest = t->nodes;
    spec_token_trie_init(&t->trie, t->capacity);
    const size_t most = (size_t)t->nodes * ((size_t)t->max_breadth + 1) + (size_t)t->max_breadth;
    t->open.branch = malloc(most * sizeof *t->open.branch);
    if (t->open.branch == NULL) status = spec_fail(error, GSL_ENOMEM, "out of memory");
done:
    return status;
}

static int reset(spec_drafter *drafter, bool all, spec_error *error)
{
    (void)error;
    if (all) spec_token_trie_reset(&((trie *)drafter->state)->trie);
    return GSL_SUCCESS;
}

/* Returns the node of a token below a node, adding it if the tree has room; -1 if it has none. */
static int add(spec_draft *draft, int most, int parent, int token)
{
    for (int i = parent + 1; i < draft->n_nodes; i++)
        if (draft->parent[i] == parent && draft->token[i] == token) return i;
    if (draft->n_nodes == most) return -1;
    spec_draft_append(draft, token, parent, NULL, false);
    return draft->n_nodes - 1;
}

/* Grows the tree breadth first from a string, the most recently used children first. */
static void grow_by_recency(spec_draft *draft, trie *t, spec_open_branch from, int most_depth)
{
    const int levels = t->depth - 1;
    const double step = (double)(t->max_breadth - t->min_breadth) / levels;
    const spec_trie_node *string = t->trie.node;
    int first = 0, n = 1;
    spec_open_branch *queue = t->open.branch;
    queue[0] = from;
    queue[0].value = (levels - from.value) * step + t->min_breadth;
    while (first < n && draft->n_nodes < t->nodes) {
        const spec_open_branch at = queue[first++];
        const int breadth = at.value < 2.0 ? 1 : (int)at.value;
        int child = string[at.item].child;
        for (int i = 0; i < breadth && child >= 0 && at.depth < most_depth; i++) {
            if (draft->n_nodes == t->nodes) return;
            const int node = add(draft, t->nodes, at.node, string[child].token);
            queue[n++] = (spec_open_branch){
                .item = child, .node = node, .depth = at.depth + 1, .value = at.value - step};
            child = string[child].older;
        }
    }
}

/* Pushes the most frequent children of a string, each with its share among these; ties are in order
 * of token. */
static void push_children(trie *t, spec_open_branch from)
{
    const spec_trie_node *string = t->trie.node;
    int best[SPEC_TOP_MAX], n = 0;
    double sum = 0.0;
    for (int child = string[from.item].child; child >= 0; child = string[child].older) {
        int at = n;
        while (at > 0 && (string[child].count > string[best[at - 1]].count ||
                          (string[child].count == string[best[at - 1]].count &&
                           string[child].token < string[best[at - 1]].token)))
            at--;
        if (at == t->max_breadth) continue;
        if (n < t->max_breadth) n++;
        for (int i = n - 1; i > at; i--) best[i] = best[i - 1];
        best[at] = child;
    }
    for (int i = 0; i < n; i++) sum += string[best[i]].count;
    for (int i = 0; i < n; i++)
        spec_branch_heap_push(
            &t->open, (spec_open_branch){.item = best[i],
                                         .node = from.node,
                                         .depth = from.depth + 1,
                                         .value = string[best[i]].count / sum * from.value});
}

static void grow_by_frequency(spec_draft *draft, trie *t, spec_open_branch from, int most_depth)
{
    spec_branch_heap_clear(&t->open);
    from.value = 1.0;
    push_children(t, from);
    while (t->open.n > 0 && draft->n_nodes < t->nodes) {
        spec_open_branch at = spec_branch_heap_pop(&t->open);
        at.node = add(draft, t->nodes, at.node, t->trie.node[at.item].token);
        if (at.depth < most_depth) push_children(t, at);
    }
}

static int draft(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                 const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    trie *t = drafter->state;
    const int length = n < (size_t)t->depth ? (int)n : t->depth;
    const int *tail = context + n - length;
    int status = GSL_SUCCESS;
    (void)chance;
    for (int from = 0; from < length && policy->now > 0; from++) { /* the longest match first */
        int string = 0;
        for (int i = from; i < length && string >= 0; i++)
            string = spec_token_trie_child(&t->trie, string, tail[i]);
        if (string < 0) continue;
        const spec_open_branch at = {.item = string, .node = -1, .value = length - from};
        if (t->by_frequency)
            grow_by_frequency(ret_draft, t, at, policy->now);
        else
            grow_by_recency(ret_draft, t, at, policy->now);
    }
    for (int from = 0; from < length; from++)
        SPEC_TRY(spec_token_trie_insert(&t->trie, tail + from, length - from, error));
done:
    return status;
}

const spec_drafter_kind spec_draft_trie = {
    .name = "trie",
    .usage = "trie?depth=18&nodes=11&order=recency&min_breadth=1&max_breadth=10&capacity=1048576",
    .summary = "what followed the last 1..depth tokens in any text, by recency or frequency: a "
               "tree, as SGLang's n-grams draft it (one-hot, no model)",
    .reference = "",
    .nodes = nodes,
    .init = init,
    .free = close,
    .reset = reset,
    .draft = draft,
};
