/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/index/token_trie.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_AT_FIRST = 256 };

void spec_token_trie_init(spec_token_trie *trie, int most)
{
    assert(most >= 1);
    *trie = (spec_token_trie){.most = most};
}

void spec_token_trie_free(spec_token_trie *trie)
{
    free(trie->node);
    free(trie->slot);
    *trie = (spec_token_trie){.most = trie->most};
}

void spec_token_trie_reset(spec_token_trie *trie)
{
    if (trie->n > 1) memset(trie->slot, -1, trie->n_slots * sizeof *trie->slot);
    if (trie->n > 0) {
        trie->n = 1;
        trie->node[0].child = -1;
    }
}

static size_t find(const spec_token_trie *trie, int node, int token)
{
    const size_t last = trie->n_slots - 1;
    uint64_t hash = (uint64_t)node * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ (uint64_t)token) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t at = (size_t)(hash >> 32) & last;; at = (at + 1) & last) {
        const int found = trie->slot[at];
        if (found < 0 || (trie->node[found].parent == node && trie->node[found].token == token))
            return at;
    }
}

int spec_token_trie_child(const spec_token_trie *trie, int node, int token)
{
    return trie->n > 0 ? trie->slot[find(trie, node, token)] : -1;
}

static int reserve(spec_token_trie *trie, int more, spec_error *error)
{
    if (more <= trie->capacity - trie->n) return GSL_SUCCESS;
    int capacity = trie->capacity > 0 ? trie->capacity : CAPACITY_AT_FIRST;
    while (capacity - trie->n < more) capacity *= 2;
    const size_t n_slots = 2 * (size_t)capacity; /* at most half full */
    spec_trie_node *node = realloc(trie->node, (size_t)capacity * sizeof *node);
    if (node != NULL) trie->node = node;
    int *slot = malloc(n_slots * sizeof *slot);
    if (node == NULL || slot == NULL) {
        free(slot);
        return spec_fail(error, GSL_ENOMEM, "out of memory for a trie of %d nodes", capacity);
    }
    free(trie->slot);
    trie->slot = slot;
    trie->n_slots = n_slots;
    trie->capacity = capacity;
    memset(slot, -1, n_slots * sizeof *slot);
    if (trie->n == 0) {
        trie->node[0] = (spec_trie_node){.token = -1, .parent = -1, .child = -1};
        trie->n = 1;
    }
    for (int i = 1; i < trie->n; i++) slot[find(trie, node[i].parent, node[i].token)] = i;
    return GSL_SUCCESS;
}

/* Makes a node, which is not in its parent's list, the newest of its siblings. */
static void put_first(spec_token_trie *trie, int node)
{
    spec_trie_node *at = &trie->node[node], *parent = &trie->node[at->parent];
    at->newer = -1;
    at->older = parent->child;
    if (parent->child >= 0) trie->node[parent->child].newer = node;
    parent->child = node;
}

static void take_out(spec_token_trie *trie, int node)
{
    const spec_trie_node *at = &trie->node[node];
    if (at->newer >= 0)
        trie->node[at->newer].older = at->older;
    else
        trie->node[at->parent].child = at->older;
    if (at->older >= 0) trie->node[at->older].newer = at->newer;
}

int spec_token_trie_insert(spec_token_trie *trie, const int *token, int n, spec_error *error)
{
    assert(n <= trie->most);
    if (trie->n + n > trie->most + 1) spec_token_trie_reset(trie);
    const int status = reserve(trie, n + 1, error);
    int parent = 0;
    for (int i = 0; i < n && status == GSL_SUCCESS; i++) {
        int *slot = &trie->slot[find(trie, parent, token[i])];
        if (*slot >= 0) {
            take_out(trie, *slot);
        } else {
            *slot = trie->n++;
            trie->node[*slot] = (spec_trie_node){.token = token[i], .parent = parent, .child = -1};
        }
        put_first(trie, *slot);
        trie->node[*slot].count++;
        parent = *slot;
    }
    return status;
}
