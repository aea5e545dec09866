/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/index/best_first.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <string.h>

enum { CHILDREN = 6, INDEX_MAX = 400, ALL = INDEX_MAX };

/* An index whose trie is random; node 0 is the match. */
typedef struct {
    int n, parent[INDEX_MAX], token[INDEX_MAX], count[INDEX_MAX];
    double value[INDEX_MAX];
} trie;

static void make_trie(trie *t, uint64_t *noise)
{
    *t = (trie){.n = 1, .value = {1.0}};
    for (int node = 0; node < t->n; node++) {
        const int born = (int)((CHILDREN + 1) * table_uniform(noise)), first = t->n;
        int total = 0;
        for (int i = 0; i < born && t->n < INDEX_MAX; i++, t->n++) {
            t->parent[t->n] = node;
            t->token[t->n] = (i * 5 + node) % 7; /* unsorted, each once */
            t->count[t->n] = 1 + (int)(4.0 * table_uniform(noise));
            total += t->count[t->n];
        }
        for (int i = first; i < t->n; i++) t->value[i] = t->count[i] * (t->value[node] / total);
    }
}

static void offer_children(spec_best_first *tree, const void *index, const spec_branch *node)
{
    const trie *t = index;
    for (int i = node->low + 1; i < t->n; i++)
        if (t->parent[i] == node->low)
            spec_best_first_offer(tree, t->token[i], t->count[i], i, node->depth);
}

/* Returns how many of a node's children come before this one. */
static int rank_of(const trie *t, int node)
{
    int rank = 0;
    for (int i = 1; i < t->n; i++)
        rank += t->parent[i] == t->parent[node] && i != node &&
                (t->count[i] > t->count[node] ||
                 (t->count[i] == t->count[node] && t->token[i] < t->token[node]));
    return rank;
}

static int depth_of(const trie *t, int node)
{
    int depth = 0;
    for (; node > 0; node = t->parent[node]) depth++;
    return depth;
}

/* By definition: a node may enter once its parent is in the tree. Of the nodes with the largest
 * value, the one that could enter first does, and then the better sibling. */
static int grow_plainly(int *ret_node, const trie *t, const spec_best_first_limit *limit, int width)
{
    int n = 0, entered[INDEX_MAX];
    for (int i = 0; i < t->n; i++) entered[i] = -1;
    entered[0] = 0;
    while (n < limit->nodes) {
        int best = -1;
        for (int i = 1; i < t->n; i++) {
            if (entered[i] >= 0 || entered[t->parent[i]] < 0 || rank_of(t, i) >= width ||
                depth_of(t, i) > limit->depth || t->value[i] < limit->least)
                continue;
            const int since = entered[t->parent[i]],
                      before = best >= 0 ? entered[t->parent[best]] : 0;
            if (best < 0 || t->value[i] > t->value[best] ||
                (t->value[i] == t->value[best] &&
                 (since < before || (since == before && rank_of(t, i) < rank_of(t, best)))))
                best = i;
        }
        if (best < 0) break;
        ret_node[n++] = best;
        entered[best] = n;
    }
    return n;
}

TEST(a_tree_has_the_most_probable_continuations, STATISTICS)
{
    uint64_t noise = spec_test_seed();
    const uint64_t times = spec_test_samples(600);
    for (uint64_t again = 0; again < times; again++) {
        trie t;
        int expected[ALL];
        make_trie(&t, &noise);
        const int width = 1 + (int)(CHILDREN * table_uniform(&noise));
        const spec_best_first_limit limit = {.nodes = (int)(25.0 * table_uniform(&noise)),
                                             .depth = (int)(6.0 * table_uniform(&noise)),
                                             .least = again % 2 == 0 ? 0.0 : 0.05};
        OWNED(spec_best_first) tree;
        assert_int_equal(spec_best_first_init(&tree, 25, width, NULL), GSL_SUCCESS);
        spec_best_first_grow(&tree, &(spec_continuations){&t, offer_children}, 0, 0, &limit);
        const int n = limit.depth > 0 ? grow_plainly(expected, &t, &limit, width) : 0;
        double score = 0.0;
        assert_int_equal(tree.n, n);
        for (int i = 0; i < n; i++) {
            const int parent = t.parent[expected[i]];
            assert_int_equal(tree.token[i], t.token[expected[i]]);
            assert_int_equal(tree.parent[i] < 0 ? 0 : expected[tree.parent[i]], parent);
            score += t.value[expected[i]];
        }
        assert_within(tree.score, score, 1e-12);
    }
}

TEST(a_tree_is_submitted_as_chosen_tokens)
{
    static int token[] = {4, 2, 4}, parent[] = {-1, 0, 0};
    const spec_best_first tree = {.n = 3, .token = token, .parent = parent};
    OWNED(spec_draft) draft;
    assert_int_equal(spec_draft_init(&draft, 3, 5, NULL), GSL_SUCCESS);
    spec_best_first_submit(&draft, &tree);
    assert_int_equal(draft.n_nodes, 3);
    assert_memory_equal(draft.token, token, sizeof token);
    assert_memory_equal(draft.parent, parent, sizeof parent);
    for (int i = 0; i < 3; i++) assert_null(spec_draft_law(&draft, i));
    assert_true(draft.branches);
}
