/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Static trees and their walks equal those found by a search over all paths, and those of simple
 * cases. */
#include "base/noise.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tools/train/rank_tree.h"

#include <stdbool.h>
#include <string.h>

enum { TEXTS = 5, PLACES = 30, K = 3, FIRST = 2, RANKS = SPEC_RANK_TREE_RANKS };

typedef struct {
    unsigned char rank[TEXTS][PLACES][K];
} ranks;

static spec_rank_tree_texts texts_of(const ranks *r)
{
    return (spec_rank_tree_texts){&r->rank[0][0][0], TEXTS, PLACES, K, FIRST};
}

/* Small ranks are more frequent; some tokens are not among the first RANKS. */
static void fill(ranks *r, uint64_t key)
{
    for (int i = 0; i < TEXTS * PLACES * K; i++) {
        const uint64_t word = spec_noise_word(key, (uint64_t)i);
        (&r->rank[0][0][0])[i] = (unsigned char)((word & 15) * (word >> 8 & 15) / 20);
    }
}

static double tokens_of(const ranks *r, int nodes)
{
    const spec_rank_tree_texts texts = texts_of(r);
    double tokens;
    assert_works(spec_rank_tree_tokens(&tokens, &texts, nodes, &error));
    return tokens;
}

/* ---- the search: a path is its depth and its ranks --------------------------------------------*/

typedef struct {
    int depth, rank[K], count;
    bool chosen;
} path;

enum { PATHS = RANKS + RANKS * RANKS + RANKS * RANKS * RANKS };

static bool follows(const ranks *r, int text, int place, const path *p)
{
    for (int d = 0; d < p->depth; d++)
        if (r->rank[text][place][d] != p->rank[d]) return false;
    return true;
}

/* Returns whether path a comes before b: the more frequent one first, then the shorter one, then
 * the one with smaller ranks. */
static bool is_before(const path *a, const path *b)
{
    if (a->count != b->count) return a->count > b->count;
    if (a->depth != b->depth) return a->depth < b->depth;
    for (int d = 0; d < a->depth; d++)
        if (a->rank[d] != b->rank[d]) return a->rank[d] < b->rank[d];
    return false;
}

static double search(const ranks *r, int nodes)
{
    static path all[PATHS];
    int n = 0, rounds = 0, tokens = 0;
    for (int depth = 1; depth <= K; depth++)
        for (int code = 0; code < (depth == 1 ? RANKS : depth == 2 ? RANKS * RANKS : 512); code++) {
            path *p = &all[n++];
            *p = (path){.depth = depth};
            for (int d = 0; d < depth; d++) p->rank[d] = code >> 3 * (depth - 1 - d) & 7;
            for (int i = 0; i < TEXTS / 2; i++)
                for (int t = FIRST; t < PLACES; t++) p->count += follows(r, i, t, p) ? 1 : 0;
        }
    assert_int_equal(n, PATHS);
    for (int k = 0; k < nodes; k++) {
        path *best = NULL;
        for (int i = 0; i < n; i++)
            if (!all[i].chosen && all[i].count > 0 && (best == NULL || is_before(&all[i], best)))
                best = &all[i];
        if (best != NULL) best->chosen = true;
    }
    for (int i = TEXTS / 2; i < TEXTS; i++)
        for (int t = FIRST; t < PLACES;) {
            int accepted = 0;
            for (int k = 0; k < n; k++)
                if (all[k].chosen && follows(r, i, t, &all[k]) && all[k].depth > accepted)
                    accepted = all[k].depth;
            rounds++;
            tokens += accepted + 1;
            t += accepted + 1;
        }
    return (double)tokens / rounds;
}

TEST(trees_equal_those_of_a_search)
{
    static const int nodes[] = {1, 4, 8, 60, 2 * PATHS};
    for (uint64_t key = 1; key <= 5; key++) {
        ranks r;
        fill(&r, key);
        for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++)
            assert_near(tokens_of(&r, nodes[i]), search(&r, nodes[i]), 1e-12);
    }
}

/* The best path is a chain of first ranks, and with K nodes every round accepts K tokens. */
TEST(a_perfect_draft_accepts_a_whole_chain)
{
    ranks r;
    memset(&r, 0, sizeof r);
    assert_near(tokens_of(&r, 1), 2.0, 1e-12);
    assert_near(tokens_of(&r, K), K + 1.0, 1e-12);
}

/* The tree is fitted to the first half only, so that what occurs only in the second half does not
 * help it. */
TEST(texts_of_the_walk_do_not_choose_the_tree)
{
    ranks r;
    memset(&r, RANKS, sizeof r);
    for (int i = 0; i < TEXTS; i++)
        for (int t = 0; t < PLACES; t++) r.rank[i][t][0] = i < TEXTS / 2 ? 0 : 1;
    assert_near(tokens_of(&r, 8), 1.0, 1e-12);
}
