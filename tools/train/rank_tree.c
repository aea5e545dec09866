/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/train/rank_tree.h"

#include "analysis/acceptance/exact_walk.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* A path is stored as a number whose digits are its ranks plus 1, so it is smaller than its
 * continuations; `count` is how often it was followed. */
typedef struct {
    uint64_t path;
    long count;
} followed;

static int by_path(const void *a, const void *b)
{
    const uint64_t x = ((const followed *)a)->path, y = ((const followed *)b)->path;
    return (x > y) - (x < y);
}

static int by_count(const void *a, const void *b)
{
    const long x = ((const followed *)a)->count, y = ((const followed *)b)->count;
    return x != y ? (x < y) - (x > y) : by_path(a, b);
}

/* Returns a path of `depth` ranks extended by one more rank; 0 if trees do not use that rank. */
static uint64_t continued(uint64_t path, unsigned char rank)
{
    return rank < SPEC_RANK_TREE_RANKS ? path * (SPEC_RANK_TREE_RANKS + 1) + rank + 1 : 0;
}

static const unsigned char *ranks_at(const spec_rank_tree_texts *texts, int text, int place)
{
    return texts->rank + ((size_t)text * (size_t)texts->places + (size_t)place) * (size_t)texts->K;
}

/* Chooses the tree, sorted by path, in tree[0..]; returns its size. A path is at least as frequent
 * as each of its continuations, so a tree has the parents of its nodes. */
static int choose(followed *tree, const spec_rank_tree_texts *texts, int nodes)
{
    size_t n = 0, distinct = 0;
    for (int i = 0; i < texts->texts / 2; i++)
        for (int t = texts->first; t < texts->places; t++) {
            const unsigned char *rank = ranks_at(texts, i, t);
            uint64_t path = 0;
            for (int d = 0; d < texts->K && (path = continued(path, rank[d])) != 0; d++)
                tree[n++] = (followed){path, 1};
        }
    qsort(tree, n, sizeof *tree, by_path);
    for (size_t i = 0; i < n; i++)
        if (distinct > 0 && tree[distinct - 1].path == tree[i].path)
            tree[distinct - 1].count++;
        else
            tree[distinct++] = tree[i];
    qsort(tree, distinct, sizeof *tree, by_count);
    if (distinct > (size_t)nodes) distinct = (size_t)nodes;
    qsort(tree, distinct, sizeof *tree, by_path);
    return (int)distinct;
}

int spec_rank_tree_tokens(double *ret_tokens, const spec_rank_tree_texts *texts, int nodes,
                          spec_error *error)
{
    const int K = texts->K, half = texts->texts / 2;
    const size_t each = (size_t)texts->places * (size_t)K;
    spec_exact_walk walk = {.K = K};
    assert(texts->texts >= 2 && K <= SPEC_EXACT_WALK_K_MAX && nodes >= 1);
    followed *tree = malloc((size_t)half * each * sizeof *tree);
    double *accept = malloc((each + (size_t)texts->places) * sizeof *accept);
    *ret_tokens = 0.0;
    if (tree == NULL || accept == NULL) {
        free(tree);
        free(accept);
        return spec_no_memory(error);
    }
    const int n = choose(tree, texts, nodes);
    for (int i = half; i < texts->texts; i++) {
        for (int t = 0; t < texts->places; t++) {
            followed node = {0};
            for (int d = 0; d < K; d++) {
                if (d == 0 || node.path != 0)
                    node.path = continued(node.path, ranks_at(texts, i, t)[d]);
                const bool has = node.path != 0 &&
                                 bsearch(&node, tree, (size_t)n, sizeof *tree, by_path) != NULL;
                accept[t * K + d] = has ? 1.0 : 0.0;
            }
        }
        spec_exact_walk_add(&walk, accept, texts->places, texts->first, accept + each);
    }
    *ret_tokens = spec_exact_walk_tokens_per_round(&walk, K);
    free(tree);
    free(accept);
    return GSL_SUCCESS;
}
